// Loops over register columns, by operation and kind: the inner loops of the interpreter.
//
// `to` never overlaps the operands. Booleans are bytes 0 and 1. Kernels of shape vs and sv read one value of the operand s.
//
//   kernel f = arithmetic(ir::op::add, ir::kind::f64, shape::vs);   // to[i] = a[i] + b[0]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <query/detail/node.hpp>

namespace query::interpreter {

class text_heap;

enum class shape : std::uint8_t { vv, vs, sv };

using kernel = void (*)(void* to, const void* a, const void* b, std::size_t n);
using kernel3 = void (*)(void* to, const void* a, const void* b, const void* c, std::size_t n);
// Touches and checks only lanes with active[i] != 0; a null `active` means every lane.
using checked_kernel = void (*)(void* to, const void* a, const void* b, const std::uint8_t* active, std::size_t n);
// has: where it is written which lanes have a value, by a function that gives optionals.
using text_kernel = void (*)(void* to, void* has, const void* a, const void* b, const void* c, const std::uint8_t* active, std::size_t n,
                             text_heap& heap);
// One array a lane, at a + i * a_stride.
using array_kernel = void (*)(void* to, const void* a, std::size_t a_stride, const void* b, std::size_t b_stride,
                              std::size_t count, std::size_t n);

// A narrowing kernel throws this for the first value that does not fit: `lane` is its place among the values of the call.
struct misfit {
  std::size_t lane = 0;
  std::string number;
  std::uint32_t narrowing = 0;  // code::narrowings, for who knows the lane
};

// All lookups give null for what does not exist.
kernel arithmetic(ir::op what, ir::kind k, shape s);    // add sub mul bit_and bit_or bit_xor shl shr; div of floats
kernel negation(ir::op what, ir::kind k);               // negate bit_not logical_not
checked_kernel division(ir::op what, ir::kind k);       // div mod of integers
checked_kernel narrowing(ir::kind from, ir::kind to);   // numbers that must fit; throws a misfit
kernel comparison(ir::op what, ir::kind k, shape s);    // lt le gt ge eq ne; vv and vs
kernel conversion(ir::kind from, ir::kind to);
kernel unary_math(std::string_view name, ir::kind k);   // to is bool for isnan, isinf, isfinite, signbit
kernel binary_math(std::string_view name, ir::kind k);
kernel3 fused_multiply_add(ir::kind k);
kernel3 blend(std::size_t width);                       // to = a ? b : c; a: bytes
array_kernel dot_product(ir::kind k);
array_kernel squared_distance(ir::kind k);

// Strings are columns of std::string_view.
// A function of query/strings.hpp.
struct text_function {
  std::string_view name;
  text_kernel run = nullptr;
  ir::kind gives = ir::kind::opaque;
  std::size_t arguments = 0;
  std::array<ir::kind, 3> takes = {};
};
const text_function* text_call(const ir::node* n);
text_kernel text_size();
text_kernel text_concatenation();
text_kernel text_comparison(ir::op what);

}  // namespace query::interpreter
