#include "cpu_engine/group_partitions.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cpu_engine/group_order.hpp"
#include "cpu_engine/group_output.hpp"
#include "cpu_engine/key_column.hpp"
#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/partial_groups.hpp"
#include "cpu_engine/vertex_tasks.hpp"
#include "ir/owning_states.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t table_share = 16;    // of the session's memory, for the groups of one table
constexpr std::size_t most_lanes = 4;      // tables at once, where memory is short
constexpr unsigned most_bits_by_memory = 10;
constexpr std::uint64_t every_hash = ~std::uint64_t{0};

// About what a group takes in its table while that grows, and each row of it, where states keep their rows' values.
std::size_t bytes_a_group(const detail::logical& n) { return 64 + 3 * n.key->size + 2 * std::max<std::size_t>(n.aggregate.state_size, 32); }
std::size_t bytes_a_row(const planner::vertex& v) {
  constexpr std::size_t kept_value = 32;  // a list doubles when it grows
  if (!v.group_function) return v.node->states_own_memory ? kept_value : 0;
  for (const ir::aggregate_call& c : v.group_function->calls)
    if (!ir::fixed_state(c.what)) return kept_value;
  return 0;
}

// Hashes, less the bits of their partition.
struct hash_range {
  std::uint64_t from = 0, to = every_hash;
  bool all() const { return from == 0 && to == every_hash; }
  bool has(std::uint64_t hash, unsigned bits) const {
    const std::uint64_t rest = hash << bits;
    return rest >= from && rest <= to;
  }
};

class grouped_partitions {
 public:
  grouped_partitions(const planner::vertex& v, group_input input, const group_program& program, const function_calls& key,
                     const column_key* columns, const vertex_tasks& tasks)
      : v_(&v),
        input_(std::move(input)),
        program_(&program),
        key_(&key),
        columns_(columns),
        tasks_(&tasks),
        hash_(*v.node->key, equality_of(v.node->keys)),
        bits_(input_.rows ? input_.rows->bits() : std::max(input_.order_bits, least_order_bits)) {
    if (tight()) {
      const double most = static_cast<double>(tasks.pool().limit() / table_share) / static_cast<double>(bytes_a_group(*v.node));
      const bool grow = v.group_function && ir::keeps_owned_memory(*v.group_function, *v.node->functions[0].row);
      most_groups_ = std::max<double>(grow ? 1 : 1 << 10, most);
      if (grow) groups_a_row_ = heap_a_row() / static_cast<double>(bytes_a_group(*v.node));
    }
    number();
    put_groups_apart();
  }

  std::size_t partitions() const { return std::size_t{1} << bits_; }
  bool tight() const { return input_.tight; }
  group_places places() const {
    const unsigned order_bits = v_->ordered ? 0 : input_.order_bits;
    return {partitions(), order_bits, bits_ - order_bits, end_, input_.few};
  }
  void let_go() {  // of rows and tables
    input_.rows.reset();
    input_.tables.clear();
    groups_of_.clear();
  }
  bool few() const { return input_.few && groups_.load() <= input_.few; }  // once all have been taken
  // Calls take(table, opened) with tables of the groups of a partition, one after the other. opened: numbers that order groups as they
  // appeared first, where rows are numbered.
  template <class F> void each_table(std::size_t p, F take) {
    std::uint64_t rows = input_.rows ? input_.rows->rows_of(p) : 0, groups = 0;
    for (const auto& of : groups_of_) groups += of[p].size();
    if (rows + groups == 0) {
      if (input_.rows) input_.rows->store().release(p);
      return;
    }
    // As many of the hashes as the table has room for, if half of the rows had keys of their own; then as many as those had.
    const double expected = static_cast<double>(rows + groups) * (0.5 + groups_a_row_);
    double share = most_groups_ > 0 ? most_groups_ / expected : 1.0;
    for (hash_range range;;) {
      constexpr double hashes = 18446744073709551616.0;
      const auto width = share < 0.99 ? static_cast<std::uint64_t>(share * hashes) + 1 : every_hash;
      range.to = every_hash - range.from <= width ? every_hash : range.from + width;
      std::vector<std::uint64_t> opened;
      std::uint64_t fed = 0;
      auto table = groups_in(p, range, opened, fed);
      const double part = (static_cast<double>(range.to - range.from) + 1) / hashes;
      const double all = static_cast<double>(table->groups.size()) +
                         static_cast<double>(fed * bytes_a_row(*v_) + table->heap_bytes()) / static_cast<double>(bytes_a_group(*v_->node));
      if (input_.few_in_all) groups_ += table->groups.size();
      if (table->groups.size()) take(std::move(table), std::move(opened));
      if (range.to == every_hash) break;
      share = 0.7 * most_groups_ * part / std::max(1.0, all);
      range.from = range.to + 1;
    }
    if (input_.rows) input_.rows->store().release(p);
  }

