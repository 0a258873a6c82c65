// Right and full joins, group joins and cross joins whose rows do not fit: the left side goes by in blocks, the right side stays on the
// device. Where the right side does not fit either, both sides go apart by the hash of their keys in host memory, and partitions are
// joined one after the other, as many at once as fit. A right join meets a right side that has one key in slices.
#include <algorithm>
#include <functional>

#include <query/errors.hpp>

#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/kept_build.hpp"
#include "gpu_engine/operators/outer_join_blocks.hpp"
#include "gpu_engine/out_of_core/block_consumers.hpp"
#include "gpu_engine/out_of_core/out_of_core.hpp"
#include "gpu_engine/out_of_core/parted_rows.hpp"
#include "gpu_engine/upload.hpp"

namespace query::gpu_engine {

using detail::verb;

namespace {

constexpr std::size_t beside_left_row = 16;  // bytes of tables, beside the row's result; blocks adapt where they are more

using shared_rows = std::shared_ptr<const device_rows>;

// The left side's blocks, each joined; results on their way to the host.
class left_blocks final : public block_consumer {
 public:
  using join_function = std::function<result_rows(const device_rows&)>;
  left_blocks(const planner::branch& b, std::vector<bool> fields, vertex_run& run, std::vector<detail::table>& to)
      : b_(b), fields_(std::move(fields)), run_(run), fetching_(to) {}
  void take() override {
    const shared_rows left = rows_of_block(b_, fields_, run_);
    run_.reset_status();
    std::shared_ptr<device_rows> rows = join_(*left);
    fetching_.start([rows, &context = run_.context()] { return rows->fetch(context); });
  }
  void release() override { fetching_.finish(); }
  void join_by(join_function f) { join_ = std::move(f); }

 private:
  const planner::branch& b_;
  std::vector<bool> fields_;
  vertex_run& run_;
  join_function join_;
  fetching<detail::table> fetching_;
};

class keyed_join {
 public:
  keyed_join(const planner::vertex& v, vertex_run& run)
      : v_(v), run_(run), outer_(v.node->what == verb::join), left_row_(v.inputs[0].row), right_row_(v.inputs[1].row) {
    const std::size_t share = run.gpu().memory().budget() / builds_of_budget;
    most_right_ = std::max<std::size_t>(share / (right_row_->size + beside_build_row), fewest_rows_of_block);
  }

  block_results go() {
    if (const shared_rows right = right_that_fits())
      join(v_.inputs[0], fields(false), nullptr, right);
    else
      by_parts();
    return std::move(results_);
  }

 private:
  std::vector<bool> fields(bool right) const {
    return outer_ ? fields_joined({v_.node, false}, right) : group_join_fields(*v_.node, right);
  }

  // Null: it does not.
  shared_rows right_that_fits() {
    const planner::branch& b = v_.inputs[1];
    if (bare(b) && b.source && b.source->view) {
      detail::row_block rows;
      b.source->view(b.source->source.get(), rows);
      if (rows.n > most_right_) return nullptr;
    }
    shared_rows rows;
    try {
      rows = run_input(b, fields(true), run_);
    } catch (const out_of_memory&) {
      run_.context().cancel.check();
    }
    run_.supply(nullptr);
    run_.reset_status();
    return rows && rows->size() <= most_right_ ? rows : nullptr;
  }

  void join(const planner::branch& left, const std::vector<bool>& as_they_lie, const host_block* only, const shared_rows& right) {
    left_blocks blocks(left, as_they_lie, run_, results_.tables);
    const std::vector<bool> brought = only ? as_they_lie : fields_of_blocks(left, as_they_lie);
    block_input input(left, brought, v_.row()->size + beside_left_row, run_, only);
    if (!outer_) {
      blocks.join_by([&](const device_rows& rows) { return run_group_join_of(v_, rows, right, true, run_); });
      input.each(blocks);
      blocks.release();
    } else {
      outer_join_blocks join(v_, right, run_);
      blocks.join_by([&](const device_rows& rows) { return join.take(rows); });
      if (!only || only->rows.n) input.each(blocks);
      blocks.release();
      results_.tables.push_back(join.finish()->fetch(run_.context()));
    }
    forget_builds(run_.context());  // the next right side is another
  }

