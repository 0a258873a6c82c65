#include "cpu_engine/group_partitions.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "cpu_engine/group_results.hpp"
#include "cpu_engine/key_column.hpp"
#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/partition_store.hpp"
#include "cpu_engine/table_list.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

namespace {

// The rows of a group_by in a partition store, as columns, or as records with their keys beside them unless these are a part of the record.
class parted_rows {
 public:
  parted_rows(const planner::vertex& v, pipeline& rows, unsigned bits, const function_calls& key, const column_key* columns)
      : node_(v.node),
        context_(&rows.context()),
        bits_(bits),
        equality_(equality_of(v.node->keys)),
        key_(&key),
        columns_(columns),
        resident_(rows.in_place()),
        key_at_(columns ? std::nullopt : part_of_row(v.node->functions[0])),
        hashes_(columns && grouper(v.node->key, context_->pool, equality_).hashes()),
        store_(columns ? read_columns(v, *rows.columns(), hashes_) : records(rows.row()), bits, rows.parts().value_or(1), v.ordered,
               *context_) {
    rows.run_all([&](const pipeline::part& part) {
      partition_writer to(store_, part.index);
      if (columns_) {
        column_sink_of sink(*this, to);
        part.run_columns(sink);
      } else {
        record_sink_of sink(*this, to);
        part.run(sink);
      }
      to.finish();
    });
  }

  std::uint64_t rows_of(std::size_t partition) const { return store_.rows_of(partition); }
  void release(std::size_t partition) { store_.release(partition); }
  void feed(std::size_t partition, group_table& to, std::vector<std::uint64_t>* opened) {
    const detail::stop_point stop;
    store_.read(partition, [&](const stored_rows& r) {
      stop.check();
      if (hashes_)
        to.update({r.rows.columns.first(r.rows.columns.size() - 1), r.rows.n},
                  static_cast<const std::uint64_t*>(r.rows.columns.back().base));
      else if (columns_) to.update(r.rows);
      else update_records(r.rows, to);
      if (opened) to.note_opened(r.rows.n, *opened, [&](std::size_t i) { return r.first + r.positions[i]; });
    });
  }

 private:
  // Finds the partition of each row, and hands the rows to a writer.
  class parting {
   public:
    parting(const parted_rows& of, partition_writer& to) : of_(&of), to_(&to) {}
    void append(key_view keys, std::span<const column> columns, std::size_t n, bool owned) {
      hash_keys(*of_->node_->key, keys, 0, n, hashes_, of_->equality_);
      for (std::size_t i = 0; i < n; ++i) partitions_[i] = static_cast<std::uint16_t>(hashes_[i] >> (64 - of_->bits_));
      if (of_->hashes_) {
        with_hashes_.assign(columns.begin(), columns.end());
        with_hashes_.push_back({hashes_, sizeof *hashes_, 0, sizeof *hashes_, nullptr, true});
        columns = with_hashes_;
      }
      to_->append(columns, n, partitions_, owned);
    }

   private:
    const parted_rows* of_;
    partition_writer* to_;
    std::uint64_t hashes_[batch_rows];
    std::uint16_t partitions_[batch_rows];
    std::vector<column> with_hashes_;
  };
  class column_sink_of final : public column_sink {
   public:
    column_sink_of(const parted_rows& of, partition_writer& to) : parting_(of, to), keys_(*of.columns_, of.context_->pool) {}
    void push(const column_batch& b) override { parting_.append(keys_.run(b), b.columns, b.n, false); }

