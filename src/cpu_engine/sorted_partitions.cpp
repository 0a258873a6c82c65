#include "cpu_engine/sorted_partitions.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/key_ranges.hpp"
#include "cpu_engine/made_tables.hpp"
#include "cpu_engine/partition_store.hpp"
#include "cpu_engine/pieces.hpp"
#include "cpu_engine/radix_sort.hpp"
#include "cpu_engine/sort.hpp"
#include "cpu_engine/sort_rows.hpp"
#include "cpu_engine/stored_order.hpp"
#include "planner/column_forms.hpp"

namespace query::cpu {

namespace {

constexpr std::uint64_t least_rows = 1 << 12;          // fewer are not put apart
constexpr std::size_t least_of_partition = 1 << 10;
constexpr std::size_t partitions_of_unknown = 256;     // of rows whose number nobody knows
constexpr std::size_t rows_a_block = 256;              // of a chunk, that one partition has; fewer are mostly overhead
constexpr std::size_t samples_a_range = 16;
constexpr std::size_t run_of_sample = 4;               // rows side by side
constexpr std::size_t most_levels = 4;

// Bytes for each row.
struct row_costs {
  std::size_t input = 0;   // where it is not in memory as it is
  std::size_t order = 0;   // keys, words and row numbers
  std::size_t result = 0;
  std::size_t in_memory() const { return input + std::max(order, result + sizeof(std::uint32_t)); }
  std::size_t of_partition = 0;  // while one is made
};

row_costs costs_of(const planner::vertex& v, const stored_order& order, bool in_place, std::uint64_t rows) {
  const std::size_t width = order.row->size, keys = order.computed_bytes();
  const key_encoder encoder(order.shapes);
  const bool wide = encoder.bits() > 64 || (!order.shapes.empty() && order.shapes[0].type->k == ir::kind::string);
  const std::size_t sorting = keys + (wide ? 2 * sizeof(wide_word_row) : 5 * sizeof(std::uint64_t)) + sizeof(std::uint32_t);
  row_costs c;
  c.input = in_place ? 0 : width;
  c.of_partition = 2 * width + sorting;
  if (sorts_values(*order.node, order.row) && v.limit >= rows) {
    c.result = width;
    c.of_partition = 2 * width;
  } else if (v.limit > rows / 16) {
    c.order = sorting;
    c.result = v.limit >= rows ? width : static_cast<std::size_t>(static_cast<double>(width) * static_cast<double>(v.limit) /
                                                                  static_cast<double>(rows)) + 1;
  } else {
    c.order = keys;
  }
  return c;
}

// Keys of some rows of a stream of batches.
class key_sample {
 public:
  key_sample(const stored_order& order, runtime::buffer_pool& pool) : keys_(order, pool) {
    for (const sort_key& k : order.shapes) values_.emplace_back(k.type, pool);
  }
  std::size_t size() const { return values_.front().size(); }
  // Rows first, first + step, ...
  void add(std::span<const column> columns, std::size_t n, std::size_t first = 0, std::size_t step = 1) {
    const std::span<const sort_key> keys = keys_.of(columns, n);
    try {
      for (std::size_t k = 0; k < keys.size(); ++k)
        for (std::size_t i = first; i < n; i += step) values_[k].append_rows(keys[k].at(i), 1);
    } catch (...) {  // copying a key may throw; all keys have as many values
      for (rows_buffer& v : values_) v.clear();
      throw;
    }
  }
  std::vector<rows_buffer> take() && { return std::move(values_); }

 private:
  batch_keys keys_;
  std::vector<rows_buffer> values_;
};

// Rows put apart by range.
struct range_partitions {
  range_partitions(const stored_order& order, key_ranges r, std::size_t parts, runtime::run_context& context)
      : ranges(std::move(r)), store(order.columns, bits_of(ranges.ranges()), parts, false, context) {}
  static unsigned bits_of(std::size_t ranges) {
    unsigned bits = 0;
    while ((std::size_t{1} << bits) < ranges) ++bits;
    return bits;
  }
  key_ranges ranges;
  partition_store store;
};

// Puts batches into the partitions of one part.
class range_writer {
 public:
  range_writer(range_partitions& to, std::size_t part, const stored_order& order, runtime::buffer_pool& pool)
      : to_(&to), writer_(to.store, part), keys_(order, pool) {}
  void append(std::span<const column> columns, std::size_t n, bool owned) {
    to_->ranges.find(keys_.of(columns, n), n, partitions_);
    writer_.append(columns, n, partitions_, owned);
  }
  void finish() { writer_.finish(); }

