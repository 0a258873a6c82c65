// dot and squared_distance over one small array a lane. The order of additions is that of the native functions: eight
// partial sums where the length is a multiple of 8, four where of 4, else one; then the partial sums from first to last.
#include <cpu_engine/interpreter/kernels.hpp>

namespace query::interpreter {
namespace {

struct product {
  template <class E> static E of(E a, E b) { return a * b; }
};
struct squared_difference {
  template <class E> static E of(E a, E b) {
    const E d = a - b;
    return d * d;
  }
};

template <class Term, class E, std::size_t Lanes> E reduce(const E* a, const E* b, std::size_t count) {
  E sums[Lanes] = {};
  for (std::size_t i = 0; i < count; i += Lanes)
    for (std::size_t l = 0; l < Lanes; ++l) sums[l] += Term::of(a[i + l], b[i + l]);
  E total = 0;
  for (std::size_t l = 0; l < Lanes; ++l) total += sums[l];
  return total;
}

template <class Term, class E, std::size_t Lanes>
void each(E* to, const char* a, std::size_t a_stride, const char* b, std::size_t b_stride, std::size_t count, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    to[i] = reduce<Term, E, Lanes>(reinterpret_cast<const E*>(a + i * a_stride), reinterpret_cast<const E*>(b + i * b_stride), count);
}

template <class Term, class E>
void run(void* to, const void* a, std::size_t a_stride, const void* b, std::size_t b_stride, std::size_t count, std::size_t n) {
  const auto loop = count % 8 == 0 ? each<Term, E, 8> : count % 4 == 0 ? each<Term, E, 4> : each<Term, E, 1>;
  loop(static_cast<E*>(to), static_cast<const char*>(a), a_stride, static_cast<const char*>(b), b_stride, count, n);
}

}  // namespace

array_kernel dot_product(ir::kind k) {
  if (k == ir::kind::f32) return run<product, float>;
  return k == ir::kind::f64 ? run<product, double> : nullptr;
}
array_kernel squared_distance(ir::kind k) {
  if (k == ir::kind::f32) return run<squared_difference, float>;
  return k == ir::kind::f64 ? run<squared_difference, double> : nullptr;
}

}  // namespace query::interpreter