 private:
  // What states own of each row: as in the tables of the first rows, else of all that the rows do.
  double heap_a_row() const {
    std::uint64_t bytes = 0, rows = 0;
    for (const part_groups& t : input_.tables) {
      bytes += t.table->heap_bytes();
      rows += t.table->rows_seen;
    }
    for (std::size_t p = 0; !rows && input_.rows && p < partitions(); ++p) {
      bytes += input_.rows->store().heap_bytes(p);
      if (p + 1 == partitions()) rows = input_.rows->rows();
    }
    return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(rows, 1));
  }
  // Where groups and rows stand: a part's groups are before those of its rows that went to no table.
  void number() {
    std::uint64_t groups = 0;
    std::vector<std::uint64_t> rows_before;
    const std::uint64_t rows = input_.rows ? input_.rows->store().number_rows(&rows_before) : 0;
    for (const part_groups& t : input_.tables) {
      const std::uint64_t before = t.part < rows_before.size() ? rows_before[t.part] : rows;
      first_of_.push_back(before + groups);
      groups += t.table->groups.size();
    }
    end_ = rows + groups;
  }
  std::uint64_t groups_up_to(std::size_t part) const {
    std::uint64_t n = 0;
    for (const part_groups& t : input_.tables)
      if (t.part <= part) n += t.table->groups.size();
    return n;
  }
  void put_groups_apart() {
    groups_of_.resize(input_.tables.size());
    tasks_->for_each(input_.tables.size(), [&](std::size_t t) {
      const grouper& groups = input_.tables[t].table->groups;
      groups_of_[t].resize(partitions());
      for (std::size_t from = 0; from < groups.size(); from += batch_rows) {
        std::uint64_t hashes[batch_rows];
        const std::size_t k = std::min(batch_rows, groups.size() - from);
        hash_(groups.stored(), from, k, hashes);
        for (std::size_t i = 0; i < k; ++i) groups_of_[t][hashes[i] >> (64 - bits_)].push_back(static_cast<std::uint32_t>(from + i));
      }
    });
  }

  std::unique_ptr<group_table> new_table() const {
    auto table = std::make_unique<group_table>(*v_->node, *program_, *key_, tasks_->pool(), columns_);
    if (input_.rows) input_.rows->prepare(table->groups);
    else table->groups.expect_sparse();
    return table;
  }
  // Groups of a table of a part; returns how many.
  std::size_t join(std::size_t t, std::size_t p, const hash_range& range, group_table& to, std::vector<std::uint64_t>* opened) {
    group_table& from = *input_.tables[t].table;
    const std::vector<std::uint32_t>* chosen = &groups_of_[t][p];
    std::vector<std::uint32_t> some;
    if (!range.all()) {
      for (std::size_t first = 0; first < chosen->size(); first += batch_rows) {
        std::uint64_t hashes[batch_rows];
        const std::size_t k = std::min(batch_rows, chosen->size() - first);
        to.hash(from, chosen->data() + first, k, hash_, hashes);
        for (std::size_t i = 0; i < k; ++i)
          if (range.has(hashes[i], bits_)) some.push_back((*chosen)[first + i]);
      }
      chosen = &some;
    }
    to.merge(from, chosen->data(), chosen->size(), opened, [&](std::uint32_t g) { return first_of_[t] + g; });
    return chosen->size();
  }

  // Parts one after the other. fed: rows that went to the table.
  std::unique_ptr<group_table> groups_in(std::size_t p, const hash_range& range, std::vector<std::uint64_t>& opened, std::uint64_t& fed) {
    auto all = new_table();
    if (!tight() && input_.groups > 0) {
      const double a_partition = 1.125 * input_.groups / static_cast<double>(partitions());
      all->groups.reserve(static_cast<std::size_t>(std::min(a_partition, static_cast<double>(input_.rows->rows_of(p)))));
    }
    std::vector<std::uint64_t>* const note = v_->ordered || tight() ? &opened : nullptr;
    std::uint64_t of_parts = 0;
    std::size_t next = 0;  // of the tables of parts
    std::optional<std::size_t> part;
    std::uint64_t groups_before = 0;
    std::unique_ptr<group_table> of_part;
    std::vector<std::uint64_t> opened_by_part;
    const auto join_before = [&](std::size_t end) {
      for (; next < input_.tables.size() && input_.tables[next].part < end; ++next) of_parts += join(next, p, range, *all, note);
    };
    bool alone = false;  // the part's groups are all that there are
    const auto end_part = [&] {
      if (alone) of_parts += all->groups.size();
      alone = false;
      if (of_part) {
        of_parts += of_part->groups.size();
        all->merge(*of_part, note, opened_by_part.data());
      }
      of_part.reset();
      opened_by_part.clear();
    };
    if (input_.rows) {
      stored_group_rows& rows = *input_.rows;
      std::optional<stored_group_rows::hasher> hash;
      if (!range.all()) hash.emplace(rows);
      narrowed_columns narrowed;
      const detail::stop_point stop;
      rows.store().read(p, [&](const stored_rows& r) {
        stop.check();
        if (part != r.part) {
          end_part();
          part = r.part;
          groups_before = note ? groups_up_to(r.part) : 0;
          join_before(r.part);
          alone = all->groups.size() == 0;
          if (input_.by_part && !alone) of_part = new_table();
          if (next < input_.tables.size() && input_.tables[next].part == r.part)
            join(next++, p, range, of_part ? *of_part : *all, !note ? nullptr : of_part ? &opened_by_part : note);
        }
        column_batch b = r.rows;
        std::uint32_t some[column_batch_rows];
        if (hash) {
          std::uint64_t hashes[column_batch_rows];
          (*hash)(b, hashes);
          std::size_t k = 0;
          for (std::size_t i = 0; i < b.n; ++i)
            if (range.has(hashes[i], bits_)) some[k++] = static_cast<std::uint32_t>(i);
          if (!k) return;
          b = {narrowed.narrow(b.columns, some, k), k};
        }
        fed += b.n;
        group_table& to = of_part ? *of_part : *all;
        rows.update(b, to);
        if (note)
          to.note_opened(b.n, of_part ? opened_by_part : *note,
                         [&](std::size_t i) { return r.first + groups_before + r.positions[hash ? some[i] : i]; });
      });
      end_part();
    }
    join_before(~std::size_t{0});
    if (!input_.few_in_all) groups_ += of_parts;
    return all;
  }

  const planner::vertex* v_;
  group_input input_;
  const group_program* program_;
  const function_calls* key_;
  const column_key* columns_;
  const vertex_tasks* tasks_;
  group_hash hash_;
  unsigned bits_;
  double most_groups_ = 0;               // of a table; 0: any number
  double groups_a_row_ = 0;              // of which a table has room for as much as the states own of a row
  std::vector<std::uint64_t> first_of_;  // of each table: the number of its first group
  std::uint64_t end_ = 0;                // of those numbers, and of rows
  std::atomic<std::uint64_t> groups_ = 0;  // those that say whether they are few
  std::vector<std::vector<std::vector<std::uint32_t>>> groups_of_;  // each table's, by partition
};

}  // namespace

