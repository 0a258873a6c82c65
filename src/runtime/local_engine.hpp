// The engine that shares the caller's memory: besides whole vertices it serves terminal verbs, which read a query's last
// branch without a table in between. src/cpu_engine is the only one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <query/column_chunks.hpp>

#include "runtime/engine.hpp"
#include "runtime/heavy_keys.hpp"
#include "runtime/row_pages.hpp"

namespace query::runtime {

struct host_rates;

class local_engine : public engine {
 public:
  virtual std::unique_ptr<scheduler> make_scheduler(int threads) const = 0;
  // By which it knows its costs, called when they are first wanted and later. Null: they are not known.
  virtual void expects(std::function<const host_rates*()> rates) = 0;

  // All rows of a branch side by side; zero-copy where the source has them so.
  virtual detail::table collect(const planner::branch& b, const std::vector<planner::binding>& captures, run_context& context) = 0;
  virtual void fold(const planner::branch& b, const std::vector<planner::binding>& captures, detail::fold_kind k, detail::fold_state& state,
                    run_context& context) = 0;
  // What `from` holds of rows behind those of `into`, of a fold over rows of this type.
  virtual void merge(detail::fold_kind k, const ir::type* row, detail::fold_state& into, const detail::fold_state& from) const = 0;
  // Batches in order, one thread at a time; `take` returns false to stop.
  virtual void stream(const planner::branch& b, const std::vector<planner::binding>& captures, function_ref<void(std::uint64_t)> expected,
                      function_ref<bool(const detail::row_block&)> take, run_context& context) = 0;
  // All rows as columns that the result owns.
  virtual detail::chunk_list columns(const planner::branch& b, const std::vector<planner::binding>& captures, run_context& context) = 0;
  // Assigns all rows to n value-initialised records that room(n) gives; false where rows are better streamed: nothing has been called.
  virtual bool assign(const planner::branch& b, const std::vector<planner::binding>& captures, function_ref<void*(std::uint64_t)> room,
                      run_context& context) = 0;
  // Windows of batches on demand; the cursor uses the context, which the caller keeps alive.
  virtual std::unique_ptr<detail::row_cursor> open(const planner::branch& b, const std::vector<planner::binding>& captures,
                                                   run_context& context) = 0;
  // The most bytes that a table of this vertex takes, with all that lies beside it while it is made; nothing: nobody knows.
  virtual std::optional<std::uint64_t> most_table_bytes(const planner::vertex& v, const run_context& context) const = 0;
  // Rows for other partitions of the cluster graph: may rows of the type leave, as pages, and what the pages of several senders hold.
  virtual bool can_travel(const ir::type& row) const = 0;
  virtual row_pages pages_of(const detail::table& rows, run_context& context) = 0;
  virtual detail::table rows_of(const ir::type* row, std::span<const row_page* const> pages, run_context& context) = 0;
  // Files that partitions read in parts (run_context::parts_of_files): how this process finds them, and the quotes within some bytes.
  virtual data::file_state state_of_file(const planner::vertex& v) const = 0;
  virtual data::quotes_seen quotes_in_file(const planner::vertex& v, std::uint64_t begin, std::uint64_t end,
                                           run_context& context) const = 0;
  // Zeros where no value of this trivially copyable type has bytes.
  virtual void clear_unused(const ir::type& row, std::byte* rows, std::size_t n) const = 0;
  // Verify mode for the branch that the terminal verb reads: throws user_error at the first row on which a function and its
  // trace differ. Vertices are verified as they start.
  virtual void verify(const planner::branch& b, const std::vector<planner::binding>& captures, run_context& context) = 0;
  // All rows of a branch as memory allows, side by side or made as they are read; they refer to nothing else that this engine makes.
  virtual vertex_rows keep(const planner::branch& b, const std::vector<planner::binding>& captures, run_context& context) = 0;
  // The same of states of groups (planner::sends_states): why rows are sent instead, "" if they are not; pages for each receiver; and what
  // the pages of several senders hold, for the vertex that merges them.
  virtual std::string why_rows_are_sent(const planner::vertex& v) const = 0;
  virtual void pages_of_states(const planner::vertex& v, const vertex_rows& states, std::size_t receivers, bucket_sink take,
                               run_context& context) = 0;
  // Of an exchange by range (exchange::range): some of a partition's rows, the first rows of ranges, of all partitions' samples, and the
  // rows by range (partition_bounds).
  virtual detail::table sample_of(const planner::vertex& v, const vertex_rows& rows, std::size_t wanted, run_context& context) = 0;
  virtual detail::table begins_of_ranges(const planner::vertex& v, const detail::table& samples, std::size_t partitions,
                                         run_context& context) = 0;
  virtual detail::table in_ranges(const planner::vertex& v, const detail::table& rows, const detail::table& begins,
                                  std::size_t partitions, run_context& context) = 0;
  virtual vertex_rows states_of(const planner::vertex& v, page_feed& pages, run_context& context) = 0;
  // Of an exchange by hash that has run: how many rows each receiver would get, and the hashes of some rows' keys.
  virtual std::vector<std::uint64_t> rows_by_hash(const planner::vertex& v, const vertex_rows& rows, std::size_t receivers,
                                                  run_context& context) = 0;
  virtual std::vector<std::uint64_t> sample_hashes(const planner::vertex& v, const vertex_rows& rows, std::size_t wanted,
                                                   run_context& context) = 0;
  // begins: of an exchange by range, its first rows; null: of others. heavy: of one by hash, keys whose rows go elsewhere.
  virtual void send_rows(const planner::vertex& v, const vertex_rows& rows, std::size_t receivers, const detail::table* begins,
                         const heavy_keys& heavy, bucket_sink take, run_context& context) = 0;
  virtual vertex_rows receive_rows(const ir::type* row, page_feed& pages, run_context& context) = 0;
};

// Defined by src/cpu_engine: named here so that a static library keeps it.
std::unique_ptr<local_engine> make_cpu_engine();

}  // namespace query::runtime
