#include "cpu_engine/sorted_partitions.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/ordered_tables.hpp"
#include "cpu_engine/pieces.hpp"
#include "cpu_engine/radix_sort.hpp"
#include "cpu_engine/sort.hpp"
#include "cpu_engine/table_estimate.hpp"
#include "planner/column_forms.hpp"

namespace query::cpu {

namespace {

constexpr std::uint64_t least_rows = 1 << 12;          // fewer are not put apart
constexpr std::uint64_t least_large_rows = 1 << 6;     // ...of those that own memory
constexpr std::size_t partitions_of_unknown = 256;     // of rows whose number nobody knows
constexpr std::size_t run_of_sample = 4;               // rows side by side

// Bytes for each row, with what it owns.
struct row_costs {
  std::size_t input = 0;   // where it is not in memory as it is
  std::size_t order = 0;   // keys, words and row numbers
  std::size_t result = 0;
  std::size_t in_memory() const { return input + std::max(order, result + sizeof(std::uint32_t)); }
  std::size_t of_partition = 0;  // while one is made, without what it owns
  std::size_t heap = 0;          // that it owns
};

row_costs costs_of(const planner::vertex& v, const stored_order& order, bool in_place, std::uint64_t rows,
                   std::size_t heap) {
  const std::size_t width = order.row->size, keys = order.computed_bytes();
  const key_encoder encoder(order.shapes);
  const bool wide = encoder.bits() > 64 || (!order.shapes.empty() && order.shapes[0].type->k == ir::kind::string);
  const std::size_t sorting = keys + (wide ? 2 * sizeof(wide_word_row) : 5 * sizeof(std::uint64_t)) + sizeof(std::uint32_t);
  row_costs c;
  c.input = in_place ? 0 : width + heap;
  c.heap = heap;
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
  if (in_place && v.limit >= rows) c.result += heap;  // else they move
  return c;
}

class sorted_partitions final : public ordered_tables {
 public:
  sorted_partitions(const planner::vertex& v, const vertex_tasks& tasks, std::unique_ptr<pipeline> input,
                    const planner::column_schema* columns, row_costs costs, std::size_t room)
      : ordered_tables(stored_order(v, columns), v, tasks.context(), {costs.of_partition, costs.heap}, room,
                       sorts_values(*v.node, v.node->row)),
        input_(std::move(input)) {}

  pipeline& input() { return *input_; }

