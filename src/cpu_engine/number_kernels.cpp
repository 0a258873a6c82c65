#include "cpu_engine/number_kernels.hpp"

namespace query::cpu {

const fold_loop& number_kernels::fold(detail::fold_kind what, ir::kind k) const {
  switch (what) {
    case detail::fold_kind::average: return means[index_of(k)];
    case detail::fold_kind::min: return least[index_of(k)];
    case detail::fold_kind::max: return greatest[index_of(k)];
    default: return sums[index_of(k)];
  }
}

const number_kernels& kernels_here() {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2");
  return avx2 ? avx2_number_kernels : plain_number_kernels;
#else
  return plain_number_kernels;
#endif
}

}  // namespace query::cpu
