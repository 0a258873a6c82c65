#include "planner/function_captures.hpp"

#include <algorithm>
#include <string>

#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "ir/device_function.hpp"

namespace query::planner {

using detail::logical;

ir::traced trace_of(const logical& n, const detail::user_function& f) {
  try {
    return f.trace();
  } catch (const detail::unplaced_error& e) {
    // Each then_by of a sort has a place of its own.
    std::size_t i = 0;
    while (i < n.functions.size() && &n.functions[i] != &f) ++i;
    const bool own = i < n.order.size() && !n.order[i].verb.empty();
    detail::fail(own ? n.order[i].verb : n.label, std::string(f.role) + ": " + e.what(), own ? n.order[i].where : n.where);
  }
}

namespace {
// Throws if a device function was compiled for other records than the host has. Machines without a GPU check this, too.
void check_device_form(const logical& n, const detail::user_function& f) {
  if (!f.on_device) return;
  const ir::traced call = f.on_device(*f.device);
  if (const std::string different = ir::layout_difference(*f.device, call.root); !different.empty())
    detail::fail(n.label,
                 std::string(f.role) + ": the device function " + detail::function_of(*f.device).symbol +
                     " was made for other records: " + different,
                 n.where);
}
}  // namespace

captured_list captured_collections(const logical& n, const detail::user_function& f, const detail::settings& settings) {
  check_device_form(n, f);
  // Copies of the function tell what it captured by value, its trace what it captured by reference.
  captured_list all = f.captures;
  const detail::capture_recorder recorder;
  (void)trace_of(n, f);
  for (const auto& c : recorder.found())
    if (std::none_of(all.begin(), all.end(), [&](const auto& known) { return known->slot == c->slot; })) {
      // Settings of what is captured by value were taken over when the query was written.
      if (!detail::covers(settings, c->settings))
        detail::fail(n.label, "a query captured by reference has a session, stop token or timeout of its own; capture it by value",
                     n.where);
      all.push_back(c);
    }
  return all;
}

}  // namespace query::planner
