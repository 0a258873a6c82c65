// What one partition does for an exchange: it computes what it sends, takes it apart into pages for each receiver, and makes a table of the
// pages that it receives. The same in this process and in others.
//
//   exchange_side here(session, executor, context);
//   here.send(v, of, receivers, begins, {}, take);      // take(receiver, pages); take(0, pages) where all are sent the same
//   here.receive(v, inbox);                            // context.tables has it
//
// A partition that has received may be asked to send once more, for one that was lost: it keeps what it has received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "planner/machine_graph.hpp"
#include "runtime/executor.hpp"
#include "runtime/heavy_keys.hpp"
#include "runtime/row_pages.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

// Does each receiver get rows of its own?
inline bool sends_each_its_own(const planner::vertex& v) {
  return v.moves == planner::exchange::hash || v.moves == planner::exchange::range;
}
inline std::size_t buckets_of(const planner::vertex& v, std::size_t receivers) {
  return planner::sends_states(v) || sends_each_its_own(v) ? receivers : 1;
}
std::vector<const row_page*> in_order(const std::vector<const row_pages*>& of_senders);

class exchange_side {
 public:
  exchange_side(session_state& session, executor& runs, run_context& context) : session_(&session), runs_(&runs), context_(&context) {}

  // What it is computed from, by the steps that left that: in each round of a loop, others.
  using steps = std::vector<std::uint64_t>;
  std::size_t run(const planner::vertex& v, const steps& of);  // computes what is sent, unless that is there: how many rows
  // Of an exchange by range, before it is sent: some of the rows.
  row_pages sample(const planner::vertex& v, const steps& of, std::size_t share);
  // Of one by hash: how many rows each receiver would get, and the hashes of the keys of some rows.
  std::vector<std::uint64_t> rows_by_hash(const planner::vertex& v, const steps& of, std::size_t receivers);
  std::vector<std::uint64_t> sample_hashes(const planner::vertex& v, const steps& of, std::size_t share);
  // begins: of an exchange by range; where the rows of each receiver end, of one by place. Buckets that `take` never got have no rows.
  void send(const planner::vertex& v, const steps& of, std::size_t receivers, const row_pages& begins, const heavy_keys& heavy,
            bucket_sink take);
  void receive(const planner::vertex& v, page_feed& pages);
  // Of the partition that leads: the first rows of ranges, of all partitions' samples.
  row_pages begins_of_ranges(const planner::vertex& v, std::span<const row_page* const> samples, std::size_t partitions);

 private:
  row_pages pages_of(const detail::table& rows, std::size_t first, std::size_t end);

  session_state* session_;
  executor* runs_;
  run_context* context_;
  std::unordered_map<const planner::vertex*, steps> to_send_;         // whose tables are what is sent
  std::unordered_map<const planner::vertex*, vertex_rows> received_;  // before the vertex had to send once more
};

}  // namespace query::runtime
