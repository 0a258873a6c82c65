#include "corpus/random_trees/batch.hpp"

namespace random_trees {

std::vector<tree> fourth_batch() { return trees_from<3001, trees_of_batch>(); }

}  // namespace random_trees
