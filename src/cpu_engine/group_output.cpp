#include "cpu_engine/group_output.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include <query/detail/stop.hpp>

#include "cpu_engine/group_results.hpp"
#include "cpu_engine/positioned_rows.hpp"
#include "cpu_engine/stored_sequence.hpp"
#include "cpu_engine/table_list.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t result_share = 16;  // of the session's memory, for results before they go to a store
constexpr std::size_t most_result_bytes = std::size_t{64} << 20;

struct placed_row {
  std::uint64_t place;
  void* row;
};

// Moves the rows into a table, by their places, with what they own.
detail::table rows_in_order(std::vector<placed_row> rows, heap_charge heap, const ir::type* type, runtime::buffer_pool& pool) {
  const detail::stop_point stop;
  std::sort(rows.begin(), rows.end(), [&](const placed_row& a, const placed_row& b) {
    stop.check();
    return a.place < b.place;
  });
  rows_buffer out(type, pool);
  out.reserve(std::max<std::size_t>(1, rows.size()));
  heap_charge none;
  detail::in_runs(0, rows.size(), [&](std::size_t i, std::size_t end) {
    for (; i < end; ++i) {
      move_rows(type, out.extend(1), rows[i].row, 1);
      out.grow(1, none);
    }
  });
  out.heap().take(heap);
  return std::move(out).to_table();
}

class columns_in_memory final : public group_output {
 public:
  columns_in_memory(const planner::vertex& v, const pipeline& from, std::size_t partitions)
      : v_(&v), sources_(from.sources()), results_(v, from.context()), pieces_(partitions) {}
  void take(std::size_t p, std::unique_ptr<group_table> groups, std::vector<std::uint64_t>) override {
    pieces_[p].push_back(results_.of(std::move(groups)));
  }
  runtime::vertex_rows rows(bool) override {
    std::vector<column_list::piece> all;
    for (auto& of : pieces_)
      for (auto& piece : of) all.push_back(std::move(piece));
    return runtime::vertex_rows(
        std::make_shared<column_list>(v_->node->row, v_->gives_columns->schema(), std::move(all), std::move(sources_)));
  }

 private:
  const planner::vertex* v_;
  std::vector<std::shared_ptr<const void>> sources_;
  group_results results_;
  std::vector<std::vector<column_list::piece>> pieces_;
};

// Tables, partition by partition. Where what the results own takes too much, a store of the same rows in the same order.
class records_in_memory final : public group_output {
 public:
  records_in_memory(const planner::vertex& v, runtime::run_context& context, std::size_t partitions)
      : v_(&v), context_(&context), pool_(&context.pool), firsts_(partitions), writers_(partitions) {
    for (std::size_t p = 0; p < partitions; ++p) results_.emplace_back(v.node->row, *pool_);
    may_leave_ = !v.ordered && context.temp && !context.shared && stored_sequence::can_keep(v.node->row) &&
                 heap_charge::counts(*v.node->row, context.pool);
  }
  void take(std::size_t p, std::unique_ptr<group_table> groups, std::vector<std::uint64_t> opened) override {
    if (v_->ordered) firsts_[p].push_back(std::move(opened));
    rows_buffer& rows = results_[p];
    const std::size_t before = rows.heap().bytes();
    groups->finish(rows);
    if (!may_leave_) return;
    groups.reset();
    if ((heap_bytes_ += rows.heap().bytes() - before) > pool_->limit() / result_share) to_store(p);
  }
  void end_partition(std::size_t p) override {
    if (writers_[p]) writers_[p]->finish();
    writers_[p].reset();
  }
  runtime::vertex_rows rows(bool) override {
    if (v_->ordered) return in_order();
    if (store_) return stored();
    std::vector<detail::table> all;
    for (rows_buffer& r : results_)
      if (r.size()) all.push_back(std::move(r).to_table());
    return runtime::vertex_rows(std::make_shared<table_list>(v_->node->row, std::move(all)));
  }

