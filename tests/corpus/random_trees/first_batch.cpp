#include "corpus/random_trees/batch.hpp"

namespace random_trees {

std::vector<tree> first_batch() { return trees_from<1, trees_of_batch>(); }

}  // namespace random_trees
