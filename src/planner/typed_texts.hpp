// Reports an error in a text that a user typed as an error of the verb that reads the text.
#pragma once

#include <string>

#include <query/detail/failure.hpp>
#include <query/text.hpp>

#include "ir/typed_text/faults.hpp"

namespace query::planner {

template <class Read> auto read_typed(const char* verb, const text_expression& t, detail::call_site at, Read read) {
  try {
    return read();
  } catch (const ir::typed_text::fault& f) {
    const std::string shown = std::string(verb) + ": " + f.why + "\n" + ir::typed_text::show_fault(t.source, f);
    throw text_error(shown + " (" + detail::place_of(at) + ")", f.at, f.length);
  } catch (const resource_error& e) {
    throw resource_error(std::string(verb) + ": " + e.what() + " (" + detail::place_of(at) + ")");
  }
}

}  // namespace query::planner
