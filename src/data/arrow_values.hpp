// The values of an Arrow column as values of a field: where they lie already, or converted.
//
//   if (const void* base = values_in_place(v, array, first)) use(base);
//   else convert_values(v, array, first, n, fields, sizeof(field));
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "data/arrow_types.hpp"

namespace query::data {

// Rows are counted from the begin of the array's slice: its offset is added here.

// Where values side by side begin that are those of the type as they lie, from row `first` on; null: there are none.
const void* values_in_place(const arrow_values& v, const ArrowArray& a, std::int64_t first);

// A null where the type takes none.
struct wrong_null {
  std::int64_t row = 0;
  const arrow_values* of = nullptr;
};
std::optional<wrong_null> find_wrong_null(const arrow_values& v, const ArrowArray& a, std::int64_t first, std::int64_t n);

// Assigns rows [first, first + n) to values that are alive, `stride` bytes from each other. find_wrong_null has found none.
void convert_values(const arrow_values& v, const ArrowArray& a, std::int64_t first, std::int64_t n, void* to, std::size_t stride);

// The number of a value in the dictionary's slice; of a null, any.
std::int64_t dictionary_code(const arrow_values& v, const ArrowArray& a, std::int64_t row);
// Is that value null? Its number may name a null besides.
bool is_null_code(const arrow_values& v, const ArrowArray& a, std::int64_t row);
bool may_have_null_codes(const ArrowArray& a);  // without a look at the dictionary
// Have both arrays the same dictionary of strings?
bool same_dictionary(const arrow_values& v, const ArrowArray& a, const ArrowArray& b);

// Throws arrow_mismatch for an array that has fewer values, buffers or children than its type and its length ask for.
void check_shape(const arrow_values& v, const ArrowArray& a, std::int64_t rows);

}  // namespace query::data
