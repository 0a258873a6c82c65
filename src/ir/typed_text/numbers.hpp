// C++'s types of numbers at run time: what an operator converts its operands to, and constants in another type.
//
//   common_type(describe<int>(), describe<double>())      // describe<double>()
#pragma once

#include <cstdint>

#include <query/detail/type.hpp>

namespace query::ir::typed_text {

// bool, char, the integers, float, double: not enums.
bool is_number(const type* t);

// As std::common_type, as the operators of arithmetic, and as unary +, of types that are numbers.
const type* common_type(const type* a, const type* b);
const type* type_of_sum(const type* a, const type* b);
const type* promoted(const type* t);
// The optional of a number or a string; null: the program may not know that type.
const type* optional_of(const type* t);

// The bytes of a constant of one type as those of another: static_cast. Floating point is not cut to integers.
std::uint64_t converted(std::uint64_t bits, kind from, kind to);
std::int64_t integer_of(std::uint64_t bits, kind k);
double floating_of(std::uint64_t bits, kind k);
std::uint64_t bits_of(double x);
bool is_negative(std::uint64_t bits, kind k);

}  // namespace query::ir::typed_text