 private:
  range_partitions* to_;
  partition_writer writer_;
  batch_keys keys_;
  std::uint16_t partitions_[column_batch_rows];
};

class sorted_partitions final : public made_tables {
 public:
  sorted_partitions(const planner::vertex& v, const vertex_tasks& tasks, std::unique_ptr<pipeline> input,
                    const planner::column_schema* columns, row_costs costs, std::size_t room)
      : made_tables(v.node->row),
        order_(v, columns),
        input_(std::move(input)),
        context_(&tasks.context()),
        bindings_(context_->bind(v.captures)),
        tasks_(&tasks),
        limit_(v.limit),
        costs_(costs),
        values_(sorts_values(*v.node, v.node->row)) {
    const std::size_t threads = static_cast<std::size_t>(std::max(1, context_->scheduler.concurrency()));
    rows_a_partition_ = std::max(least_of_partition, room / 6 / threads / costs_.of_partition);
    most_of_partition_ = std::max(4 * least_of_partition, room / 4 / costs_.of_partition);
  }

  std::size_t partitions_for(std::uint64_t rows) const {
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(rows / rows_a_partition_ + 1, 2, most_partitions()));
  }
  // So many that their blocks have some hundred rows; what is too large then is split again.
  std::size_t most_partitions() const { return std::clamp<std::size_t>(rows_a_chunk() / rows_a_block, 2, key_ranges::most); }
  std::size_t rows_a_chunk() const {
    return partition_store::rows_a_chunk(order_.row->size + order_.computed_bytes(), *context_);
  }

  pipeline& input() { return *input_; }

  // ---------------------------------------------------------------- the input
  // Looks at rows all over a source whose length is known. Returns about how many of `rows` the stages keep.
  std::uint64_t look(std::uint64_t rows, key_sample& sample) const {
    const std::uint64_t runs = std::min<std::uint64_t>(rows / run_of_sample, samples_a_range * partitions_for(rows) / 2);
    const std::uint64_t step = rows / runs;
    const auto take = [&](std::span<const column> columns, std::size_t n, bool) { sample.add(columns, n); };
    order_feed feed(order_, true, context_->pool, take);
    std::uint64_t x = rows;
    for (std::uint64_t i = 0; i < runs; ++i) {
      context_->cancel.check();
      x = x * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t first = i * step + (x >> 33) % (step - run_of_sample + 1);
      try {
        input_->run_rows(static_cast<std::size_t>(first), run_of_sample, [&](const pipeline::part& part) { feed.run(part); });
      } catch (const cancelled&) {
        throw;
      } catch (const resource_error&) {
        throw;
      } catch (const std::bad_alloc&) {
        throw;
      } catch (...) {  // of a user's function: the run throws it again, at its first row
      }
    }
    return static_cast<std::uint64_t>(static_cast<double>(sample.size()) / static_cast<double>(runs * run_of_sample) *
                                      static_cast<double>(rows));
  }
  void run(key_sample sample, std::uint64_t rows, bool resident) {
    range_partitions& to = add_level(std::move(sample), partitions_for(rows), input_->parts().value_or(1));
    input_->run_all([&](const pipeline::part& part) { put_apart(part, to, resident); });
    add_tables(to, 1);
  }

  // Of unknown length, the first parts of which have been collected.
  void run_rest(std::vector<piece> first, std::size_t window) {
    const std::size_t rows = rows_in(first), wanted = std::min(partitions_of_unknown, most_partitions());
    const std::size_t step = std::max<std::size_t>(1, rows / (samples_a_range * wanted));
    key_sample sample(order_, context_->pool);
    {
      const auto take = [&](std::span<const column> columns, std::size_t n, bool) { sample.add(columns, n); };
      order_feed feed(order_, false, context_->pool, take);
      std::uint64_t x = rows;
      for (const piece& p : first)
        for (std::size_t i = 0; i < p.size(); i += step) {
          context_->cancel.check();
          x = x * 6364136223846793005u + 1442695040888963407u;
          detail::row_block b;
          b.rows = const_cast<std::byte*>(row_at(p.data(), row(), std::min<std::size_t>(p.size() - 1, i + (x >> 33) % step)));
          b.n = 1;
          feed.push(b);
        }
    }
    range_partitions& to = add_level(std::move(sample), wanted, first.size());
    const std::size_t before = first.size();
    tasks_->for_each(first.size(), [&](std::size_t i) {
      detail::row_block b;
      b.rows = const_cast<void*>(first[i].data());
      b.n = first[i].size();
      b.owned = first[i].movable() != nullptr;
      range_writer writer(to, i, order_, context_->pool);
      const auto append = [&](std::span<const column> columns, std::size_t n, bool owned) { writer.append(columns, n, owned); };
      order_feed(order_, false, context_->pool, append).push(b);
      writer.finish();
      first[i] = piece(detail::table{});
    });
    const std::size_t done = input_->next_part();
    while (input_->run_some(window, [&](const pipeline::part& part) { put_apart(part, to, false, before - done); })) {
    }
    add_tables(to, 1);
  }

