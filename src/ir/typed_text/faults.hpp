// An error in a text that a user typed, with its place. The parser throws it; the caller, which knows the verb, makes the message.
//
//   throw fault{at, length, "no field `prize`; did you mean `price`?"};
//   show_fault("prize > 3", f)        // "    prize > 3\n    ^~~~~"
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace query::ir::typed_text {

struct fault {
  std::size_t at = 0, length = 0;
  std::string why;
};

// The line of the text that the fault is in, and a caret under it. Long lines are cut around it.
std::string show_fault(std::string_view text, const fault& f);

// The one of `names` that the user may have meant; empty: none is near.
std::string_view nearest(std::string_view name, std::span<const std::string_view> names);

// "`a`, `b`, `c`", shortened.
std::string listed(std::span<const std::string_view> names);

}  // namespace query::ir::typed_text
