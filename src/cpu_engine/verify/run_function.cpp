#include "cpu_engine/verify/run_function.hpp"

#include <algorithm>

#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/pieces.hpp"
#include "cpu_engine/row_lists.hpp"
#include "cpu_engine/verify/difference.hpp"
#include "ir/analysis.hpp"

namespace query::cpu::verify {

void check_run_function(const detail::logical& n, const rows_buffer& rows, const std::vector<bool>& read, runtime::buffer_pool& pool) {
  const detail::user_function& f = n.functions.front();
  if (!f.row || !ir::can_be_filled(f.row) || rows.size() == 0) return;
  const function_calls traced(f, true, false);
  if (!traced.is_interpreted()) return;
  const bool chunks = n.what == detail::verb::chunk;
  const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(n.count, rows.size()));
  if (!chunks && length < n.count) return;  // no window is shorter
  const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(chunks ? n.count : n.step, rows.size()));

  row_lists list(f.row, 1, pool);
  interpreter::scratch scratch;
  constexpr std::size_t most_rows = 1 << 16;  // of all runs together: long windows overlap
  for (std::size_t first = 0, seen = 0; first + length <= rows.size() && seen < most_rows; first += step, seen += length) {
    rows_buffer native(n.row, pool), result(n.row, pool);
    // The expression first: what it throws for, native code may not survive.
    list.start(0, length);
    for (std::size_t i = 0; i < length; ++i) list.add(0, rows.at(first + i));
    traced.map(list.list(0), nullptr, 1, result.extend(1), scratch);
    result.grow(1);
    append_rows_sink sink(native);
    n.rows_call(f.f.get(), rows.at(first), {length, 0, 1}, sink);
    if (!same(n.row, native.at(0), result.at(0)))
      differ(n, f, std::to_string(length) + " rows from " + shown_row({}, first, rows.type(), read, rows.at(first)) + " on", n.row,
             native.at(0), result.at(0), f.trace().root);
  }
}

}  // namespace query::cpu::verify