   private:
    parting parting_;
    column_key::runner keys_;
  };
  class record_sink_of final : public detail::batch_sink {
   public:
    record_sink_of(const parted_rows& of, partition_writer& to) : of_(&of), parting_(of, to), keys_(of.node_->key, of.context_->pool) {}
    void push(const detail::row_block& b) override {
      const std::size_t size = of_->node_->functions[0].row->size, key_size = of_->node_->key->size;
      for (std::size_t from = 0; from < b.n; from += batch_rows) {
        const std::size_t n = std::min(batch_rows, b.n - from);
        const auto* const rows = static_cast<const std::byte*>(b.rows) + from * size;
        column columns[2] = {{rows, size, 0, size, nullptr, !of_->resident_}, {}};
        if (of_->key_at_) {
          const key_part key{of_->node_->key, 0, rows + *of_->key_at_, size};
          parting_.append({&key, 1}, {columns, 1}, n, b.owned);
          continue;
        }
        keys_.clear();
        of_->key_->map(rows, nullptr, n, keys_.extend(n), scratch_);
        keys_.grow(n);
        const key_part key = side_by_side(*of_->node_->key, keys_.data());
        columns[1] = {keys_.data(), key_size, 0, key_size, nullptr, true};
        parting_.append({&key, 1}, columns, n, b.owned);
      }
    }

   private:
    const parted_rows* of_;
    parting parting_;
    rows_buffer keys_;
    interpreter::scratch scratch_;
  };

  void update_records(const column_batch& b, group_table& to) const {
    const column& rows = b.columns[0];
    key_part keys = side_by_side(*node_->key, nullptr);
    const column& from = key_at_ ? rows : b.columns[1];
    keys.base = static_cast<const std::byte*>(from.base) + key_at_.value_or(0);
    keys.stride = from.stride;
    keys.select = from.select;
    to.update_keyed(rows.base, rows.select, keys, b.n);
  }

  planner::column_schema records(const ir::type* row) const {
    if (key_at_) return {{{0, row}}};
    return {{{0, row}, {0, node_->key}}};
  }
  // Those that the key and the aggregates read, and the hashes of the keys behind them.
  static planner::column_schema read_columns(const planner::vertex& v, planner::column_schema rows, bool hashes) {
    std::vector<bool> read(rows.columns.size(), false);
    const auto key = planner::project(v.node->functions[0], rows);
    planner::mark_read(key->function.expression.root, rows, read);
    for (const ir::aggregate_call& c : v.group_function->calls)
      if (c.argument) planner::mark_read(c.argument, rows, read);
    for (std::size_t c = 0; c < read.size(); ++c)
      if (!read[c]) rows.columns[c].type = nullptr;
    if (hashes) rows.columns.push_back({0, ir::describe<std::uint64_t>()});
    return rows;
  }

  const detail::logical* node_;
  runtime::run_context* context_;
  unsigned bits_;
  key_equality equality_;
  const function_calls* key_;
  const column_key* columns_;
  bool resident_;                       // records: they stay where they are
  std::optional<std::size_t> key_at_;   // records: where the key lies in each
  bool hashes_;                         // of keys are kept beside the rows, for the tables of groups
  partition_store store_;
};

}  // namespace

