// Searches for the nearest row of a captured table: arg_min over its elements of a sum of squared differences. Found in the functions of
// a branch, whichever way they were written; such a search has a form of its own (operators/nearest.hpp), whose answers lie beside the
// input's rows as one more column, and which the functions then read instead.
//
//   points.group_by([c](auto p) { return c.arg_min(p, [](auto p, auto e) { return query::squared_distance(p.x, e.x); }); })
//
//   if (auto s = find_nearest(k, v.inputs.front(), rows->layout())) ...        // rows: p.x at s->point, c.x at s->place
#pragma once

#include <optional>
#include <string>

#include "gpu_engine/codegen/row_function.hpp"

namespace query::gpu_engine {

// Of the input's rows: dims floats side by side, `point` bytes into the row; of the table's, `place` bytes into the element.
struct nearest_search {
  std::uint64_t slot = 0;  // of the captured collection
  const ir::type* element = nullptr;
  std::size_t point = 0, place = 0;
  std::uint32_t dims = 0;
  std::uint32_t additions = 0;  // in a row: what the expression's own error is made of
  std::uint32_t column = 0;     // of the input: floats at multiples of `align` bytes
  std::size_t align = 4;

  bool same_search(const nearest_search& o) const {
    return slot == o.slot && element == o.element && point == o.point && place == o.place && dims == o.dims && additions == o.additions;
  }
};

// The first search that reads the rows of the branch's source, in its functions or in the key of `keyed` (a group_by), if those rows lie
// on the device as it wants them.
struct found_nearest {
  nearest_search search;
  ir::traced function;             // keeps `arg_min` alive
  const ir::node* arg_min = nullptr;
  const detail::logical* of = nullptr;
};
std::optional<found_nearest> find_nearest(kernel_source& k, const planner::branch& b, const input_layout& in,
                                          const detail::logical* keyed = nullptr);

// Binds the searches of an expression over the source's rows to the answers that lie beside them.
void bind_nearest(expressions& e, kernel_source& k, const ir::node* root, const input_layout& in);

// The text of a row's floats (a `const float*`): of row `i` of the input, of element `j` of the table.
std::string point_of(kernel_source& k, const nearest_search& s, const input_layout& in, const std::string& i);
std::string place_of(kernel_source& k, const nearest_search& s, const std::string& j);

// Is the key the answer itself, as an integer that holds it?
bool keyed_by_nearest(kernel_source& k, const planner::branch& b, const input_layout& in, const detail::logical& keyed);

}  // namespace query::gpu_engine