bool groups_may_leave_memory(const detail::logical& n, const runtime::run_context& context) {
  return context.pool.limit() && context.temp && !context.shared && (!n.has_own_equality() || n.keys.hash);
}

group_partition_bits::group_partition_bits(const detail::logical& n, std::uint64_t rows, double groups, const runtime::run_context& context)
    : tight(false) {
  const double most = groups > 0 ? groups : static_cast<double>(rows);
  by_memory = of_order = cpu::order_bits(most);
  if (!groups_may_leave_memory(n, context)) return;
  const runtime::buffer_pool& pool = context.pool;
  const double tables = static_cast<double>(rows) * static_cast<double>(bytes_a_group(n)), limit = static_cast<double>(pool.limit());
  const double results = static_cast<double>(rows) * static_cast<double>(n.row->size);
  const auto threads = static_cast<double>(std::max(1, context.scheduler.concurrency()));
  tight = results > (limit - static_cast<double>(std::min(pool.used(), pool.limit()))) / 2 ||
          tables / static_cast<double>(std::size_t{1} << of_order) * threads > limit / 4;
  if (!tight) return;
  while (by_memory < most_bits_by_memory && tables / static_cast<double>(std::size_t{1} << by_memory) > limit / table_share) ++by_memory;
}

// The groups that tables have keep their states: no function of the user's sees a row twice.
runtime::vertex_rows group_partitioned(const planner::vertex& v, group_input input, runtime::run_context& context,
                                       std::vector<std::shared_ptr<const void>> sources, const group_program& program,
                                       const function_calls& key, const column_key* columns) {
  const vertex_tasks tasks(context, v.captures);
  grouped_partitions groups(v, std::move(input), program, key, columns, tasks);
  const std::size_t partitions = groups.partitions();
  const std::unique_ptr<group_output> out = planner::sends_states(v) ? groups_to_send(v, context, partitions)
                                            : groups.tight()         ? groups_beyond_memory(v, groups.places(), tasks)
                                                                     : groups_in_memory(v, context, std::move(sources), partitions);

  // In this order, whatever the order of the tasks: rows give memory back band by band.
  std::atomic<std::size_t> next_partition{0};
  const std::size_t together = groups.tight() && groups.places().units() > 1 ? groups.places().partitions_of_unit() : 1;
  const auto run_next = [&] {
    const std::size_t first = next_partition.fetch_add(together, std::memory_order_relaxed);
    if (first >= partitions) return false;
    for (std::size_t p = first; p < first + together; ++p) {
      groups.each_table(p, [&](std::unique_ptr<group_table> table, std::vector<std::uint64_t> opened) {
        out->take(p, std::move(table), std::move(opened));
      });
      out->end_partition(p);
    }
    return true;
  };
  if (groups.tight()) {
    tasks.for_each(std::min(most_lanes, static_cast<std::size_t>(std::max(1, context.scheduler.concurrency()))), [&](std::size_t) {
      const detail::stop_point stop;
      while (run_next()) stop.check();
    });
  } else {
    tasks.for_each(partitions, [&](std::size_t) { run_next(); });
  }
  const bool few = groups.few();
  groups.let_go();
  return out->rows(few);
}

}  // namespace query::cpu
