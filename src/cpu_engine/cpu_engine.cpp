// The CPU engine: runs any vertex of a machine graph on the session's threads, in the caller's memory.
#include <algorithm>
#include <atomic>

#include "cpu_engine/collected_columns.hpp"
#include "cpu_engine/collected_rows.hpp"
#include "cpu_engine/column_results.hpp"
#include "cpu_engine/costs.hpp"
#include "cpu_engine/exchange_pages.hpp"
#include "cpu_engine/files.hpp"
#include "cpu_engine/group_by.hpp"
#include "cpu_engine/heavy_rows.hpp"
#include "cpu_engine/join.hpp"
#include "cpu_engine/made_tables.hpp"
#include "cpu_engine/padding.hpp"
#include "cpu_engine/partial_groups.hpp"
#include "cpu_engine/pipeline.hpp"
#include "cpu_engine/range_exchange.hpp"
#include "cpu_engine/sent_rows.hpp"
#include "cpu_engine/sort.hpp"
#include "cpu_engine/table_estimate.hpp"
#include "cpu_engine/table_verbs.hpp"
#include "cpu_engine/tbb_scheduler.hpp"
#include "cpu_engine/terminal_reads.hpp"
#include "cpu_engine/value_bytes.hpp"
#include "cpu_engine/verify.hpp"
#include "runtime/fold_states.hpp"
#include "runtime/local_engine.hpp"

namespace query::cpu {

using detail::verb;

namespace {

runtime::vertex_rows run_vertex(const planner::vertex& v, runtime::run_context& context) {
  if (v.folds) {
    detail::fold_state state;
    fold_branch(v.inputs.front(), v.captures, *v.folds, state, context);
    return runtime::table_of({state});
  }
  if (!v.node || v.node->what == verb::take)
    if (auto rows = made_as_they_are(v.inputs.front(), context))
      return runtime::vertex_rows(range_of(std::move(rows), 0, std::min<std::uint64_t>(v.limit, v.node ? v.node->count : ~0ull)));
  // Rows to be sent wait beside those that other partitions send, so they may take a fourth of the memory that is left.
  const std::size_t beside = v.moves ? 3 * v.row()->size : 0;
  if (v.moves == planner::exchange::range) return collect_as_memory_allows(v.inputs.front(), v.captures, context, beside).as_vertex_rows();
  if (!v.node && v.gives_columns)
    if (auto rows = collect_columns_of(v.inputs.front(), v.captures, context)) return runtime::vertex_rows(rows->list(v.row()));
  // Engines know rows side by side: where the CPU takes over from one, they come so.
  if (!v.node && v.limit == ~0ull && v.engine == "cpu" && v.shares.empty())
    return collect_as_memory_allows(v.inputs.front(), v.captures, context, beside).as_vertex_rows();
  if (!v.node) return cpu::collect(v.inputs.front(), v.captures, context, v.limit);
  switch (v.node->what) {
    case verb::source_file: return read_file(v, context);
    case verb::group_by: return group_rows(v, context);
    case verb::aggregate: return aggregate_rows(v, context);
    case verb::join:
    case verb::group_join:
    case verb::cross_join: return join_rows(v, context);
    case verb::order_by: return order_rows(v, context);
    case verb::distinct:
    case verb::union_with:
    case verb::intersect:
    case verb::except: return set_rows(v, context);
    default: return run_table_verb(v, context);
  }
}

// The vertex has run when start() returns: its parallelism is inside.
struct finished_vertex final : runtime::running_vertex {
  void wait() override {}
};

class cpu_engine final : public runtime::local_engine {
 public:
  std::string_view name() const override { return "cpu"; }
  runtime::verdict accepts(const planner::vertex&) const override { return {true}; }
  const runtime::cost_model* costs() const override { return known_costs_; }
  void expects(std::function<const runtime::host_rates*()> rates) override { known_costs_ = &costs_.emplace(std::move(rates)); }
  // Inputs are read where they lie (context.tables, sources), not through the ports.
  std::unique_ptr<runtime::running_vertex> start(const planner::vertex& v, std::span<runtime::input_port* const>,
                                                 runtime::output_port& output, runtime::run_context& context) override {
    output.tell(runtime::signal::begin_stream);
    if (context.verify && !planner::merges_states(v)) verify_vertex(v, context);
    const runtime::vertex_rows rows = run_vertex(v, context);
    const detail::table& t = rows.rows;
    runtime::block b;
    b.kept = rows.kept;
    // A table without an owner is a source that the caller keeps alive.
    b.owner = t.owner ? t.owner : std::shared_ptr<void>(std::shared_ptr<void>(), const_cast<void*>(t.rows ? t.rows : &t_nothing));
    b.rows.rows = const_cast<void*>(t.rows);
    b.rows.n = t.n;
    output.push(std::move(b));
    output.tell(runtime::signal::end_stream);
    return std::make_unique<finished_vertex>();
  }
  std::unique_ptr<runtime::scheduler> make_scheduler(int threads) const override { return std::make_unique<tbb_scheduler>(threads); }

