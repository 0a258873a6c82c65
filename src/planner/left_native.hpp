// What the plans of interpreting sessions leave to compiled code, told as they are made: for tests that let nothing slip by.
//
//   observe_left_native([](const left_native& x) { ... });
#pragma once

#include <string_view>

#include <query/detail/plan.hpp>

namespace query::planner {

struct left_native {
  const detail::logical& verb;
  const detail::user_function& function;
  std::string_view why;
};
using native_observer = void (*)(const left_native&);

// For all sessions of the process, on whichever thread plans; null: nobody looks.
void observe_left_native(native_observer o);

}  // namespace query::planner
