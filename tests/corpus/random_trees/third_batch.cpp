#include "corpus/random_trees/batch.hpp"

namespace random_trees {

std::vector<tree> third_batch() { return trees_from<2001, trees_of_batch>(); }

}  // namespace random_trees