  // ---------------------------------------------------------------- the input
  // Looks at rows all over a source whose length is known. Returns about how many of `rows` the stages keep.
  std::uint64_t look(std::uint64_t rows, key_sample& sample) const {
    const std::uint64_t runs = std::min<std::uint64_t>(rows / run_of_sample, samples_a_range * partitions_for(rows) / 2);
    const std::uint64_t step = rows / runs;
    const auto take = [&](std::span<const column> columns, std::size_t n, bool) { sample.add(columns, n); };
    order_feed feed(order(), true, context().pool, take);
    std::uint64_t x = rows;
    for (std::uint64_t i = 0; i < runs; ++i) {
      context().cancel.check();
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
    ranges& to = add_level(std::move(sample).take(), partitions_for(rows), input_->parts().value_or(1));
    input_->run_all([&](const pipeline::part& part) { put_apart(part, to, resident); });
    close(to);
  }

  // Of unknown length, the first parts of which have been collected.
  void run_rest(std::vector<piece> first, std::size_t window) {
    const std::size_t rows = rows_in(first), wanted = std::min(partitions_of_unknown, most_partitions());
    const std::size_t step = std::max<std::size_t>(1, rows / (samples_a_range * wanted));
    key_sample sample(order(), context().pool);
    {
      const auto take = [&](std::span<const column> columns, std::size_t n, bool) { sample.add(columns, n); };
      order_feed feed(order(), false, context().pool, take);
      std::uint64_t x = rows;
      for (const piece& p : first)
        for (std::size_t i = 0; i < p.size(); i += step) {
          context().cancel.check();
          x = x * 6364136223846793005u + 1442695040888963407u;
          detail::row_block b;
          b.rows = const_cast<std::byte*>(row_at(p.data(), row(), std::min<std::size_t>(p.size() - 1, i + (x >> 33) % step)));
          b.n = 1;
          feed.push(b);
        }
    }
    ranges& to = add_level(std::move(sample).take(), wanted, first.size());
    const std::size_t before = first.size();
    tasks().for_each(first.size(), [&](std::size_t i) {
      detail::row_block b;
      b.rows = const_cast<void*>(first[i].data());
      b.n = first[i].size();
      b.owned = first[i].movable() != nullptr;
      writer to_part(*this, to, i);
      const auto append = [&](std::span<const column> columns, std::size_t n, bool owned) { to_part.append(columns, n, owned); };
      order_feed(order(), false, context().pool, append).push(b);
      to_part.finish();
      first[i] = piece(detail::table{});
    });
    const std::size_t done = input_->next_part();
    while (input_->run_some(window, [&](const pipeline::part& part) { put_apart(part, to, false, before - done); })) {
    }
    close(to);
  }

 private:
  void put_apart(const pipeline::part& part, ranges& to, bool resident, std::size_t before = 0) const {
    writer to_part(*this, to, part.index + before);
    const auto append = [&](std::span<const column> columns, std::size_t n, bool owned) { to_part.append(columns, n, owned); };
    order_feed(order(), resident, context().pool, append).run(part);
    to_part.finish();
  }

  std::unique_ptr<pipeline> input_;  // what it reads lives as long as the rows that are kept by number
};

bool can_be_copied(const ir::type* t) { return t->trivial || t->life.copy; }

// Rows that come once, in parts whose number nobody knows: collected as long as they fit.
template <class Fits, class Rest>
runtime::vertex_rows beyond_memory_as_read(std::unique_ptr<pipeline> input, const vertex_tasks& tasks,
                                           function_ref<detail::table(const input_rows&)> in_memory, Fits fits, Rest rest) {
  pipeline& p = *input;
  const std::size_t window = parts_at_once(tasks.context(), part_rows * p.row()->size);
  std::vector<piece> first;
  if (!collect_while_it_fits(p, window, fits, first)) return rest(std::move(input), std::move(first), window);
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
    const std::size_t room = memory_left(context.pool);
    auto input = std::make_unique<pipeline>(b, v.captures, context, false, true);
    const auto source_rows = input->source_rows();
    const bool in_place = input->in_place(), comes_again = source_rows && !input->made_as_read();
    row_costs costs = costs_of(v, stored_order(v, nullptr), in_place, source_rows.value_or(~0ull), row_heap_bytes(*input));
    const auto fits = [&](std::uint64_t rows, std::size_t bytes) {
      return fits_in(static_cast<double>(rows) * static_cast<double>(bytes), room);
    };
    const auto sorted = [&](const planner::column_schema* columns) {
      return std::make_shared<sorted_partitions>(v, tasks, std::move(input), columns, costs, room);
    };
    const auto given = [&](const std::shared_ptr<sorted_partitions>& rows) {
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
        if (!comes_again || *source_rows < (heap_charge::counts(*v.node->row, context.pool) ? least_large_rows : least_rows)) throw;
        continue;
      }
    }
    return beyond_memory_as_read(std::move(input), tasks, in_memory, [&](std::size_t rows, std::size_t heap) {
      costs.heap = std::max(costs.heap, heap);
      return fits(rows, costs.in_memory() + v.node->row->size + heap);
    }, [&](std::unique_ptr<pipeline> p, std::vector<piece> first, std::size_t window) {
      input = std::move(p);
      const auto all = sorted(nullptr);
      all->run_rest(std::move(first), window);
      return given(all);
    });
  }
}

}  // namespace query::cpu