 private:
  struct table_of {
    partition_store* store;
    std::size_t partition, first_chunk, end_chunk;
    std::size_t rows;  // that are there; the last table may have more than are wanted
    bool ties;
  };

  range_partitions& add_level(key_sample sample, std::size_t wanted, std::size_t parts) {
    key_ranges ranges(std::move(sample).take(), order_.shapes, wanted, context_->scheduler, context_->pool, context_->cancel);
    return *levels_.emplace_back(std::make_unique<range_partitions>(order_, std::move(ranges), parts, *context_));
  }
  void put_apart(const pipeline::part& part, range_partitions& to, bool resident, std::size_t before = 0) const {
    range_writer writer(to, part.index + before, order_, context_->pool);
    const auto append = [&](std::span<const column> columns, std::size_t n, bool owned) { writer.append(columns, n, owned); };
    order_feed(order_, resident, context_->pool, append).run(part);
    writer.finish();
  }

  void add_tables(range_partitions& of, std::size_t level) {
    for (std::size_t r = 0; r < of.ranges.ranges(); ++r) {
      const auto rows = static_cast<std::size_t>(of.store.rows_of(r));
      if (!rows || size() >= limit_) of.store.release(r);
      else if (of.ranges.ties(r)) add_tied(of.store, r);
      else if (rows > most_of_partition_ && level < most_levels) split(of, r, rows, level);
      else add({&of.store, r, 0, ~std::size_t{0}, rows, false});
    }
    for (std::size_t none = of.ranges.ranges(); none < of.store.partitions(); ++none) of.store.release(none);
  }
  void add(table_of t) {
    tables_.push_back(t);
    add_table(std::min<std::uint64_t>(t.rows, limit_ - size()));
  }
  // Rows whose keys are equal are in order as they are.
  void add_tied(partition_store& store, std::size_t partition) {
    table_of t{&store, partition, 0, 0, 0, true};
    for (const std::size_t rows : store.rows_by_chunk(partition)) {
      ++t.end_chunk;
      t.rows += rows;
      if (t.rows < rows_a_partition_ || size() >= limit_) continue;
      add(t);
      t.first_chunk = t.end_chunk;
      t.rows = 0;
    }
    if (t.rows && size() < limit_) add(t);
  }
  // A partition that is too large, as the sample did not show what came later.
  void split(range_partitions& from, std::size_t partition, std::size_t rows, std::size_t level) {
    const std::size_t wanted = partitions_for(rows);
    const std::size_t step = std::max<std::size_t>(1, rows / (samples_a_range * wanted));
    key_sample sample(order_, context_->pool);
    std::size_t next = 0;
    std::uint64_t x = rows;
    from.store.read(partition, [&](const stored_rows& r) {
      if (next >= r.rows.n) {
        next -= r.rows.n;
        return;
      }
      sample.add(r.rows.columns, r.rows.n, next, step);
      while (next < r.rows.n) next += step;
      x = x * 6364136223846793005u + 1442695040888963407u;
      next = next - r.rows.n;
      if (step > 1) next += (x >> 33) % step / 2;
    });
    // Adjacent chunks, which have a few of these rows each, make one again.
    std::vector<std::size_t> begins{0};
    std::size_t chunk = 0, gathered = 0;
    for (const std::size_t some : from.store.rows_by_chunk(partition)) {
      ++chunk;
      if ((gathered += some) < rows_a_chunk()) continue;
      begins.push_back(chunk);
      gathered = 0;
    }
    if (begins.back() != chunk) begins.push_back(chunk);
    const std::size_t parts = begins.size() - 1;
    range_partitions& to = add_level(std::move(sample), wanted, parts);
    tasks_->for_each(parts, [&](std::size_t i) {
      range_writer writer(to, i, order_, context_->pool);
      std::vector<column> columns;
      from.store.read(partition, begins[i], begins[i + 1], [&](const stored_rows& r) {
        columns.assign(r.rows.columns.begin(), r.rows.columns.end());
        for (column& at : columns) at.transient = !at.select;  // others lie outside of the block
        writer.append(columns, r.rows.n, false);
      });
      writer.finish();
    });
    from.store.release(partition);
    add_tables(to, level + 1);
  }

