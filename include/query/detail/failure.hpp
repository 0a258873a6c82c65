// Misuse that shows only at run time, in one style: "<verb>: what is wrong; what to do (plan.cpp:12)".
//
//   if (!n) fail("chunk", "a chunk has at least one row", at);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <query/detail/plan.hpp>
#include <query/errors.hpp>

namespace query::detail {

// "plan.cpp:12", without the folders.
std::string place_of(call_site at);

// Throws user_error.
[[noreturn]] void fail(std::string_view verb, std::string_view what, call_site at);
void check_checkpoint_name(std::string_view name, call_site at);  // fit for a folder

// What was found where the verb is not known (a key that cannot be hashed, a division by zero in an interpreted function):
// whoever runs the verb says its name and place by fail_at. An exception of a user's function is never one of these.
struct unplaced_error : user_error {
  using user_error::user_error;
};
[[noreturn]] void fail_at(const unplaced_error& e, const logical& verb);
// The same where the text begins with the verb already.
[[noreturn]] void fail_at(const unplaced_error& e, call_site at);

// `edge`: first or last, as an aggregate or of query::value_of.
[[noreturn]] void no_row_at_edge(std::string_view edge);

[[noreturn]] void fail_negative(std::string_view verb, std::int64_t n, call_site at);
[[noreturn]] void fail_not_positive(std::string_view verb, std::int64_t n, call_site at);
[[noreturn]] void fail_past_last(std::string_view verb, std::string_view numbers, std::string_view last, call_site at);

// A number of rows as the user wrote it: any integer that is not negative.
template <class N> std::uint64_t row_count(std::string_view verb, N n, call_site at) {
  if constexpr (std::is_signed_v<N>)
    if (n < 0) fail_negative(verb, static_cast<std::int64_t>(n), at);
  return static_cast<std::uint64_t>(n);
}
// The same, from 1 on: the length of a run, the number of partitions.
template <class N> std::uint64_t positive_count(std::string_view verb, N n, call_site at) {
  if (n <= N{0}) fail_not_positive(verb, static_cast<std::int64_t>(n), at);
  return static_cast<std::uint64_t>(n);
}

}  // namespace query::detail
