// A column of strings that its producer gave as numbers of the entries of a dictionary.
#pragma once

#include <cstddef>
#include <cstdint>

#include <query/detail/type.hpp>

namespace query::data {

struct text_codes {
  const ir::type* type = nullptr;         // of an entry: the field's
  const void* entries = nullptr;          // side by side; several may be equal
  std::size_t n = 0;                      // entries
  const std::uint32_t* codes = nullptr;   // row i is entry codes[i]
};

}  // namespace query::data