  // ---------------------------------------------------------------- tables
  std::size_t bytes_for(std::size_t t) const override {
    return tables_[t].rows * (tables_[t].ties ? row()->size : costs_.of_partition);
  }
  detail::table made(std::size_t t, runtime::scheduler& scheduler) const override {
    const detail::binding_scope bound(bindings_);
    try {
      detail::table rows = in_order(tables_[t], scheduler);
      rows.n = static_cast<std::size_t>(begin_of(t + 1) - begin_of(t));
      return rows;
    } catch (const detail::unplaced_error& e) {
      detail::fail_at(e, *order_.node);
    } catch (const resource_error& e) {
      const std::string what = e.what();
      if (what.find(" while running ") != std::string::npos) throw;
      throw resource_error(what + ", while running " + order_.node->label + " (" + detail::place_of(order_.node->where) + ")");
    }
  }

  detail::table in_order(const table_of& t, runtime::scheduler& scheduler) const {
    runtime::buffer_pool& pool = context_->pool;
    rows_buffer rows(row(), pool);
    rows.reserve(t.rows);
    std::vector<rows_buffer> computed;
    if (!t.ties)
      for (const std::size_t k : order_.computed_keys) computed.emplace_back(order_.shapes[k].type, pool).reserve(t.rows);
    t.store->read(t.partition, t.first_chunk, t.end_chunk, [&](const stored_rows& r) {
      read_rows(r.rows, rows);
      for (std::size_t i = 0; i < computed.size(); ++i) {
        const ir::type* type = computed[i].type();
        gather_column(r.rows.columns[order_.of_row + i], type, r.rows.n, computed[i].extend(r.rows.n), type->size, false);
        computed[i].grow(r.rows.n);
      }
    });
    if (t.ties || rows.size() < 2) return std::move(rows).to_table();
    if (values_) {
      sort_values(rows.data(), rows.data(), rows.size(), row()->k, order_.node->order[0].descending, scheduler, pool, context_->cancel);
      return std::move(rows).to_table();
    }
    std::vector<sort_key> keys = order_.shapes;
    std::size_t next = 0;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const auto& of_row = order_.keys[k].in_row;
      keys[k].base = of_row ? static_cast<const std::byte*>(rows.data()) + *of_row : computed[next++].data();
      keys[k].stride = of_row ? row()->size : keys[k].type->size;
    }
    const permutation order = sort_rows(keys, rows.size(), scheduler, pool, context_->cancel);
    computed.clear();
    rows_buffer sorted(row(), pool);
    sorted.reserve(rows.size());
    order.visit([&](const auto* id) {
      if (row()->trivial || !row()->life.move) {
        gather_rows(row(), sorted.extend(rows.size()), rows.data(), id, rows.size());
        sorted.grow(rows.size());
        return;
      }
      for (std::size_t i = 0; i < rows.size(); ++i) sorted.take_rows(rows.at(static_cast<std::size_t>(id[i])), 1);
    });
    return std::move(sorted).to_table();
  }
  void read_rows(const column_batch& b, rows_buffer& to) const {
    void* const at = to.extend(b.n);
    if (order_.records) {
      gather_column(b.columns[0], row(), b.n, at, row()->size, false);
      to.grow(b.n);
      return;
    }
    if (row()->life.construct) row()->life.construct(at, b.n);
    to.grow(b.n);
    assemble_rows(order_.columns, {b.columns.first(order_.of_row), b.n}, at, row()->size);
  }

  stored_order order_;
  std::unique_ptr<pipeline> input_;  // what it reads lives as long as the rows that are kept by number
  runtime::run_context* context_;
  std::vector<detail::binding> bindings_;
  const vertex_tasks* tasks_;        // while the input runs
  std::uint64_t limit_;
  row_costs costs_;
  bool values_;
  std::size_t rows_a_partition_, most_of_partition_;
  std::vector<std::unique_ptr<range_partitions>> levels_;
  std::vector<table_of> tables_;
};

bool can_be_copied(const ir::type* t) { return t->trivial || t->life.copy; }

