#include "cpu_engine/group_output.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
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

// Sorts runs that are mostly in order already: the groups of a table are numbered as they appear.
void sort_by_place(std::vector<placed_row>& rows, std::vector<std::size_t> begins) {
  const detail::stop_point stop;
  const auto before = [&](const placed_row& a, const placed_row& b) {
    stop.check();
    return a.place < b.place;
  };
  const auto at = [&](std::size_t i) { return rows.begin() + static_cast<std::ptrdiff_t>(begins[i]); };
  begins.push_back(rows.size());
  for (std::size_t i = 0; i + 1 < begins.size(); ++i)
    if (!std::is_sorted(at(i), at(i + 1), before)) std::sort(at(i), at(i + 1), before);
  for (std::size_t step = 1; step + 1 < begins.size(); step *= 2)
    for (std::size_t i = 0; i + step + 1 < begins.size(); i += 2 * step)
      std::inplace_merge(at(i), at(i + step), at(std::min(i + 2 * step, begins.size() - 1)), before);
}

// Moves the rows into a buffer, by their places, with what they own.
rows_buffer rows_in_order(const std::vector<placed_row>& rows, heap_charge heap, const ir::type* type, runtime::buffer_pool& pool) {
  rows_buffer out(type, pool);
  out.reserve(std::max<std::size_t>(1, rows.size()));
  heap_charge none;
  detail::in_runs(0, rows.size(), [&](std::size_t i, std::size_t end) {
    if (type->trivial) {
      auto* to = static_cast<std::byte*>(out.extend(end - i));
      out.grow(end - i, none);
      for (; i < end; ++i, to += type->size) std::memcpy(to, rows[i].row, type->size);
      return;
    }
    for (; i < end; ++i) {
      move_rows(type, out.extend(1), rows[i].row, 1);
      out.grow(1, none);
    }
  });
  out.heap().take(heap);
  return out;
}

class columns_in_memory final : public group_output {
 public:
  columns_in_memory(const planner::vertex& v, runtime::run_context& context, std::vector<std::shared_ptr<const void>> sources,
                    std::size_t partitions)
      : v_(&v), sources_(std::move(sources)), results_(v, context), pieces_(partitions) {}
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
    std::vector<std::size_t> begins;
    for (std::size_t p = 0; p < results_.size(); ++p) {
      std::size_t at = 0;
      for (const auto& of : firsts_[p]) {
        begins.push_back(order.size());
        for (const std::uint64_t first : of) order.push_back({first, results_[p].at(at++)});
      }
    }
    heap_charge heap;
    for (rows_buffer& r : results_) heap.take(r.heap());
    sort_by_place(order, std::move(begins));
    return rows_in_order(order, std::move(heap), v_->node->row, *pool_).to_table();
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

// Of results that may be too large: in memory while they are small, then in a store, in the order that they have in memory. The groups of
// a unit, whose places begin with the same bits of the hash, are put in order when its last partition ends; where they are too many for
// that, they are put apart by their places.
class records_beyond_memory final : public group_output {
 public:
  records_beyond_memory(const planner::vertex& v, const group_places& places, const vertex_tasks& tasks)
      : v_(&v),
        places_(places),
        tasks_(&tasks),
        most_bytes_(std::min(most_result_bytes, tasks.pool().limit() / result_share)),
        units_(places.units()),
        writers_(places.partitions) {
    if (v.gives_columns) results_.emplace(v, tasks.context());
  }
  void take(std::size_t p, std::unique_ptr<group_table> groups, std::vector<std::uint64_t> opened) override {
    rows_buffer rows = records(std::move(groups));
    const std::size_t bytes = rows.size() * v_->node->row->size + rows.heap().bytes();
    rows_ += rows.size();
    heap_bytes_ += rows.heap().bytes();
    unit& u = units_[places_.unit_of(p)];
    std::unique_lock hold(u.lock);
    if (!u.apart && (u.bytes += bytes) > most_bytes_) {
      u.apart = new_store(places_.opened, places_.opened / units_.size(), places_.partitions_of_unit() + 1);
      positioned_rows::writer before(*u.apart, places_.partitions_of_unit());
      for (placed_rows& some : u.held) {
        append(before, some.rows, some.places);
        note_places(places_.unit_of(p), some.places);
      }
      before.finish();
      u.held.clear();
    }
    if (!u.apart) {
      u.held.push_back({std::move(rows), std::move(opened)});
      return;
    }
    hold.unlock();
    // Only the task that has the partition uses its writer.
    if (!writers_[p]) writers_[p] = std::make_unique<positioned_rows::writer>(*u.apart, p % places_.partitions_of_unit());
    append(*writers_[p], rows, opened);
    note_places(places_.unit_of(p), opened);
  }
  void end_partition(std::size_t p) override {
    if (writers_[p]) writers_[p]->finish();
    writers_[p].reset();
    if (units_.size() > 1 && (p + 1) % places_.partitions_of_unit() == 0) end_unit(places_.unit_of(p));
  }
  runtime::vertex_rows rows(bool few) override {
    if (units_.size() == 1) {
      if (units_[0].apart) return runtime::vertex_rows(close(units_[0].apart));
      return in_order(units_[0].held).rows.to_table();
    }
    if (!store_) {
      for (std::size_t u = 0; u < units_.size(); ++u)
        for (placed_rows& some : units_[u].held)
          for (std::uint64_t& place : some.places) place += few ? 0 : u * places_.opened;
      std::vector<placed_rows> all;
      for (unit& u : units_)
        for (placed_rows& some : u.held) all.push_back(std::move(some));
      return in_order(all).rows.to_table();
    }
    store_->finish(tasks_->context());
    if (few) return runtime::vertex_rows(by_first_appearance());
    return runtime::vertex_rows(store_);
  }