 private:
  // Only the task that has the partition calls this.
  void to_store(std::size_t p) {
    {
      const std::lock_guard hold(lock_);
      if (!store_) store_ = std::make_shared<stored_sequence>(v_->node->row, nullptr, results_.size(), *context_);
    }
    if (!writers_[p]) writers_[p] = std::make_unique<stored_sequence::writer>(*store_, p);
    detail::row_block all;
    all.rows = results_[p].data();
    all.n = results_[p].size();
    all.owned = true;
    writers_[p]->push(all);
    results_[p].clear();
  }
  runtime::vertex_rows stored() {
    for (std::size_t p = 0; p < results_.size(); ++p) {
      if (results_[p].size()) to_store(p);  // as the partition ended before there was a store
      end_partition(p);
    }
    store_->finish(*context_);
    return runtime::vertex_rows(store_);
  }
  detail::table in_order() {
    std::vector<placed_row> order;
    for (std::size_t p = 0; p < results_.size(); ++p) {
      std::size_t at = 0;
      for (const auto& of : firsts_[p])
        for (const std::uint64_t first : of) order.push_back({first, results_[p].at(at++)});
    }
    heap_charge heap;
    for (rows_buffer& r : results_) heap.take(r.heap());
    return rows_in_order(std::move(order), std::move(heap), v_->node->row, *pool_);
  }

  const planner::vertex* v_;
  runtime::run_context* context_;
  runtime::buffer_pool* pool_;
  bool may_leave_;
  std::vector<rows_buffer> results_;
  std::vector<std::vector<std::vector<std::uint64_t>>> firsts_;  // where the groups of a result appeared first, for as_ordered
  std::atomic<std::size_t> heap_bytes_ = 0;  // that results own
  std::mutex lock_;
  std::shared_ptr<stored_sequence> store_;
  std::vector<std::unique_ptr<stored_sequence::writer>> writers_;
};

// Of results that may be too large: in memory while they are small, then in a store, in the order that they have in memory.
class records_beyond_memory final : public group_output {
 public:
  records_beyond_memory(const planner::vertex& v, const group_places& places, const vertex_tasks& tasks)
      : v_(&v),
        places_(places),
        tasks_(&tasks),
        most_bytes_(std::min(most_result_bytes, tasks.pool().limit() / result_share)),
        writers_(places.partitions) {
    if (v.gives_columns) results_.emplace(v, tasks.context());
  }
  void take(std::size_t p, std::unique_ptr<group_table> groups, std::vector<std::uint64_t> opened) override {
    const std::size_t size = v_->node->row->size;
    rows_buffer rows = records(std::move(groups));
    rows_ += rows.size();
    heap_bytes_ += rows.heap().bytes();
    if ((bytes_ += rows.size() * size + rows.heap().bytes()) > most_bytes_) {
      begin_store();
      append(p, rows, opened);
      return;
    }
    const std::lock_guard hold(lock_);
    if (store_) append(p, rows, opened);
    else held_.push_back({p, std::move(rows), std::move(opened)});
  }
  void end_partition(std::size_t p) override {
    if (writers_[p]) writers_[p]->finish();
    writers_[p].reset();
  }
  runtime::vertex_rows rows(bool few) override {
    if (!store_) return in_order(few);
    store_->finish();
    if (few && places_.order_bits) store_ = by_first_appearance();
    return runtime::vertex_rows(store_);
  }

 private:
  struct some_rows {
    std::size_t partition;
    rows_buffer rows;
    std::vector<std::uint64_t> opened;
  };

