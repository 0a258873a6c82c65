// Calls a template with the C++ type of a scalar kind; booleans are bytes in registers.
//
//   kernel f = by_kind<kernel>(ir::kind::f64, []<class T>(T) -> kernel { return loop<T>; });
#pragma once

#include <cstdint>

#include <query/detail/type.hpp>

namespace query::interpreter {

template <class R, class F> R by_kind(ir::kind k, F&& f) {
  using ir::kind;
  switch (k) {
    case kind::boolean: return f(std::uint8_t{});
    case kind::i8: return f(std::int8_t{});
    case kind::i16: return f(std::int16_t{});
    case kind::i32: return f(std::int32_t{});
    case kind::i64: return f(std::int64_t{});
    case kind::u8: return f(std::uint8_t{});
    case kind::u16: return f(std::uint16_t{});
    case kind::u32: return f(std::uint32_t{});
    case kind::u64: return f(std::uint64_t{});
    case kind::f32: return f(float{});
    case kind::f64: return f(double{});
    default: return R{};
  }
}

}  // namespace query::interpreter
