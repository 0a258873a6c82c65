#include "gpu_engine/operators/input_part.hpp"

#include <algorithm>

#include "gpu_engine/counted_rows.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/out_of_core/block_feed.hpp"
#include "gpu_engine/out_of_core/host_blocks.hpp"
#include "gpu_engine/upload.hpp"

namespace query::gpu_engine {

using planner::branch;
using planner::stage;

namespace {

constexpr std::uint64_t first_try = 1 << 20;  // rows of the source, where a filter decides how many of them are needed

bool filters(const branch& b) {
  return !b.prefilters.empty() ||
         std::any_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return !s.native || !s.native->keeps_position(); });
}

// The rows that the branch starts from, if they lie on the host. In a loop whole uploads are kept for the next round.
std::optional<detail::row_block> rows_on_host(const branch& b, const runtime::run_context& context) {
  if (context.loops || in_parts(b)) return std::nullopt;
  detail::row_block rows;
  if (b.table) {
    const auto it = context.tables.find(b.table);
    if (it == context.tables.end() || it->second.kept) return std::nullopt;
    rows.rows = const_cast<void*>(it->second.rows.rows);
    rows.n = it->second.rows.n;
    return rows;
  }
  if (!b.source || !b.source->view) return std::nullopt;
  b.source->view(b.source->source.get(), rows);
  return rows;
}

// The rows that the branch starts from, if they lie on the device and something is computed of them: then of a part only.
shared_rows rows_there(const branch& b, vertex_run& run) {
  const runtime::run_context& context = run.context();
  if (context.loops || in_parts(b) || bare(b) || !b.table) return nullptr;
  const auto it = context.tables.find(b.table);
  if (it == context.tables.end()) return nullptr;
  const auto kept = std::dynamic_pointer_cast<const device_rows>(it->second.kept);
  return kept && kept->on(run.gpu().on()) ? run.table(*b.table, all_fields(b.table->row())) : nullptr;
}

}  // namespace

void check_not_handed_on(const planner::vertex& v) {
  for (const branch& b : v.inputs)
    if (b.table && b.table->engine == "cpu" && (!b.table->node || planner::hands_on(b.table->node->what)))
      throw not_generated("its rows are made on the CPU, one after the other");
}

input_part::input_part(const branch& b, vertex_run& run)
    : branch_(b), run_(run), host_(rows_on_host(b, run.context())), there_(rows_there(b, run)), keeps_count_(!filters(b)) {
  if (host_)
    source_size_ = host_->n;
  else if (there_)
    source_size_ = there_->size();
  else if (b.source && is_counted(*b.source) && !in_parts(b))
    source_size_ = b.source->count;
}

shared_rows input_part::whole() { return run_input(branch_, all_fields(branch_.row), run_); }

shared_rows input_part::of_source(std::uint64_t from, std::uint64_t n) {
  const ir::type* row = source_row(branch_);
  if (there_) {
    const std::uint64_t first = std::min(from, there_->size());
    run_.supply(slice(run_.shared_gpu(), there_, first, std::min(n, there_->size() - first)), first);
    return run_input(branch_, all_fields(row), run_);
  }
  if (!host_) {
    const std::uint64_t first = std::min(from, *source_size_);
    run_.supply(counted_rows(*branch_.source, first, std::min(n, *source_size_ - first), run_), first);
    return run_input(branch_, all_fields(row), run_);
  }
  const auto begin = static_cast<std::size_t>(std::min<std::uint64_t>(from, host_->n));
  host_block all;
  all.rows = *host_;
  const host_block part = slice(all, row, begin, static_cast<std::size_t>(std::min<std::uint64_t>(n, host_->n - begin)));
  const auto fields = bare(branch_) ? fields_wanted(branch_, all_fields(row)) : fields_read(branch_, true);
  const auto columns = choose_columns(row, fields, host_->columns != nullptr);
  run_.supply(upload_rows(run_.shared_gpu(), part.rows, row, columns, run_.on(), run_.context()), begin);
  return run_input(branch_, fields, run_);  // takes what was supplied away
}

shared_rows input_part::range(std::uint64_t from, std::uint64_t n) {
  if (!grows()) return slice_of(whole(), from, n, run_);
  if (keeps_count_) return of_source(from, n);
  const std::uint64_t last = n > ~0ull - from ? ~0ull : from + n;
  if (last == ~0ull) return slice_of(whole(), from, n, run_);
  const auto rows = until(std::max(first_try, last), [&](const device_rows& r) { return r.size() >= last; });
  return slice_of(rows, from, n, run_);
}

shared_rows input_part::last(std::uint64_t n) {
  if (keeps_count_ && grows()) return range(*source_size_ - std::min(n, *source_size_), n);
  shared_rows rows;
  if (!grows()) {
    rows = whole();
  } else {
    for (std::uint64_t m = std::max(first_try, n);; m = m > ~0ull / growth ? ~0ull : m * growth) {
      rows = of_source(*source_size_ - std::min(m, *source_size_), m);
      if (rows->size() >= n || m >= *source_size_) break;
    }
  }
  return slice_of(rows, rows->size() - std::min(n, rows->size()), n, run_);
}

shared_rows slice_of(const shared_rows& rows, std::uint64_t from, std::uint64_t n, vertex_run& run) {
  const std::uint64_t begin = std::min(from, rows->size()), kept = std::min(n, rows->size() - begin);
  if (kept == rows->size()) return rows;
  // Rounds that are repeated write the loop's variable: no view of it may be what a round gives.
  const bool copies = round_recording::here() || kept < rows->size() / 2;
  const input_layout& in = rows->layout();
  auto part = std::make_shared<device_rows>(run.shared_gpu(), in.row, kept);
  for (std::size_t c = 0; c < in.columns.size(); ++c) {
    const std::size_t size = device_layout(in.columns[c].type).size;
    const device_address at = rows->column(c) + begin * size;
    if (!copies) {
      part->add(in.columns[c], at);
      continue;
    }
    device_buffer own = run.allocate(std::max<std::uint64_t>(kept, 1) * size);
    run.copy(own.address(), at, kept * size);
    part->add(in.columns[c], std::move(own));
  }
  if (!copies) part->keep(rows);
  for (const auto& heap : rows->heaps()) part->keep_heap(heap);
  run.on().synchronize(run.context().cancel);
  return part;
}

}  // namespace query::gpu_engine
