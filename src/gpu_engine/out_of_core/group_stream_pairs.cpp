// A group_stream's groups as (key, state) pairs: what devices exchange.
#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/out_of_core/group_stream.hpp"
#include "gpu_primitives/group_aggregate.cuh"
#include "gpu_primitives/group_exchange.cuh"

namespace query::gpu_engine {

namespace {

// Rows of so many bytes are written for as many groups as there may be, without a wait for their number.
constexpr std::size_t little_room = std::size_t{16} << 20;

}  // namespace

void group_stream::to_pairs() {
  if (pairs_) return;
  group_pairs p;
  p.bytes = g_->partial_bytes;
  p.n = count_groups();
  if (p.n) {
    p.memory = run_.allocate(p.n * p.bytes);
    args_[partials] = p.memory.address();
    put_out("pair_groups", p.n);
    run_.finish(g_->source);
    if (run_.read(groups_word) != p.n) throw internal_error("gpu: group_by: the number of groups changed between two runs");
  }
  table_.reset();
  has_table_ = false;
  reserve_ = {};
  pairs_ = std::move(p);
}

void group_stream::part_pairs(std::uint32_t parts) {
  static_assert(part_word + gpu::most_exchange_parts < vertex_run::room_word);
  if (parts > gpu::most_exchange_parts) throw internal_error("gpu: group_by: more parts than there are counters");
  std::vector<std::uint64_t> ends(parts + 1);
  if (pairs_->n) {
    device_buffer apart = run_.allocate(pairs_->n * pairs_->bytes);
    const device_buffer cursors = run_.zeroed(parts * 8);
    run_.reset_status();
    args_[partials] = pairs_->memory.address();
    args_[partial_entries] = pairs_->n;
    args_[part_count] = parts;
    args_[part_counts] = run_.status_word(part_word);
    args_[part_cursors] = cursors.address();
    args_[out] = apart.address();
    const unsigned grid = run_.blocks(gpu::divide_up(pairs_->n, 8));
    launch("count_pairs_of_parts", grid);
    launch("scatter_pairs_to_parts", grid);
    run_.finish(g_->source);
    for (std::uint32_t p = 0; p < parts; ++p) ends[p + 1] = ends[p] + run_.read(part_word + p);
    if (ends.back() != pairs_->n) throw internal_error("gpu: group_by: not every group has a part");
    pairs_->memory = std::move(apart);
  }
  starts_ = std::move(ends);
}

group_stream::pair_range group_stream::pairs_of(std::uint32_t part) const {
  return {pairs_->memory.address() + starts_[part] * pairs_->bytes, starts_[part + 1] - starts_[part]};
}

void group_stream::pairs_to_table() {
  group_pairs held = std::move(*pairs_);
  pairs_.reset();
  try {
    start_table(bits_of_table(held.n));
    take_pairs({held.memory.address(), held.n});
  } catch (const out_of_memory&) {
    pairs_ = std::move(held);
    throw;
  }
  starts_.clear();
}

// Pairs into the table, whatever its size.
void group_stream::take_pairs(const pair_range& pairs) {
  if (!pairs.n) return;
  const std::uint64_t tiles = pairs.n / 32 + 1;
  for (device_buffer& t : tiles_) t = run_.allocate(tiles * 8);
  args_[partials] = pairs.at;
  args_[partial_entries] = pairs.n;
  place_all("merge_partials", {tiles_[0].address(), tiles_[1].address()}, tiles, run_.blocks(pairs.n));
}

group_stream::result group_stream::finish_pairs(std::span<const pair_range> ranges) {
  given_ = std::move(pairs_);
  pairs_.reset();
  std::uint64_t total = 0, tiles = 0;
  for (const pair_range& r : ranges) total += r.n, tiles += r.n / 32 + 1;
  const bool little = total * g_->out->size <= little_room;
  start_table(bits_of_table(total));
  tiles_[0] = run_.allocate(std::max<std::uint64_t>(tiles, 1) * 8);
  run_.reset_status();
  args_[again_tiles] = tiles_[0].address();
  args_[again_count] = run_.status_word(again_word);
  args_[full] = run_.status_word(full_word);
  args_[listed_tiles] = args_[listed_count] = 0;
  for (const pair_range& r : ranges) {
    if (!r.n) continue;
    args_[partials] = r.at;
    args_[partial_entries] = r.n;
    launch("merge_partials", run_.blocks(r.n));
  }
  // What comes next is given to the device before it is known whether all pairs found a place: nearly always they did.
  device_buffer rows;
  if (little) rows = emit_later(total);
  else count_groups_later();
  run_.finish(g_->source);
  const std::uint64_t groups = run_.read(groups_word);
  if (!run_.read(again_word)) {
    if (!little) return finish_counted(groups);
    result r;
    r.kept = emitted(std::move(rows), groups);
    return r;
  }
  rows.reset();
  start_table(static_cast<std::uint32_t>(args_[bits]));
  for (const pair_range& r : ranges) take_pairs(r);
  return finish_counted(spilled_ ? 0 : count_groups());
}

}  // namespace query::gpu_engine
