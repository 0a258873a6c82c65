// Calls of a user's functions: what the library finds wrong in one is said with the verb that the function belongs to.
//
//   placed_calls(verb, [&] { calls.map(rows, n, to, scratch); });
#pragma once

#include <query/detail/division_watch.hpp>
#include <query/detail/failure.hpp>

namespace query::cpu {

// No verb: whoever runs the step names it.
template <class Call> void placed_calls(const detail::logical* verb, Call call) {
  try {
    const detail::division_watch watch;
    call();
    watch.check();
  } catch (const detail::unplaced_error& e) {
    if (!verb) throw;
    detail::fail_at(e, *verb);
  }
}

}  // namespace query::cpu