  rows_buffer records(std::unique_ptr<group_table> groups) const {
    const ir::type* const row = v_->node->row;
    rows_buffer out(row, tasks_->pool());
    if (!results_) {
      groups->finish(out);
      return out;
    }
    const column_list::piece piece = results_->of(std::move(groups));
    const planner::column_schema schema = v_->gives_columns->schema();
    std::vector<column> columns;
    out.reserve(piece.n);
    for (std::size_t from = 0; from < piece.n; from += column_batch_rows) {
      const std::size_t n = std::min(column_batch_rows, piece.n - from);
      columns.clear();
      for (const column& c : piece.columns) columns.push_back(part_of(c, from));
      void* const at = out.extend(n);
      if (row->life.construct) row->life.construct(at, n);
      out.grow(n);
      assemble_rows(schema, {columns, n}, at, row->size);
      out.heap().add(*row, at, n, tasks_->pool());
    }
    return out;
  }
  // Most of the memory in use now goes to files, or is given back, before the result is read.
  std::shared_ptr<positioned_rows> new_store(std::uint64_t end, std::uint64_t expected, std::size_t parts) const {
    const std::size_t row_heap = heap_bytes_ / std::max<std::size_t>(1, rows_);
    return std::make_shared<positioned_rows>(*v_, *tasks_, nullptr, end, expected, parts, tasks_->pool().limit() / 4 * 3, row_heap);
  }
  // Moves the rows held so far to the store, once.
  void begin_store() {
    const std::lock_guard hold(lock_);
    if (store_) return;
    store_ = new_store(places_.end(), places_.opened, places_.partitions + 1);
    positioned_rows::writer before(*store_, places_.partitions);
    for (some_rows& some : held_) {
      append(before, some.partition, some.rows, some.opened);
      some.rows.clear();
    }
    before.finish();
    held_.clear();
  }
  // Only the task that has the partition calls this.
  void append(std::size_t p, rows_buffer& rows, std::vector<std::uint64_t>& opened) {
    if (!writers_[p]) writers_[p] = std::make_unique<positioned_rows::writer>(*store_, p);
    append(*writers_[p], p, rows, opened);
  }
  void append(positioned_rows::writer& to, std::size_t p, rows_buffer& rows, std::vector<std::uint64_t>& opened) {
    for (std::uint64_t& at : opened) at = places_.of(p, at);
    append(to, rows.data(), rows.size(), opened.data());
    const std::lock_guard hold(lock_of_places_);
    if (stored_places_.size() <= places_.few) stored_places_.insert(stored_places_.end(), opened.begin(), opened.end());
  }
  void append(positioned_rows::writer& to, const void* rows, std::size_t n, const std::uint64_t* positions) const {
    const std::size_t size = v_->node->row->size;
    const column all{rows, size, 0, size, nullptr, true};
    to.append({&all, 1}, n, positions, true);
  }
  // The rows that the store has, of few groups, in the order of these alone.
  std::shared_ptr<positioned_rows> by_first_appearance() {
    std::sort(stored_places_.begin(), stored_places_.end());
    for (std::uint64_t& place : stored_places_) place %= places_.opened;
    const auto to = new_store(places_.opened, stored_places_.size(), 1);
    positioned_rows::writer writer(*to, 0);
    table_pass pass(store_, tasks_->context());
    const std::uint64_t* at = stored_places_.data();
    for (detail::table rows; pass.next(rows); at += rows.n) append(writer, rows.rows, rows.n, at);
    writer.finish();
    to->finish();
    return to;
  }
  detail::table in_order(bool few) {
    std::vector<placed_row> order;
    for (some_rows& some : held_)
      for (std::size_t i = 0; i < some.rows.size(); ++i)
        order.push_back({few ? some.opened[i] : places_.of(some.partition, some.opened[i]), some.rows.at(i)});
    heap_charge heap;
    for (some_rows& some : held_) heap.take(some.rows.heap());
    return rows_in_order(std::move(order), std::move(heap), v_->node->row, tasks_->pool());
  }

  const planner::vertex* v_;
  group_places places_;
  const vertex_tasks* tasks_;
  std::size_t most_bytes_;
  std::atomic<std::size_t> bytes_ = 0, rows_ = 0, heap_bytes_ = 0;
  std::optional<group_results> results_;
  std::mutex lock_;  // guards what follows, but for the writers of partitions
  std::vector<some_rows> held_;
  std::shared_ptr<positioned_rows> store_;
  std::vector<std::unique_ptr<positioned_rows::writer>> writers_;
  std::mutex lock_of_places_;
  std::vector<std::uint64_t> stored_places_;  // of rows in the store, unless they are too many to be few groups
};

}  // namespace

std::unique_ptr<group_output> groups_in_memory(const planner::vertex& v, const pipeline& from, std::size_t partitions) {
  if (v.gives_columns) return std::make_unique<columns_in_memory>(v, from, partitions);
  return std::make_unique<records_in_memory>(v, from.context(), partitions);
}
std::unique_ptr<group_output> groups_beyond_memory(const planner::vertex& v, const group_places& places, const vertex_tasks& tasks) {
  return std::make_unique<records_beyond_memory>(v, places, tasks);
}

}  // namespace query::cpu
