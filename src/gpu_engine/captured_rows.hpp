// Rows of captured collections on the device, whole: where they lie there already, put together there, or brought over. While a loop runs,
// what its rounds do not change is brought once.
//
//   const auto rows = bound ? captured_table(*bound, here, c.element, run) : captured_container(c.capture, c.element, run);
#pragma once

#include <memory>

#include "gpu_engine/vertex_run.hpp"

namespace query::gpu_engine {

// Of a vertex that a function captures; `there`: its rows, if they lie on this device.
std::shared_ptr<const device_rows> captured_table(const planner::vertex& v, const std::shared_ptr<const device_rows>& there,
                                                  const ir::type* element, vertex_run& run);

// Of a container, whose rows never change: a handle that stands for others is another capture.
std::shared_ptr<const device_rows> captured_container(const std::shared_ptr<const detail::capture>& c, const ir::type* element,
                                                      vertex_run& run);

// Gives up the memory of copies that are kept for later vertices, loops and queries of the session, and that nobody reads now; false: there
// were none.
bool forget_captured(runtime::run_context& context, gpu_session& gpu);

}  // namespace query::gpu_engine