 private:
  struct placed_rows {
    rows_buffer rows;
    std::vector<std::uint64_t> places;  // in their unit
  };
  struct unit {
    std::mutex lock;  // guards what follows
    std::vector<placed_rows> held;
    std::size_t bytes = 0;
    std::shared_ptr<positioned_rows> apart;  // where they are too many
  };

  static std::shared_ptr<positioned_rows> close(std::shared_ptr<positioned_rows> rows) {
    rows->finish();
    return rows;
  }
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
  std::size_t row_heap() const { return heap_bytes_ / std::max<std::size_t>(1, rows_); }
  // Most of the memory in use now goes to files, or is given back, before the result is read.
  std::shared_ptr<positioned_rows> new_store(std::uint64_t end, std::uint64_t expected, std::size_t parts) const {
    return std::make_shared<positioned_rows>(*v_, *tasks_, nullptr, end, expected, parts, tasks_->pool().limit() / 4 * 3, row_heap());
  }
  void append(positioned_rows::writer& to, rows_buffer& rows, const std::vector<std::uint64_t>& places) const {
    append(to, rows.data(), rows.size(), places.data());
    rows.clear();
  }
  void append(positioned_rows::writer& to, const void* rows, std::size_t n, const std::uint64_t* places) const {
    const std::size_t size = v_->node->row->size;
    const column all{rows, size, 0, size, nullptr, true};
    to.append({&all, 1}, n, places, true);
  }
  placed_rows in_order(std::vector<placed_rows>& some) const {
    std::vector<placed_row> order;
    std::vector<std::size_t> begins;
    heap_charge heap;
    for (placed_rows& of : some) {
      begins.push_back(order.size());
      for (std::size_t i = 0; i < of.rows.size(); ++i) order.push_back({of.places[i], of.rows.at(i)});
      heap.take(of.rows.heap());
    }
    sort_by_place(order, std::move(begins));
    placed_rows all{rows_in_order(order, std::move(heap), v_->node->row, tasks_->pool()), {}};
    for (const placed_row& r : order) all.places.push_back(r.place);
    some.clear();
    return all;
  }
  // Only the task that had the unit's partitions calls this.
  void end_unit(std::size_t u) {
    unit& of = units_[u];
    placed_rows all{rows_buffer(v_->node->row, tasks_->pool()), {}};
    if (!of.apart) all = in_order(of.held);
    const std::size_t bytes = all.rows.size() * v_->node->row->size + all.rows.heap().bytes();
    std::unique_lock hold(lock_);
    if (!store_ && !of.apart && (bytes_ += bytes) <= most_bytes_) {
      of.held.push_back(std::move(all));
      kept_.push_back(u);
      return;
    }
    if (!store_) {
      store_ = std::make_shared<stored_sequence>(v_->node->row, nullptr, units_.size(), tasks_->context(),
                                                 std::vector<std::shared_ptr<const void>>(), row_heap());
      for (const std::size_t before : kept_) {
        for (placed_rows& rows : units_[before].held) to_store(before, rows);
        units_[before].held.clear();
      }
    }
    hold.unlock();
    if (!of.apart) return to_store(u, all);
    stored_sequence::writer to(*store_, u);
    {
      table_pass pass(close(std::move(of.apart)), tasks_->context());
      for (detail::table rows; pass.next(rows);) to_store(to, const_cast<void*>(rows.rows), rows.n);
    }
    to.finish();
  }
  // Appends rows that are in order; the rows of a unit come from one task.
  void to_store(stored_sequence::writer& to, void* rows, std::size_t n) const {
    detail::row_block all;
    all.rows = rows;
    all.n = n;
    all.owned = true;
    to.push(all);
  }
  void to_store(std::size_t u, placed_rows& all) {
    stored_sequence::writer to(*store_, u);
    to_store(to, all.rows.data(), all.rows.size());
    to.finish();
    all.rows.clear();
    note_places(u, all.places);
  }
  void note_places(std::size_t u, const std::vector<std::uint64_t>& places) {
    const std::lock_guard hold(lock_of_places_);
    if (places_.few && stored_places_.size() <= places_.few)
      for (const std::uint64_t place : places) stored_places_.push_back(u * places_.opened + place);
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
    return close(to);
  }

  const planner::vertex* v_;
  group_places places_;
  const vertex_tasks* tasks_;
  std::size_t most_bytes_;
  std::atomic<std::size_t> rows_ = 0, heap_bytes_ = 0;
  std::optional<group_results> results_;
  std::vector<unit> units_;
  std::vector<std::unique_ptr<positioned_rows::writer>> writers_;  // by partition, where its unit is put apart
  std::mutex lock_;  // guards what follows
  std::size_t bytes_ = 0;  // that units hold in memory
  std::vector<std::size_t> kept_;  // these units
  std::shared_ptr<stored_sequence> store_;
  std::mutex lock_of_places_;
  std::vector<std::uint64_t> stored_places_;  // of rows in the store, unless they are too many to be few groups
};

}  // namespace

std::unique_ptr<group_output> groups_in_memory(const planner::vertex& v, runtime::run_context& context,
                                               std::vector<std::shared_ptr<const void>> sources, std::size_t partitions) {
  if (v.gives_columns) return std::make_unique<columns_in_memory>(v, context, std::move(sources), partitions);
  return std::make_unique<records_in_memory>(v, context, partitions);
}
std::unique_ptr<group_output> groups_beyond_memory(const planner::vertex& v, const group_places& places, const vertex_tasks& tasks) {
  return std::make_unique<records_beyond_memory>(v, places, tasks);
}

}  // namespace query::cpu
