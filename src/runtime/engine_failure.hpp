// How an engine fails where another may do its work, and what becomes of rows that it alone has.
//
// Thrown by engines and by run_context::fetched(); the executor gives the vertex, or the whole query, to the CPU.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <query/errors.hpp>

namespace query::runtime {

// A resource of the engine's own ran out or was lost: its memory, its device.
struct engine_failure : resource_error {
  using resource_error::resource_error;
};

// Rows that an engine kept cannot be had any more. What computed them may run again elsewhere.
struct rows_lost : resource_error {
  rows_lost(const std::string& why, std::string engine_name) : resource_error(why), engine(std::move(engine_name)) {}
  std::string engine;
};

// A number that does not fit its field, in a row that the engine does not know: the CPU's loops find which.
struct row_unknown : user_error {
  using user_error::user_error;
};

// How the reason begins why there is no GPU where there was one.
inline constexpr std::string_view gpu_was_lost = "the GPU was lost: ";

}  // namespace query::runtime
