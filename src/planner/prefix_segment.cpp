#include "planner/prefix_segment.hpp"

namespace query::planner {

namespace {
constexpr detail::segment_form no_loop{
    .chain = {}, .run = nullptr, .fold = nullptr, .reads_columns = false, .needs_position = false, .keeps_position = false};
}

bool runs_alone(const detail::logical& n) {
  const detail::native_calls& calls = n.functions.front().native;
  return calls.map || calls.filter || calls.expand;
}

detail::pipe prefix_of(const detail::pipe& loop, const detail::logical& last) {
  const detail::segment& whole = *loop.native;
  return {last.shared_from_this(), std::make_shared<const detail::segment>(whole.origin, whole.in, last.row, no_loop, nullptr)};
}

bool is_prefix(const detail::segment& s) { return !s.form.run; }

}  // namespace query::planner
