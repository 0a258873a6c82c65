// The loops for processors with AVX2. This file alone is compiled for them (src/CMakeLists.txt), so it must not make code that
// other files could share: what it calls has internal linkage, and its table is initialised while it is compiled.
#if defined(__x86_64__)
#include "cpu_engine/number_loops.hpp"

namespace query::cpu {

constinit const number_kernels avx2_number_kernels = number_loops();

}  // namespace query::cpu
#endif
