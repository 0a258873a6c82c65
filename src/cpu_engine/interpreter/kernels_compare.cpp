// Comparisons of numbers (NaN as in C++) and blends.
#include <cstring>

#include <cpu_engine/interpreter/by_kind.hpp>
#include <cpu_engine/interpreter/kernels.hpp>

namespace query::interpreter {
namespace {

template <ir::op What, class T> bool holds(T a, T b) {
  using ir::op;
  if constexpr (What == op::lt) return a < b;
  else if constexpr (What == op::le) return a <= b;
  else if constexpr (What == op::gt) return a > b;
  else if constexpr (What == op::ge) return a >= b;
  else if constexpr (What == op::eq) return a == b;
  else return a != b;
}

template <ir::op What, class T, shape S> void loop(void* to, const void* a, const void* b, std::size_t n) {
  auto* __restrict t = static_cast<std::uint8_t*>(to);
  const T* __restrict x = static_cast<const T*>(a);
  const T* __restrict y = static_cast<const T*>(b);
  if constexpr (S == shape::vv) {
    for (std::size_t i = 0; i < n; ++i) t[i] = holds<What>(x[i], y[i]);
  } else {
    const T s = *y;
    for (std::size_t i = 0; i < n; ++i) t[i] = holds<What>(x[i], s);
  }
}

template <ir::op What, class T> kernel of_shape(shape s) {
  if (s == shape::sv) return nullptr;  // the caller swaps the sides
  return s == shape::vv ? loop<What, T, shape::vv> : loop<What, T, shape::vs>;
}

template <class T> void choose(void* to, const void* a, const void* b, const void* c, std::size_t n) {
  T* __restrict t = static_cast<T*>(to);
  const auto* __restrict m = static_cast<const std::uint8_t*>(a);
  const T* __restrict x = static_cast<const T*>(b);
  const T* __restrict y = static_cast<const T*>(c);
  for (std::size_t i = 0; i < n; ++i) {
    const T p = x[i], q = y[i];  // both are read, so that the loop becomes a blend without branches
    t[i] = m[i] ? p : q;
  }
}

struct wide {
  std::uint64_t low, high;
};

}  // namespace

kernel comparison(ir::op what, ir::kind k, shape s) {
  using ir::op;
  return by_kind<kernel>(k, [&]<class T>(T) -> kernel {
    switch (what) {
      case op::lt: return of_shape<op::lt, T>(s);
      case op::le: return of_shape<op::le, T>(s);
      case op::gt: return of_shape<op::gt, T>(s);
      case op::ge: return of_shape<op::ge, T>(s);
      case op::eq: return of_shape<op::eq, T>(s);
      case op::ne: return of_shape<op::ne, T>(s);
      default: return nullptr;
    }
  });
}

kernel3 blend(std::size_t width) {
  switch (width) {
    case 1: return choose<std::uint8_t>;
    case 2: return choose<std::uint16_t>;
    case 4: return choose<std::uint32_t>;
    case 8: return choose<std::uint64_t>;
    case 16: return choose<wide>;
    default: return nullptr;
  }
}

}  // namespace query::interpreter
