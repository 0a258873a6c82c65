#include "cpu_engine/ordered_tables.hpp"

#include <algorithm>
#include <utility>

#include <query/cpu/segment_form.hpp>
#include <query/detail/division_watch.hpp>
#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/radix_sort.hpp"
#include "cpu_engine/reordered_rows.hpp"
#include "cpu_engine/sort.hpp"
#include "cpu_engine/sort_rows.hpp"
#include "ir/running.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t least_of_partition = 1 << 10;
constexpr std::size_t rows_a_block = 256;  // of a chunk, that one partition has; fewer are mostly overhead
constexpr std::size_t most_levels = 4;

unsigned bits_of(std::size_t ranges) {
  unsigned bits = 0;
  while ((std::size_t{1} << bits) < ranges) ++bits;
  return bits;
}

}  // namespace

key_sample::key_sample(const stored_order& order, runtime::buffer_pool& pool) : keys_(order, pool) {
  for (const sort_key& k : order.shapes) values_.emplace_back(k.type, pool);
}

void key_sample::add(std::span<const column> columns, std::size_t n, std::size_t first, std::size_t step) {
  const std::span<const sort_key> keys = keys_.of(columns, n);
  try {
    for (std::size_t k = 0; k < keys.size(); ++k)
      for (std::size_t i = first; i < n; i += step) values_[k].append_rows(keys[k].at(i), 1);
  } catch (...) {  // copying a key may throw; all keys have as many values
    for (rows_buffer& v : values_) v.clear();
    throw;
  }
}

ordered_tables::ordered_tables(stored_order order, const planner::vertex& v, runtime::run_context& context, row_bytes of_partition,
                               std::size_t room, bool values)
    : made_tables(v.node->row),
      order_(std::move(order)),
      context_(&context),
      bindings_(context.bind(v.captures)),
      tasks_(context, bindings_),
      limit_(v.limit),
      of_partition_(of_partition),
      values_(values) {
  const std::size_t threads = static_cast<std::size_t>(std::max(1, context.scheduler.concurrency()));
  rows_a_partition_ = std::max(least_of_partition, room / 6 / threads / of_partition.memory);
  most_of_partition_ = std::max(4 * least_of_partition, room / 4 / of_partition.memory);
}

ordered_tables::ranges::ranges(const stored_order& order, std::optional<key_ranges> r, std::size_t count, std::size_t parts,
                               runtime::run_context& context)
    : keys(std::move(r)), n(keys ? keys->ranges() : count), store(order.in_store(), bits_of(n), parts, false, context) {}

std::size_t ordered_tables::most_partitions() const {
  return std::clamp<std::size_t>(rows_a_chunk() / rows_a_block, 2, key_ranges::most);
}

ordered_tables::ranges& ordered_tables::add_level(std::vector<rows_buffer> sample, std::size_t wanted, std::size_t parts) {
  key_ranges keys(std::move(sample), order_.shapes, wanted, context_->scheduler, context_->pool, context_->cancel);
  return *levels_.emplace_back(std::make_unique<ranges>(order_, std::move(keys), 0, parts, *context_));
}
ordered_tables::ranges& ordered_tables::add_level(std::size_t n, std::size_t parts) {
  return *levels_.emplace_back(std::make_unique<ranges>(order_, std::nullopt, n, parts, *context_));
}

void ordered_tables::add_tables(ranges& of, std::size_t level) {
  of.store.drop_spares();
  for (std::size_t r = 0; r < of.n; ++r) {
    const auto rows = static_cast<std::size_t>(of.store.rows_of(r));
    const auto weighs = static_cast<std::size_t>(weight(rows, of.store.value_bytes(r)));
    if (!rows || size() >= limit_) of.store.release(r);
    else if (of.ties(r)) add_tied(of.store, r);
    else if (level < most_levels && rows > 1 && weighs > most_of_partition_) split(of, r, rows, weighs, level);
    else add({&of.store, r, 0, ~std::size_t{0}, rows, false});
  }
  for (std::size_t none = of.n; none < of.store.partitions(); ++none) of.store.release(none);
}
void ordered_tables::add(table_of t) {
  tables_.push_back(t);
  add_table(std::min<std::uint64_t>(t.rows, limit_ - size()));
}
// Rows whose keys are equal are in order as they are.
void ordered_tables::add_tied(partition_store& store, std::size_t partition) {
  table_of t{&store, partition, 0, 0, 0, true};
  for (const std::size_t rows : store.rows_by_chunk(partition)) {
    ++t.end_chunk;
    t.rows += rows;
    if (weight(t.rows, 0) < rows_a_partition_ || size() >= limit_) continue;
    add(t);
    t.first_chunk = t.end_chunk;
    t.rows = 0;
  }
  if (t.rows && size() < limit_) add(t);
}
// A partition that is too large, as the sample did not show what came later.
void ordered_tables::split(ranges& from, std::size_t partition, std::size_t rows, std::size_t weight, std::size_t level) {
  const std::size_t wanted = std::min(partitions_of(weight), std::max<std::size_t>(rows, 2));
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
  ranges& to = add_level(std::move(sample).take(), wanted, parts);
  tasks_.for_each(parts, [&](std::size_t i) {
    writer to_part(*this, to, i);
    std::vector<column> columns;
    from.store.read(partition, begins[i], begins[i + 1], [&](const stored_rows& r) {
      columns.assign(r.rows.columns.begin(), r.rows.columns.end());
      for (column& at : columns) at.transient = !at.select;  // others lie outside of the block
      to_part.append(columns, r.rows.n, false);
    });
    to_part.finish();
  });
  from.store.release(partition);
  add_tables(to, level + 1);
}

// ---------------------------------------------------------------- tables
std::size_t ordered_tables::bytes_for(std::size_t t) const {
  return tables_[t].rows * ((tables_[t].ties ? row()->size : of_partition_.memory) + of_partition_.heap);
}
detail::table ordered_tables::made(std::size_t t, runtime::scheduler& scheduler) const {
  const detail::binding_scope bound(bindings_);
  try {
    const detail::division_watch watch;
    detail::table rows = in_order(tables_[t], scheduler);
    watch.check();
    rows.n = static_cast<std::size_t>(begin_of(t + 1) - begin_of(t));
    return rows;
  } catch (const detail::unplaced_error& e) {
    detail::fail_at(e, *order_.node);
  } catch (const resource_error& e) {
    const std::string what = ir::while_running(e.what(), *order_.node);
    if (what == e.what()) throw;
    throw resource_error(what);
  }
}

detail::table ordered_tables::in_order(const table_of& t, runtime::scheduler& scheduler) const {
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
  return reordered_rows(std::move(rows).to_table(), order, pool);
}
void ordered_tables::read_rows(const column_batch& b, rows_buffer& to) const {
  void* const at = to.extend(b.n);
  if (order_.records) {
    gather_column(b.columns[0], row(), b.n, at, row()->size, false);
    to.grow(b.n);
    return;
  }
  if (row()->life.construct) row()->life.construct(at, b.n);
  to.grow(b.n);
  std::vector<column> columns(b.columns.begin(), b.columns.begin() + static_cast<std::ptrdiff_t>(order_.of_row));
  for (std::size_t c = 0; c < order_.places.size(); ++c)
    if (order_.places[c].base) {
      columns[c] = order_.places[c];
      columns[c].select = static_cast<const std::uint32_t*>(b.columns[order_.of_row].base);  // the positions
    }
  assemble_rows(order_.columns, {columns, b.n}, at, row()->size);
  to.heap().add(*row(), at, b.n, context_->pool);
}

}  // namespace query::cpu