// The groups that tables have keep their states: no function of the user's sees a row twice.
runtime::vertex_rows group_partitioned(const planner::vertex& v, std::vector<std::unique_ptr<group_table>> tables, pipeline& rest,
                                       const group_program& program, const function_calls& key, const column_key* columns) {
  runtime::run_context& context = rest.context();
  const detail::logical& n = *v.node;
  const vertex_tasks tasks(context, v.captures);
  std::vector<std::size_t> before;  // groups of the tables before each
  std::size_t known_groups = 0;
  for (const auto& t : tables) {
    before.push_back(known_groups);
    known_groups += t->groups.size();
  }
  const std::uint64_t done = rest.next_part() * rest.rows_a_part(), all = rest.source_rows().value_or(0);
  const std::uint64_t left = all > done ? all - done : 0, work = left + known_groups;
  const unsigned bits = work < (1u << 22) ? 6 : work < (1u << 26) ? 8 : work < (1u << 30) ? 10 : 12;
  const std::size_t partitions = std::size_t{1} << bits;
  const key_equality equality = equality_of(n.keys);
  const auto partition_of = [&](std::uint64_t h) { return static_cast<std::size_t>(h >> (64 - bits)); };

  std::optional<parted_rows> rows;
  if (left) rows.emplace(v, rest, bits, key, columns);
  std::vector<std::vector<std::vector<std::uint32_t>>> groups_of(tables.size());  // each table's, by partition
  tasks.for_each(tables.size(), [&](std::size_t t) {
    const grouper& groups = tables[t]->groups;
    groups_of[t].resize(partitions);
    for (std::size_t from = 0; from < groups.size(); from += batch_rows) {
      std::uint64_t hashes[batch_rows];
      const std::size_t k = std::min(batch_rows, groups.size() - from);
      hash_keys(*n.key, groups.stored(), from, k, hashes, equality);
      for (std::size_t i = 0; i < k; ++i) groups_of[t][partition_of(hashes[i])].push_back(static_cast<std::uint32_t>(from + i));
    }
  });

  std::optional<group_results> in_columns;
  if (v.gives_columns) in_columns.emplace(v, context);
  std::vector<column_list::piece> pieces(in_columns ? partitions : 0);
  std::vector<rows_buffer> results;
  for (std::size_t p = 0; p < partitions; ++p) results.emplace_back(n.row, context.pool);
  // Where the group of the result appeared first, for as_ordered: the number of a group of a table, or of a row, which are larger.
  std::vector<runtime::buffer> firsts(partitions);
  // In this order, whatever the order of the tasks: rows give memory back band by band.
  std::atomic<std::size_t> next_partition{0};
  tasks.for_each(partitions, [&](std::size_t) {
    const std::size_t p = next_partition.fetch_add(1, std::memory_order_relaxed);
    if ((rows && rows->rows_of(p)) || std::any_of(groups_of.begin(), groups_of.end(), [&](const auto& of) { return !of[p].empty(); })) {
      auto table = std::make_unique<group_table>(n, program, key, context.pool, columns);
      group_table& t = *table;
      t.groups.expect_sparse();
      std::vector<std::uint64_t> opened;
      std::vector<std::uint64_t>* const note = v.ordered ? &opened : nullptr;
      for (std::size_t i = 0; i < tables.size(); ++i) t.merge(*tables[i], groups_of[i][p].data(), groups_of[i][p].size(), note, before[i]);
      if (rows) rows->feed(p, t, note);
      if (v.ordered) {
        firsts[p] = context.pool.allocate_array<std::uint64_t>(opened.size());
        std::copy(opened.begin(), opened.end(), firsts[p].as<std::uint64_t>());
      }
      if (rows) rows->release(p);
      if (in_columns) pieces[p] = in_columns->of(std::move(table));
      else t.finish(results[p]);
    } else if (rows) {
      rows->release(p);
    }
  });

  rows.reset();
  tables.clear();
  if (in_columns) {
    std::erase_if(pieces, [](const column_list::piece& p) { return p.n == 0; });
    return runtime::vertex_rows(
        std::make_shared<column_list>(n.row, v.gives_columns->schema(), std::move(pieces), rest.sources()));
  }
  if (!v.ordered) {
    std::vector<detail::table> all;
    for (rows_buffer& r : results)
      if (r.size()) all.push_back(std::move(r).to_table());
    return runtime::vertex_rows(std::make_shared<table_list>(n.row, std::move(all)));
  }
  struct origin {
    std::uint64_t first;
    std::uint32_t partition, position;
  };
  std::vector<origin> order;
  for (std::size_t p = 0; p < partitions; ++p)
    for (std::size_t i = 0; i < results[p].size(); ++i)
      order.push_back({firsts[p].as<std::uint64_t>()[i], static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(i)});
  const detail::stop_point stop;
  std::sort(order.begin(), order.end(), [&](const origin& a, const origin& b) {
    stop.check();
    return a.first < b.first;
  });
  rows_buffer out(n.row, context.pool);
  out.reserve(std::max<std::size_t>(1, order.size()));
  detail::in_runs(0, order.size(), [&](std::size_t i, std::size_t end) {
    for (; i < end; ++i) out.take_rows(results[order[i].partition].at(order[i].position), 1);
  });
  return std::move(out).to_table();
}

}  // namespace query::cpu
