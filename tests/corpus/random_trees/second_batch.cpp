#include "corpus/random_trees/batch.hpp"

namespace random_trees {

std::vector<tree> second_batch() { return trees_from<1001, trees_of_batch>(); }

}  // namespace random_trees
