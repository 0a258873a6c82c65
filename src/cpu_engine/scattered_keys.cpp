#include "cpu_engine/scattered_keys.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <query/cpu/typed_segment.hpp>

namespace query::cpu {

namespace {

constexpr std::size_t bands = 16;
// Rows of a chunk, whose keys are there twice for a while: about a 64th, but for small and large tables.
constexpr std::size_t least_chunk = 1 << 18, most_chunk = 1 << 20;

// out[i] = from[ids[i] - first], moved where the type can move; `from` stays alive.
void take_keys(const ir::type* type, void* from, const std::uint32_t* ids, std::size_t first, std::size_t n, rows_buffer& out) {
  if (!n) return;
  auto* source = static_cast<std::byte*>(from);
  const auto copy = [&](auto width) {
    auto* to = static_cast<std::byte*>(out.extend(n));
    for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * width, source + (ids[i] - first) * width, width);
    out.grow(n);
  };
  if (type->trivial) {
    switch (type->size) {
      case 4: return copy(std::integral_constant<std::size_t, 4>{});
      case 8: return copy(std::integral_constant<std::size_t, 8>{});
      case 16: return copy(std::integral_constant<std::size_t, 16>{});
      default: return copy(type->size);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::byte* key = source + (ids[i] - first) * type->size;
    if (type->life.move) out.take_rows(key, 1);
    else out.append_rows(key, 1);
  }
}

}  // namespace

scattered_keys::scattered_keys(const function_calls& key, const ir::type* type, key_equality equality, const detail::table& rows,
                               unsigned bits, const vertex_tasks& tasks)
    : type_(type), pool_(&tasks.pool()), bits_(bits), of_band_(std::max<std::size_t>(1, (std::size_t{1} << bits) / bands)) {
  const std::size_t partitions = std::size_t{1} << bits, n = rows.n;
  left_ = std::make_unique<std::atomic<std::size_t>[]>(partitions / of_band_);
  for (std::size_t b = 0; b < partitions / of_band_; ++b) left_[b] = of_band_;
  chunks_.resize(std::max({std::size_t{1}, std::min<std::size_t>(64, n / least_chunk), n / most_chunk}));
  const std::size_t per_chunk = (n + chunks_.size() - 1) / chunks_.size();
  tasks.for_each(chunks_.size(), [&](std::size_t c) {
    const std::size_t first = std::min(n, c * per_chunk);
    scatter(key, equality, rows, first, std::min(n - first, per_chunk), tasks, chunks_[c]);
  });
}

void scattered_keys::scatter(const function_calls& key, key_equality equality, const detail::table& rows, std::size_t first, std::size_t n,
                             const vertex_tasks& tasks, chunk& to) const {
  const std::size_t partitions = std::size_t{1} << bits_;
  rows_buffer keys(type_, *pool_);
  keys.reserve(n);
  const runtime::buffer where = pool_->allocate_array<std::uint16_t>(n);
  auto* partition_of = where.as<std::uint16_t>();
  std::vector<std::uint32_t> counts(partitions, 0);
  interpreter::scratch scratch;
  std::uint64_t hashes[batch_rows];
  for (std::size_t from = 0; from < n; from += batch_rows) {
    const std::size_t k = std::min(batch_rows, n - from);
    tasks.cancel().check();
    key.map(row_at(rows, first + from), nullptr, k, keys.extend(k), scratch);
    keys.grow(k);
    hash_keys(*type_, keys.at(from), k, hashes, equality);
    for (std::size_t i = 0; i < k; ++i) {
      const auto p = static_cast<std::uint16_t>(hashes[i] >> (64 - bits_));
      partition_of[from + i] = p;
      ++counts[p];
    }
  }
  // Places count from the start of the band.
  to.begins.resize(partitions + partitions / of_band_);  // one more a band: its end
  std::vector<std::uint32_t> next(partitions);
  std::vector<std::uint32_t*> ids(partitions);
  for (std::size_t b = 0, at = 0; b < partitions / of_band_; ++b) {
    std::uint32_t sum = 0;
    for (std::size_t p = b * of_band_; p < (b + 1) * of_band_; ++p) {
      to.begins[at++] = next[p] = sum;
      sum += counts[p];
    }
    to.begins[at++] = sum;
    band& made = to.bands.emplace_back(band{pool_->allocate_array<std::uint32_t>(sum), rows_buffer(type_, *pool_)});
    made.keys.reserve(sum);
    for (std::size_t p = b * of_band_; p < (b + 1) * of_band_; ++p) ids[p] = made.rows.as<std::uint32_t>();
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t p = partition_of[i];
    ids[p][next[p]++] = static_cast<std::uint32_t>(first + i);
  }
  for (band& b : to.bands) {
    tasks.cancel().check();
    take_keys(type_, keys.data(), b.rows.as<std::uint32_t>(), first, b.rows.size() / sizeof(std::uint32_t), b.keys);
  }
}

std::size_t scattered_keys::rows_of(std::size_t partition) const {
  std::size_t n = 0;
  each_run(partition, [&](const std::uint32_t*, const void*, std::size_t k) { n += k; });
  return n;
}

void scattered_keys::each_run(std::size_t partition,
                              function_ref<void(const std::uint32_t* rows, const void* keys, std::size_t n)> f) const {
  const std::size_t b = partition / of_band_, at = partition + b;
  for (const chunk& c : chunks_) {
    const std::size_t first = c.begins[at], n = c.begins[at + 1] - first;
    if (n) f(c.bands[b].rows.as<std::uint32_t>() + first, c.bands[b].keys.at(first), n);
  }
}

void scattered_keys::release(std::size_t partition) {
  const std::size_t b = partition / of_band_;
  if (left_[b].fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (chunk& c : chunks_) c.bands[b] = band{runtime::buffer(), rows_buffer(type_, *pool_)};
}

}  // namespace query::cpu
