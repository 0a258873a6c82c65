// The words of a text that a user typed: names, numbers, strings in '...', names in "...", signs.
//
//   for (const token& t : tokens_of("price >= 3")) ...        // name price, sign >=, integer 3, end
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/typed_text/faults.hpp"

namespace query::ir::typed_text {

struct token {
  enum class kind : std::uint8_t { end, name, quoted_name, integer, floating, text, parameter, sign };
  kind what = kind::end;
  std::size_t at = 0, length = 0;  // where it stands
  std::string spelled;             // the name, the sign, the string without its quotes; keywords are names

  bool is(std::string_view sign) const { return what == kind::sign && spelled == sign; }
  // A keyword, in any case: `AND`, `and`.
  bool is_word(std::string_view lower_case) const;
  std::size_t end() const { return at + length; }
};

// The last one is the end. Throws fault: an unknown sign, a string that does not end, a text beyond the limits.
std::vector<token> tokens_of(std::string_view text);

// Names that only quotes make a field's.
bool is_keyword(std::string_view name);

}  // namespace query::ir::typed_text
