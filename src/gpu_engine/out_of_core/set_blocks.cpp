// distinct and the set verbs of more rows than fit: each block keeps the first row of each key, what stays goes apart by the hash of the
// key in host memory, and the partitions go through the verb, as many at once as fit. Rows of a key are in one partition, in their order,
// and no more of them than there are blocks: one key that most rows have takes no room.
#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/out_of_core/out_of_core.hpp"
#include "gpu_engine/out_of_core/parted_rows.hpp"
#include "gpu_engine/upload.hpp"

namespace query::gpu_engine {

using detail::verb;

namespace {

// Bytes of tables and flags: of a block, whose length adapts where they are more, and of all that is left.
constexpr std::size_t beside_row = 16, beside_row_at_once = 144;

class sets_in_blocks {
 public:
  sets_in_blocks(const planner::vertex& v, vertex_run& run) : v_(v), run_(run), row_(v.row()) {
    for (const planner::branch& b : v.inputs) {
      columns_.push_back(planned_input(b).columns);
      sides_.push_back(parted(b));
    }
  }

  block_results go() {
    most_rows_ = std::max<std::size_t>(run_.gpu().memory().budget() / 3 / (2 * row_->size + beside_row_at_once), 1);
    block_results results;
    std::uint64_t given = 0;
    for (std::uint32_t first = 0; first < parting::parts_made && given < v_.limit;) {
      run_.context().cancel.check();
      const std::uint32_t end = as_many_as_fit(first);
      result_rows rows;
      try {
        rows = of_parts(first, end);
      } catch (const out_of_memory& e) {
        run_.context().cancel.check();
        if (end == first + 1) throw resource_error(e.what());
        most_rows_ = std::max<std::size_t>(most_rows_ / 2, 1);
        continue;
      }
      if (rows && first == 0 && end == parting::parts_made) return {std::move(rows), {}};
      if (rows) results.tables.push_back(rows->fetch(run_.context()));
      if (rows) given += rows->size();
      first = end;
    }
    return results;
  }

 private:
  std::unique_ptr<parting> parted(const planner::branch& b) {
    const auto firsts = [this](const device_rows& rows) { return run_set_of(whole_, verb::distinct, rows, nullptr, run_); };
    auto side = std::make_unique<parting>(b, *v_.node, v_.node->functions.front(), run_, firsts);
    block_input(b, fields_of_blocks(b, all_fields(b.row)), beside_row, run_).each(*side);
    return side;
  }

  std::size_t rows_of(std::uint32_t part) const {
    std::size_t n = 0;
    for (const auto& side : sides_) n += side->parts().size(part);
    return n;
  }
  // The end of the partitions from `first` on that go through the verb together.
  std::uint32_t as_many_as_fit(std::uint32_t first) const {
    std::uint32_t end = first + 1;
    for (std::size_t n = rows_of(first); end < parting::parts_made && n + rows_of(end) <= most_rows_; ++end) n += rows_of(end);
    return end;
  }

  // Null: there are no rows.
  result_rows of_parts(std::uint32_t first, std::uint32_t end) {
    std::vector<std::shared_ptr<const device_rows>> rows;
    const verb what = v_.node->what;
    if (what == verb::union_with) {  // the rows of the second side are behind those of the first
      run_.reset_status();
      return run_set_of(v_, what, *uploaded(0, first, end), uploaded(1, first, end).get(), run_);
    }
    std::size_t wanted = 0;
    for (std::uint32_t part = first; part < end; ++part) wanted += sides_.front()->parts().size(part);
    if (!wanted && !(first == 0 && end == parting::parts_made)) return nullptr;
    for (std::size_t side = 0; side < sides_.size(); ++side) rows.push_back(uploaded(side, first, end));
    run_.reset_status();
    return run_set_of(v_, what, *rows.front(), rows.size() > 1 ? rows.back().get() : nullptr, run_);
  }
  std::shared_ptr<const device_rows> uploaded(std::size_t side, std::uint32_t first, std::uint32_t end) {
    const host_block rows = side_by_side(sides_[side]->parts(), first, end, row_, run_.context());
    auto there = upload_rows(run_.shared_gpu(), rows.rows, row_, columns_[side], run_.on(), run_.context());
    run_.on().synchronize(run_.context().cancel);
    return there;
  }

  const planner::vertex& v_;
  vertex_run& run_;
  const ir::type* row_;
  std::vector<std::vector<input_column>> columns_;  // of each side that go up again
  planner::vertex whole_ = without_limit(v_);       // of a block, all keys count
  std::vector<std::unique_ptr<parting>> sides_;
  std::size_t most_rows_ = 1;

  static planner::vertex without_limit(const planner::vertex& v) {
    planner::vertex w = v;
    w.limit = ~0ull;
    return w;
  }
};

}  // namespace

block_results run_sets_in_blocks(const planner::vertex& v, vertex_run& run) { return sets_in_blocks(v, run).go(); }

}  // namespace query::gpu_engine
