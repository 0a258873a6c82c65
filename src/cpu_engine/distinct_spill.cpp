#include "cpu_engine/distinct_spill.hpp"

#include <algorithm>
#include <limits>

#include <query/cpu/segment_form.hpp>
#include <query/detail/stop.hpp>

#include "cpu_engine/grouper.hpp"
#include "cpu_engine/value_bytes.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

namespace {

constexpr unsigned bits = 6;
// Shares of the session's memory: for the tables of all threads, and for one set.
constexpr std::size_t table_share = 8, set_share = 256;

}  // namespace

bool distinct_spill::can_keep(const ir::type& t) { return t.trivial || has_bytes(t); }

distinct_spill::distinct_spill(const ir::type* t, runtime::run_context& context)
    : type_(t), context_(&context), store_({{{0, t}}}, bits, 0, false, context) {}

bool distinct_spill::full() const { return context_->pool.used() > context_->pool.limit() / 2; }
std::size_t distinct_spill::least_bytes() const { return context_->pool.limit() / set_share; }

void distinct_spill::put(const void* values, std::size_t n) {
  begun_.store(true, std::memory_order_relaxed);
  partition_writer to(store_, parts_.fetch_add(1, std::memory_order_relaxed));
  std::uint64_t hashes[batch_rows];
  std::uint16_t partitions[batch_rows];
  const detail::stop_point stop;
  for (std::size_t from = 0; from < n; from += batch_rows) {
    stop.check();
    const std::size_t k = std::min(batch_rows, n - from);
    const auto* const some = static_cast<const std::byte*>(values) + from * type_->size;
    hash_keys(*type_, some, k, hashes);
    for (std::size_t i = 0; i < k; ++i) partitions[i] = static_cast<std::uint16_t>(hashes[i] >> (64 - bits));
    const column all{some, type_->size, 0, type_->size, nullptr, true};
    to.append({&all, 1}, k, partitions, true);
  }
  to.finish();
}

std::uint64_t distinct_spill::count() {
  store_.drop_spares();
  const auto threads = static_cast<std::size_t>(std::max(1, context_->scheduler.concurrency()));
  const std::size_t bytes_at_once = std::max<std::size_t>(1, context_->pool.limit() / table_share / threads);
  std::atomic<std::uint64_t> all{0};
  std::atomic<std::size_t> next{0};
  const vertex_tasks tasks(*context_, std::vector<detail::binding>());
  tasks.for_each(std::min(threads, store_.partitions()), [&](std::size_t) {
    for (std::size_t p; (p = next.fetch_add(1, std::memory_order_relaxed)) < store_.partitions();) {
      all.fetch_add(count(p, bytes_at_once), std::memory_order_relaxed);
      store_.release(p);
    }
  });
  return all;
}

// Where they are too many for one table, they are read several times, each time for some of the hashes.
std::uint64_t distinct_spill::count(std::size_t partition, std::size_t bytes_at_once) {
  constexpr std::size_t table_bytes = 96;  // for each value, while the table grows
  const std::uint64_t bytes = store_.rows_of(partition) * (table_bytes + 3 * type_->size) + store_.heap_bytes(partition);
  const std::uint64_t passes = bytes / bytes_at_once + 1, width = std::numeric_limits<std::uint64_t>::max() / passes + (passes > 1);
  std::uint64_t found = 0;
  std::uint64_t hashes[column_batch_rows];
  std::uint32_t some[column_batch_rows], ids[column_batch_rows];
  const detail::stop_point stop;
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    grouper values(type_, context_->pool);
    values.expect_sparse();
    store_.read(partition, [&](const stored_rows& r) {
      stop.check();
      const column& c = r.rows.columns[0];
      key_part part{.type = type_, .base = static_cast<const std::byte*>(c.base), .stride = c.stride, .select = c.select};
      hash_keys(*type_, {&part, 1}, 0, r.rows.n, hashes);
      std::size_t k = 0;
      for (std::size_t i = 0; i < r.rows.n; ++i)
        if ((hashes[i] << bits) / width == pass) some[k++] = c.select ? c.select[i] : static_cast<std::uint32_t>(i);
      part.select = some;
      values.find_or_insert({&part, 1}, 0, k, ids);
    });
    found += values.size();
  }
  return found;
}

}  // namespace query::cpu
