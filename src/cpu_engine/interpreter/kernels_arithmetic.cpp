// Arithmetic, bits and shifts. Integers are computed unsigned, so that overflow wraps in every width.
#include <limits>
#include <type_traits>

#include <cpu_engine/interpreter/kernels.hpp>
#include <cpu_engine/interpreter/by_kind.hpp>
#include <query/detail/divide.hpp>

namespace query::interpreter {
namespace {

// The unsigned type to compute in: narrower ones would be promoted to int, whose overflow is undefined.
template <class T>
using wrapping = std::conditional_t<(sizeof(T) > sizeof(std::uint32_t)), std::uint64_t, std::uint32_t>;

template <ir::op What, class T> T compute(T a, T b) {
  using ir::op;
  if constexpr (std::is_floating_point_v<T>) {
    if constexpr (What == op::add) return a + b;
    else if constexpr (What == op::sub) return a - b;
    else if constexpr (What == op::mul) return a * b;
    else return a / b;
  } else {
    using U = wrapping<T>;
    const U x = static_cast<U>(a), y = static_cast<U>(b);
    if constexpr (What == op::add) return static_cast<T>(x + y);
    else if constexpr (What == op::sub) return static_cast<T>(x - y);
    else if constexpr (What == op::mul) return static_cast<T>(x * y);
    else if constexpr (What == op::bit_and) return static_cast<T>(x & y);
    else if constexpr (What == op::bit_or) return static_cast<T>(x | y);
    else if constexpr (What == op::bit_xor) return static_cast<T>(x ^ y);
    else {
      const unsigned count = static_cast<unsigned>(y) & (sizeof(T) * 8 - 1);
      if constexpr (What == op::shl) return static_cast<T>(x << count);
      else return static_cast<T>(a >> count);  // C++20: arithmetic for signed types
    }
  }
}

template <ir::op What, class T, shape S> void loop(void* to, const void* a, const void* b, std::size_t n) {
  T* __restrict t = static_cast<T*>(to);
  const T* __restrict x = static_cast<const T*>(a);
  const T* __restrict y = static_cast<const T*>(b);
  if constexpr (S == shape::vv) {
    for (std::size_t i = 0; i < n; ++i) t[i] = compute<What>(x[i], y[i]);
  } else if constexpr (S == shape::vs) {
    const T s = *y;
    for (std::size_t i = 0; i < n; ++i) t[i] = compute<What>(x[i], s);
  } else {
    const T s = *x;
    for (std::size_t i = 0; i < n; ++i) t[i] = compute<What>(s, y[i]);
  }
}

template <ir::op What, class T> kernel of_shape(shape s) {
  constexpr kernel loops[] = {loop<What, T, shape::vv>, loop<What, T, shape::vs>, loop<What, T, shape::sv>};
  return loops[static_cast<std::size_t>(s)];
}

// Wrap-around makes signed and unsigned the same but for shr.
template <class T> kernel integer_arithmetic(ir::op what, shape s) {
  using ir::op;
  using U = std::make_unsigned_t<T>;
  switch (what) {
    case op::add: return of_shape<op::add, U>(s);
    case op::sub: return of_shape<op::sub, U>(s);
    case op::mul: return of_shape<op::mul, U>(s);
    case op::bit_and: return of_shape<op::bit_and, U>(s);
    case op::bit_or: return of_shape<op::bit_or, U>(s);
    case op::bit_xor: return of_shape<op::bit_xor, U>(s);
    case op::shl: return of_shape<op::shl, U>(s);
    case op::shr: return of_shape<op::shr, T>(s);
    default: return nullptr;
  }
}

template <class T> kernel floating_arithmetic(ir::op what, shape s) {
  using ir::op;
  switch (what) {
    case op::add: return of_shape<op::add, T>(s);
    case op::sub: return of_shape<op::sub, T>(s);
    case op::mul: return of_shape<op::mul, T>(s);
    case op::div: return of_shape<op::div, T>(s);
    default: return nullptr;
  }
}

template <ir::op What, class T>
void divide(void* to, const void* a, const void* b, const std::uint8_t* active, std::size_t n) {
  T* t = static_cast<T*>(to);
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  for (std::size_t i = 0; i < n; ++i) {
    if (active && !active[i]) continue;
    if (y[i] == 0) detail::division_by_zero();
    if constexpr (std::is_signed_v<T>) {
      if (y[i] == T(-1)) {  // the machine's instruction traps where x is the smallest integer
        if (What == ir::op::div && x[i] == std::numeric_limits<T>::min()) detail::division_overflow();
        t[i] = What == ir::op::div ? static_cast<T>(-x[i]) : T{0};
        continue;
      }
    }
    t[i] = static_cast<T>(What == ir::op::div ? x[i] / y[i] : x[i] % y[i]);
  }
}

template <class T> void negate(void* to, const void* a, const void*, std::size_t n) {
  T* __restrict t = static_cast<T*>(to);
  const T* __restrict x = static_cast<const T*>(a);
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>) t[i] = -x[i];
    else t[i] = static_cast<T>(wrapping<T>{0} - static_cast<wrapping<T>>(x[i]));
  }
}
template <class T> void invert(void* to, const void* a, const void*, std::size_t n) {
  T* __restrict t = static_cast<T*>(to);
  const T* __restrict x = static_cast<const T*>(a);
  for (std::size_t i = 0; i < n; ++i) t[i] = static_cast<T>(~static_cast<wrapping<T>>(x[i]));
}
void logical_not(void* to, const void* a, const void*, std::size_t n) {
  auto* __restrict t = static_cast<std::uint8_t*>(to);
  const auto* __restrict x = static_cast<const std::uint8_t*>(a);
  for (std::size_t i = 0; i < n; ++i) t[i] = x[i] == 0;
}

}  // namespace

kernel arithmetic(ir::op what, ir::kind k, shape s) {
  return by_kind<kernel>(k, [&]<class T>(T) -> kernel {
    if constexpr (std::is_floating_point_v<T>) return floating_arithmetic<T>(what, s);
    else return integer_arithmetic<T>(what, s);
  });
}

checked_kernel division(ir::op what, ir::kind k) {
  return by_kind<checked_kernel>(k, [&]<class T>(T) -> checked_kernel {
    if constexpr (std::is_integral_v<T>) return what == ir::op::div ? divide<ir::op::div, T> : divide<ir::op::mod, T>;
    else return nullptr;
  });
}

kernel negation(ir::op what, ir::kind k) {
  if (what == ir::op::logical_not) return logical_not;
  return by_kind<kernel>(k, [&]<class T>(T) -> kernel {
    if (what == ir::op::negate) return negate<T>;
    if constexpr (std::is_integral_v<T>) return invert<T>;
    else return nullptr;
  });
}

}  // namespace query::interpreter
