// A group_stream's groups in host memory, and all that it does where device memory is short: by the reserve, if there is no more.
#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/out_of_core/group_stream.hpp"
#include "gpu_engine/out_of_core/spill_levels.hpp"
#include "gpu_engine/reserved_room.hpp"
#include "gpu_primitives/group_aggregate.cuh"

namespace query::gpu_engine {

namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

void group_stream::hold_reserve() {
  if (reserve_.memory) return;
  const reserved_room::serving longer_than_a_block(nullptr);
  reserve r;
  r.bytes = bytes_of_reserve(run_.gpu().memory().budget(), g_->partial_bytes, g_->out->size);
  r.pairs = r.bytes / g_->partial_bytes;
  const std::size_t table = aligned(table_bytes(fewest_table_bits)), piece = aligned(r.bytes), places_of = aligned(r.pairs * 4),
                    list = aligned((r.pairs / 32 + 1) * 8);
  r.memory = run_.allocate(table + 2 * piece + places_of + 2 * list);
  r.table = r.memory.address();
  r.leaving = r.table + table;
  r.arriving = r.leaving + piece;
  r.leaving_to = r.arriving + piece;
  r.tiles = {r.leaving_to + places_of, r.leaving_to + places_of + list};
  // Kernels take memory when they are loaded.
  for (const char* entry : {"init_table", "aggregate_rows", "grow_table", "spill_groups", "pair_groups", "merge_partials", "emit_table"})
    (void)run_.compile(g_->source, entry);
  reserve_ = std::move(r);
  args_[spill_seed] = seed_of_level(0);
}

void group_stream::use_last_table() {
  table_.reset();
  empty_table(reserve_.table, fewest_table_bits);
}

bool group_stream::make_room() {
  calm_ = 0;
  if (!has_table_ || !table_) return false;
  spill();
  const auto before = static_cast<std::uint32_t>(args_[bits]);
  has_table_ = false;
  table_.reset();
  if (before > fewest_table_bits + 1) {
    most_table_bytes_ = table_bytes(before - 2);
    start_table(before - 2);
  } else {
    most_table_bytes_ = table_bytes(fewest_table_bits);
    use_last_table();
    has_table_ = true;
  }
  return true;
}

// The table's groups go to host memory; the table is empty then. Never fails for a lack of device memory.
void group_stream::spill() {
  if (pairs_) pairs_to_table();
  if (!*spilled_to_) spilled_to_->emplace(g_->partial_bytes, spill_parts, run_.context());
  if (!has_table_) return;
  const std::uint64_t at_hand = args_[partials];  // pairs that may be under way into the table
  if (const std::uint64_t groups = count_groups()) spill_groups(groups);
  args_[partials] = at_hand;
  empty_table(args_[slots], static_cast<std::uint32_t>(args_[bits]));
}

// All at once where there is memory for them; else of as many slots at a time as their groups have room.
void group_stream::spill_groups(std::uint64_t groups) {
  std::uint64_t room = groups;
  device_buffer pairs, place;
  while (!place && room > reserve_.pairs) {
    try {
      pairs = run_.allocate(room * g_->partial_bytes);
      place = run_.allocate(room * 4);
    } catch (const out_of_memory&) {
      run_.context().cancel.check();
      pairs.reset();
      room /= 4;
    }
  }
  if (!place) room = std::min(groups, reserve_.pairs);
  args_[partials] = place ? pairs.address() : reserve_.leaving;
  args_[places] = place ? place.address() : reserve_.leaving_to;
  const std::uint64_t slots_in_all = gpu::table_slots(static_cast<std::uint32_t>(args_[bits])), step = room < groups ? room : slots_in_all;
  const runtime::run_context& c = run_.context();
  const runtime::buffer rows = run_.context().pool.allocate(groups * g_->partial_bytes), of = run_.context().pool.allocate(groups * 4);
  std::uint64_t done = 0;
  for (std::uint64_t first = 0; first < slots_in_all && done < groups; first += step) {
    args_[first_slot] = first;
    args_[end_slot] = std::min(first + step, slots_in_all);
    put_out("spill_groups", room);
    std::uint64_t n = groups;
    if (step < slots_in_all) {
      run_.finish(g_->source);
      n = run_.read(groups_word);
      if (n > room || done + n > groups) throw internal_error("gpu: group_by: the number of groups changed between two runs");
      if (!n) continue;
    }
    run_.gpu().copies().download_plain(rows.as<std::byte>() + done * g_->partial_bytes, args_[partials], n * g_->partial_bytes, run_.on(),
                                       c.scheduler, c.cancel);
    run_.gpu().copies().download_plain(of.as<std::uint32_t>() + done, args_[places], n * 4, run_.on(), c.scheduler, c.cancel);
    done += n;
  }
  if (done != groups) throw internal_error("gpu: group_by: the number of groups changed between two runs");
  (*spilled_to_)->append(rows.data(), of.as<std::uint32_t>(), groups);
  ++run_.context().pieces->spills;
}

void group_stream::take_spilled(group_stream& other) {
  if (!spilled_) spilled_.emplace(g_->partial_bytes, spill_parts, run_.context());
  other.spill();
  for (std::uint32_t part = 0; part < spill_parts; ++part)
    for (const host_partitions::piece& piece : other.spilled_->rows_of(part))
      spilled_->append(piece.rows, std::vector<std::uint32_t>(piece.n, part).data(), piece.n);
}

// The groups of each part, which has all pairs of its keys, in an empty table: of small parts as many at once as surely have room in the
// reserve's. What does not fit is put apart once more. `level`: that of the parts of these parts.
void group_stream::merge_parts(const host_partitions& parts, std::uint32_t level, std::vector<detail::table>& tables) {
  spill_level here(level, spilled_to_, args_[spill_seed]);
  const std::uint64_t room = std::min<std::uint64_t>((std::uint64_t{1} << fewest_table_bits) / 4, reserve_.bytes / g_->out->size);
  for (std::uint32_t part = 0, end = 0; part < parts.parts(); part = end) {
    end = parts.end_of(part, here.together(room));
    const std::uint64_t pairs = parts.size(part, end);
    if (!pairs) continue;
    run_.context().cancel.check();
    std::optional<host_partitions> smaller;
    here.spill_to(smaller);
    const std::uint32_t wanted = bits_of_table(pairs);
    if (!has_table_ || args_[bits] != wanted) start_table(wanted);
    else empty_table(args_[slots], wanted);
    {
      runtime::buffer memory;
      for (const host_partitions::piece& piece : parts.long_pieces_of(part, end, memory)) merge_pairs(piece.rows, piece.n);
    }
    if (!smaller && tables_on_host(count_groups(), tables)) continue;
    spill();
    merge_parts(*smaller, level + 1, tables);
  }
}

void group_stream::merge_pairs(const void* rows, std::uint64_t n) {
  std::uint64_t most = std::min<std::uint64_t>(n, std::max<std::uint64_t>(most_table_bytes_ / 2 / g_->partial_bytes, 1));
  device_buffer memory, lists[2];
  while (!lists[1] && most > reserve_.pairs) {
    try {
      memory = run_.allocate(most * g_->partial_bytes);
      for (device_buffer& t : lists) t = run_.allocate((most / 32 + 1) * 8);
    } catch (const out_of_memory&) {
      run_.context().cancel.check();
      memory.reset();
      lists[0].reset();
      most /= 4;
    }
  }
  const bool reserved = !lists[1];
  if (reserved) most = reserve_.pairs;
  const device_address at = reserved ? reserve_.arriving : memory.address();
  const std::array<device_address, 2> tiles = reserved ? reserve_.tiles : std::array{lists[0].address(), lists[1].address()};
  const runtime::run_context& c = run_.context();
  for (std::uint64_t first = 0; first < n; first += most) {
    const std::uint64_t some = std::min(most, n - first);
    run_.gpu().copies().upload_plain(at, static_cast<const std::byte*>(rows) + first * g_->partial_bytes, some * g_->partial_bytes,
                                     run_.on(), c.scheduler, c.cancel);
    args_[partials] = at;
    args_[partial_entries] = some;
    place_all("merge_partials", tiles, some / 32 + 1, run_.blocks(some));
  }
}

// False if there is no room for so many rows on the device.
bool group_stream::tables_on_host(std::uint64_t groups, std::vector<detail::table>& tables) {
  const std::size_t bytes = groups * g_->out->size;
  if (bytes > reserve_.bytes) {
    try {
      tables.push_back(emit(groups)->fetch(run_.context()));
      return true;
    } catch (const out_of_memory&) {
      run_.context().cancel.check();
      return false;
    }
  }
  args_[out] = reserve_.leaving;
  put_out("emit_table", groups);
  run_.finish(g_->source);
  if (run_.read(groups_word) != groups) throw internal_error("gpu: group_by: the number of groups changed between two runs");
  const runtime::run_context& c = run_.context();
  auto memory = std::make_shared<runtime::buffer>(run_.context().pool.allocate(std::max<std::size_t>(bytes, 1)));
  run_.gpu().copies().download_plain(memory->data(), reserve_.leaving, bytes, run_.on(), c.scheduler, c.cancel);
  detail::table t;
  t.type = g_->out;
  t.n = groups;
  t.rows = memory->data();
  t.owner = std::move(memory);
  tables.push_back(std::move(t));
  return true;
}

}  // namespace query::gpu_engine