// Rows that come once, in parts whose number nobody knows: collected as long as they fit.
template <class Fits, class Rest>
runtime::vertex_rows beyond_memory_as_read(std::unique_ptr<pipeline> input, const vertex_tasks& tasks,
                                           function_ref<detail::table(const input_rows&)> in_memory, Fits fits, Rest rest) {
  pipeline& p = *input;
  const std::size_t part_bytes = part_rows * p.row()->size, threads = static_cast<std::size_t>(tasks.scheduler().concurrency());
  const std::size_t window = std::clamp<std::size_t>(tasks.pool().limit() / 16 / part_bytes, 1, 4 * threads);
  std::vector<piece> first;
  bool more = true;
  while (more && fits(rows_in(first))) {
    std::vector<rows_buffer> some;
    for (std::size_t i = 0; i < window; ++i) some.emplace_back(p.row(), tasks.pool());
    const std::size_t base = p.next_part();
    more = p.run_some(window, [&](const pipeline::part& part) {
      append_rows_sink sink(some[part.index - base]);
      part.run(sink);
    });
    for (rows_buffer& rows : some)
      if (rows.size()) first.emplace_back(std::move(rows));
  }
  if (more) return rest(std::move(input), std::move(first), window);
  return in_memory({side_by_side(std::move(first), p.row(), tasks), true});
}

}  // namespace

runtime::vertex_rows sort_as_memory_allows(const planner::vertex& v, const vertex_tasks& tasks,
                                           function_ref<detail::table(const input_rows&)> in_memory) {
  runtime::run_context& context = tasks.context();
  const planner::branch& b = v.inputs[0];
  const std::size_t limit = context.pool.limit();
  const bool copied = can_be_copied(v.node->row) && std::all_of(v.node->functions.begin(), v.node->functions.end(),
                                                               [](const detail::user_function& f) { return can_be_copied(f.result); });
  if (!limit || !context.temp || context.shared || !copied) return in_memory(collect_input(v, 0, tasks));

  for (bool failed = false;; failed = true) {
    const std::size_t room = limit - std::min(context.pool.used(), limit);
    auto input = std::make_unique<pipeline>(b, v.captures, context, false, true);
    const auto source_rows = input->source_rows();
    const bool in_place = input->in_place(), comes_again = source_rows && !input->made_as_read();
    const row_costs costs = costs_of(v, stored_order(v, nullptr), in_place, source_rows.value_or(~0ull));
    // Buffers come in classes of size.
    const auto fits = [&](std::uint64_t rows, std::size_t bytes) {
      return 1.2 * static_cast<double>(rows) * static_cast<double>(bytes) <= static_cast<double>(room);
    };
    const auto sorted = [&](const planner::column_schema* columns) {
      return std::make_shared<sorted_partitions>(v, tasks, std::move(input), columns, costs, room);
    };
    const auto given = [&](const std::shared_ptr<sorted_partitions>& rows) {
      if (context.loops) return runtime::vertex_rows(rows->fetch(context));  // what its rows refer to may be gone in the next round
      return runtime::vertex_rows(rows);
    };

    bool fit = !failed && source_rows && (*source_rows < least_rows || fits(*source_rows, costs.in_memory()));
    std::shared_ptr<sorted_partitions> apart;
    std::unique_ptr<planner::branch> over_columns;
    if (!fit && comes_again) {
      // Strings that stay where they are need no copies: their numbers are kept.
      if (!in_place && !v.interpreted && !context.verify && (over_columns = planner::over_columns(b)))
        input = std::make_unique<pipeline>(*over_columns, v.captures, context, true, true);
      const planner::column_schema* const columns = input->columns();
      apart = sorted(columns);
      const stored_order order(v, columns);
      key_sample sample(order, context.pool);
      const std::uint64_t rows = std::min(*source_rows, apart->look(*source_rows, sample) + 1);
      fit = !failed && fits(rows + rows / 4, costs.in_memory());
      if (!fit) {
        apart->run(std::move(sample), rows, in_place);
        return given(apart);
      }
    }
    if (fit) {
      try {
        pipeline& p = apart ? apart->input() : *input;
        input_rows rows;
        rows.fresh = !p.in_place();
        rows.table = collect_rest(p);
        input.reset();  // with the hash tables of its joins
        apart.reset();
        return in_memory(rows);
      } catch (const resource_error&) {  // others have taken the room that there was
        if (!comes_again || *source_rows < least_rows) throw;
        continue;
      }
    }
    return beyond_memory_as_read(std::move(input), tasks, in_memory, [&](std::size_t rows) {
      return fits(rows, costs.in_memory() + v.node->row->size);
    }, [&](std::unique_ptr<pipeline> p, std::vector<piece> first, std::size_t window) {
      input = std::move(p);
      const auto all = sorted(nullptr);
      all->run_rest(std::move(first), window);
      return given(all);
    });
  }
}

}  // namespace query::cpu
