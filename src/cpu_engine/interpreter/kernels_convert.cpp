// Conversions between numbers. From float to integer they saturate, and NaN gives 0, where C++ says nothing.
#include <limits>
#include <string>
#include <type_traits>

#include <cpu_engine/interpreter/by_kind.hpp>
#include <cpu_engine/interpreter/kernels.hpp>
#include <query/detail/narrowing.hpp>

namespace query::interpreter {
namespace {

template <class To, class From> To saturate(From x) {
  // 2^digits is exact in every float type, max() is not.
  constexpr From past = static_cast<From>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * From{2};
  constexpr From lowest = std::is_signed_v<To> ? -past : From{0};
  if (x >= past) return std::numeric_limits<To>::max();
  if (x < lowest) return std::numeric_limits<To>::min();
  return x == x ? static_cast<To>(x) : To{0};
}

template <class From, class To> void loop(void* to, const void* a, const void*, std::size_t n) {
  To* __restrict t = static_cast<To*>(to);
  const From* __restrict x = static_cast<const From*>(a);
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) t[i] = saturate<To>(x[i]);
    else t[i] = static_cast<To>(x[i]);
  }
}
template <class From> void to_bool(void* to, const void* a, const void*, std::size_t n) {
  auto* __restrict t = static_cast<std::uint8_t*>(to);
  const From* __restrict x = static_cast<const From*>(a);
  for (std::size_t i = 0; i < n; ++i) t[i] = x[i] != From{0};
}

template <class From, class To> void narrow(void* to, const void* a, const void*, const std::uint8_t* active, std::size_t n) {
  using number = std::conditional_t<std::is_same_v<To, bool>, std::uint8_t, To>;  // as it lies in a register
  number* t = static_cast<number*>(to);
  const From* x = static_cast<const From*>(a);
  for (std::size_t i = 0; i < n; ++i) {
    if (active && !active[i]) continue;
    if (!detail::fits<To>(x[i])) throw misfit{i, std::to_string(x[i])};
    t[i] = static_cast<number>(x[i]);
  }
}
template <class From> checked_kernel narrow_to(ir::kind to) {
  if (to == ir::kind::boolean) return narrow<From, bool>;
  return by_kind<checked_kernel>(to, []<class To>(To) -> checked_kernel {
    if constexpr (std::is_integral_v<To>) return narrow<From, To>;
    else return nullptr;
  });
}

}  // namespace

checked_kernel narrowing(ir::kind from, ir::kind to) {
  return by_kind<checked_kernel>(from, [&]<class From>(From) -> checked_kernel {
    if constexpr (std::is_integral_v<From>) return narrow_to<From>(to);
    else return nullptr;
  });
}

kernel conversion(ir::kind from, ir::kind to) {
  return by_kind<kernel>(from, [&]<class From>(From) -> kernel {
    if (to == ir::kind::boolean) return to_bool<From>;
    // What an integer becomes in a width depends on its bits alone, so the target's sign does not matter.
    if constexpr (std::is_integral_v<From>) {
      switch (to) {
        case ir::kind::i8: return loop<From, std::uint8_t>;
        case ir::kind::i16: return loop<From, std::uint16_t>;
        case ir::kind::i32: return loop<From, std::uint32_t>;
        case ir::kind::i64: return loop<From, std::uint64_t>;
        default: break;
      }
    }
    return by_kind<kernel>(to, []<class To>(To) -> kernel { return loop<From, To>; });
  });
}

}  // namespace query::interpreter
