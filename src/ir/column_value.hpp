// What the columns of a result hold (query::column_value_t), seen without C++ types.
#pragma once

#include <cstddef>
#include <optional>

#include <query/column_chunks.hpp>
#include <query/detail/type.hpp>

namespace query::ir {

// Of a std::optional<std::string>, whose column holds std::optional<text>.
inline bool is_optional_string(const type* t) { return t->k == kind::optional && t->element->k == kind::string; }
inline bool gives_texts(const type* t) { return t->k == kind::string || is_optional_string(t); }
inline std::size_t column_value_size(const type* t) {
  return t->k == kind::string ? sizeof(text) : is_optional_string(t) ? sizeof(std::optional<text>) : t->size;
}

}  // namespace query::ir
