// Sorted runs in host memory, merged on all cores.
//
// The output is cut into ranges by a sample of the keys, and each range is merged by one thread. Keys are words,
// compared lexicographically; among equal keys the earlier run's rows come first, so that runs in the order of their
// rows give a stable sort. Splitters name a row, not only a key: all keys equal still cuts into equal ranges.
//
//   detail::table sorted = merge_runs(runs, row, words, ~0ull, context);
#pragma once

#include <vector>

#include "runtime/run_context.hpp"

namespace query::gpu_engine {

struct sorted_run {
  detail::table rows;
  runtime::buffer keys;  // `words` of 64 bits a row
};

// The first `limit` rows. Rows are copied byte by byte: they own no memory. Throws cancelled and resource_error.
detail::table merge_runs(const std::vector<sorted_run>& runs, const ir::type* row, std::size_t words,
                         std::uint64_t limit, runtime::run_context& context);

}  // namespace query::gpu_engine