  detail::table collect(const planner::branch& b, const std::vector<planner::binding>& c, runtime::run_context& context) override {
    return cpu::collect(b, c, context);
  }
  void fold(const planner::branch& b, const std::vector<planner::binding>& c, detail::fold_kind k, detail::fold_state& state,
            runtime::run_context& context) override {
    fold_branch(b, c, k, state, context);
  }
  void merge(detail::fold_kind k, const ir::type* row, detail::fold_state& into, const detail::fold_state& from) const override {
    merge_folds(k, row, into, from);
  }
  void stream(const planner::branch& b, const std::vector<planner::binding>& c, function_ref<void(std::uint64_t)> expected,
              function_ref<bool(const detail::row_block&)> take, runtime::run_context& context) override {
    stream_branch(b, c, expected, take, context);
  }
  detail::chunk_list columns(const planner::branch& b, const std::vector<planner::binding>& c, runtime::run_context& context) override {
    return collect_columns(b, c, context);
  }
  bool assign(const planner::branch& b, const std::vector<planner::binding>& c, function_ref<void*(std::uint64_t)> room,
              runtime::run_context& context) override {
    return assign_records(b, c, room, context);
  }
  std::unique_ptr<detail::row_cursor> open(const planner::branch& b, const std::vector<planner::binding>& c,
                                           runtime::run_context& context) override {
    return open_branch(b, c, context);
  }
  std::optional<std::uint64_t> most_table_bytes(const planner::vertex& v, const runtime::run_context& context) const override {
    return cpu::most_table_bytes(v, context);
  }
  bool can_travel(const ir::type& row) const override { return row.trivial || has_bytes(row); }
  runtime::row_pages pages_of(const detail::table& rows, runtime::run_context& context) override { return write_pages(rows, context); }
  void send_rows(const planner::vertex& v, const runtime::vertex_rows& rows, std::size_t receivers, const detail::table* begins,
                 const runtime::heavy_keys& heavy, runtime::bucket_sink take, runtime::run_context& context) override {
    cpu::send_rows(v, rows, receivers, begins, heavy, take, context);
  }
  std::vector<std::uint64_t> rows_by_hash(const planner::vertex& v, const runtime::vertex_rows& rows, std::size_t receivers,
                                          runtime::run_context& context) override {
    return cpu::rows_by_hash(v, rows, receivers, context);
  }
  std::vector<std::uint64_t> sample_hashes(const planner::vertex& v, const runtime::vertex_rows& rows, std::size_t wanted,
                                           runtime::run_context& context) override {
    return cpu::sample_hashes(v, rows, wanted, context);
  }
  runtime::vertex_rows receive_rows(const ir::type* row, runtime::page_feed& pages, runtime::run_context& context) override {
    return receive_pages(row, pages, context);
  }
  detail::table rows_of(const ir::type* row, std::span<const runtime::row_page* const> pages, runtime::run_context& context) override {
    return read_pages(row, pages, context);
  }
  void verify(const planner::branch& b, const std::vector<planner::binding>& c, runtime::run_context& context) override {
    verify_branch(b, c, context);
  }
  runtime::vertex_rows keep(const planner::branch& b, const std::vector<planner::binding>& c, runtime::run_context& context) override {
    const bool as_it_is = b.stages.empty() && b.prefilters.empty();
    if (const runtime::vertex_rows* known = as_it_is ? context.rows_before(b) : nullptr) return settled_rows(*known, context);
    return settled_rows(collect_as_memory_allows(b, c, context).as_vertex_rows(), context);
  }
  data::file_state state_of_file(const planner::vertex& v) const override { return cpu::state_of_file(v); }
  data::quotes_seen quotes_in_file(const planner::vertex& v, std::uint64_t begin, std::uint64_t end,
                                   runtime::run_context& context) const override {
    return cpu::quotes_in_file(v, begin, end, context);
  }
  void clear_unused(const ir::type& row, std::byte* rows, std::size_t n) const override {
    if (const padding unused(row); unused) unused.clear(rows, n);
  }
  std::string why_rows_are_sent(const planner::vertex& v) const override { return cpu::why_rows_are_sent(v); }
  void pages_of_states(const planner::vertex& v, const runtime::vertex_rows& states, std::size_t receivers, runtime::bucket_sink take,
                       runtime::run_context& context) override {
    write_groups(v, states, receivers, take, context);
  }
  runtime::vertex_rows states_of(const planner::vertex& v, runtime::page_feed& pages, runtime::run_context& context) override {
    return read_groups(v, pages, context);
  }
  detail::table sample_of(const planner::vertex& v, const runtime::vertex_rows& rows, std::size_t wanted,
                          runtime::run_context& context) override {
    return sample_rows(v, rows, wanted, context);
  }
  detail::table begins_of_ranges(const planner::vertex& v, const detail::table& samples, std::size_t partitions,
                                 runtime::run_context& context) override {
    return cpu::begins_of_ranges(v, samples, partitions, context);
  }
  detail::table in_ranges(const planner::vertex& v, const detail::table& rows, const detail::table& begins, std::size_t partitions,
                          runtime::run_context& context) override {
    return put_in_ranges(v, rows, begins, partitions, context);
  }

 private:
  static inline char t_nothing = 0;
  std::optional<cpu_costs> costs_;                        // made once
  std::atomic<const cpu_costs*> known_costs_ = nullptr;  // other queries ask meanwhile
};

}  // namespace
}  // namespace query::cpu

namespace query::runtime {
std::unique_ptr<local_engine> make_cpu_engine() { return std::make_unique<cpu::cpu_engine>(); }
}  // namespace query::runtime
