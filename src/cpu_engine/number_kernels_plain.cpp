// The loops for every processor of the family that the library is built for.
#include "cpu_engine/number_loops.hpp"

namespace query::cpu {

constinit const number_kernels plain_number_kernels = number_loops();

}  // namespace query::cpu