  void by_parts() {
    if (v_.ordered || v_.node->ordered) throw resource_error("gpu: memory: partitions do not keep the order that as_ordered() asks for");
    if (!same_on_device(left_row_) || !same_on_device(right_row_))
      throw resource_error("gpu: memory: rows that own memory are not parted for " + v_.node->label);
    const parting left = parted(0), right = parted(1);
    const planner::branch as_they_lie = behind(v_.inputs[0]);
    for (std::uint32_t first = 0; first < parting::parts_made;) {
      run_.context().cancel.check();
      std::uint32_t end = first + 1;
      std::size_t n = right.parts().size(first);
      for (; end < parting::parts_made && n + right.parts().size(end) <= most_right_; ++end) n += right.parts().size(end);
      const host_block lefts = side_by_side(left.parts(), first, end, left_row_, run_.context());
      if (lefts.rows.n || (outer_ && n))
        in_slices(as_they_lie, lefts, side_by_side(right.parts(), first, end, right_row_, run_.context()));
      first = end;
    }
  }
  parting parted(std::size_t side) {
    const planner::branch& b = v_.inputs[side];
    parting rows(b, *v_.node, v_.node->functions[side], run_);
    block_input(b, fields_of_blocks(b, all_fields(b.row)), 8, run_).each(rows);
    return rows;
  }

  // A right row keeps its partners apart from those of other right rows; a left row has to see all at once.
  void in_slices(const planner::branch& left, const host_block& lefts, const host_block& rights) {
    const bool slices = outer_ && v_.node->join == detail::join_kind::right;
    const std::size_t n = rights.rows.n, most = slices ? most_right_ : std::max<std::size_t>(n, 1);
    if (!slices && n > 2 * most_right_)
      throw resource_error("gpu: memory: the right rows of one key do not fit the device, which " + v_.node->label + " wants at once");
    for (std::size_t first = 0; first < n || first == 0; first += most) {
      const host_block slice_of = slice(rights, right_row_, first, std::min(most, n - first));
      const auto columns = choose_columns(right_row_, fields(true), false);
      const auto right = upload_rows(run_.shared_gpu(), slice_of.rows, right_row_, columns, run_.on(), run_.context());
      run_.on().synchronize(run_.context().cancel);
      join(left, fields(false), &lefts, right);
    }
  }

  const planner::vertex& v_;
  vertex_run& run_;
  const bool outer_;
  const ir::type *left_row_, *right_row_;
  std::size_t most_right_;
  block_results results_;
};

}  // namespace

block_results run_keyed_join_in_blocks(const planner::vertex& v, vertex_run& run) { return keyed_join(v, run).go(); }

// Left rows come in their order, and each meets all right rows in theirs.
block_results run_cross_join_in_blocks(const planner::vertex& v, vertex_run& run) {
  const planner::branch &b = v.inputs[0], &other = v.inputs[1];
  const std::vector<bool> whole = all_fields(b.row);
  const shared_rows right = run_input(other, all_fields(other.row), run);
  run.reset_status();
  const std::size_t share = run.gpu().memory().budget() / builds_of_budget, pair = v.row()->size;
  if (right->size() * other.row->size > share)
    throw resource_error("gpu: memory: the right side of " + v.node->label + " does not fit the device");
  const std::uint64_t most_pairs = std::max<std::uint64_t>(share / pair, 1), m = right->size();
  // Of a left row, as many right rows as fit; of several, all.
  const std::uint64_t lefts = m ? std::max<std::uint64_t>(most_pairs / m, 1) : ~0ull, rights = std::min(m, most_pairs);
  block_results results;
  class pairing final : public block_consumer {
   public:
    explicit pairing(std::function<void()> f) : f_(std::move(f)) {}
    void take() override { f_(); }

   private:
    std::function<void()> f_;
  };
  pairing pairs([&] {
    const shared_rows left = rows_of_block(b, whole, run);
    std::vector<detail::table> tables;  // nothing of a block that lacks memory
    for (std::uint64_t i = 0; m && i < left->size(); i += lefts) {
      for (std::uint64_t j = 0; j < m; j += rights) {
        run.context().cancel.check();
        run.reset_status();
        const auto some = slice(run.shared_gpu(), left, i, std::min(lefts, left->size() - i)),
                   others = slice(run.shared_gpu(), right, j, std::min(rights, m - j));
        tables.push_back(run_cross_join_of(v, *some, *others, run)->fetch(run.context()));
      }
    }
    for (detail::table& t : tables) results.tables.push_back(std::move(t));
  });
  block_input(b, fields_of_blocks(b, whole), 8, run).each(pairs);
  return results;
}

}  // namespace query::gpu_engine
