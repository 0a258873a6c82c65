#include "gpu_engine/out_of_core/group_stream.hpp"

#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/operators/nearest.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/reserved_room.hpp"
#include "gpu_primitives/group_aggregate.cuh"

namespace query::gpu_engine {

namespace {

constexpr std::uint32_t first_table_bits = 16;
constexpr int calm_blocks = 8;  // until a table that was made smaller may grow again

// Of a session's memory: a sixth for the table, as much again for what is spilled of it, the rest for blocks and build
// sides.
std::size_t share_of_table(std::size_t budget) { return budget / 6; }

}  // namespace

group_kernels group_stream::generate(const planner::vertex& v, const input_layout& in) {
  group_kernels g = generate_group_kernels(v, in, group_program::global);
  kernel_source& k = g.source;
  const auto arg = [&](std::uint32_t a, std::string_view type = "u64") { return k.argument(a, type); };
  k.include("gpu_primitives/group_aggregate.cuh");
  k.include("gpu_primitives/group_exchange.cuh");
  // Puts the table's groups out as pairs; `also`: of the pair that goes to out[at].
  const auto emission = [&](const std::string& entry, const std::string& before, const std::string& also, const std::string& slots) {
    k.add("extern \"C\" __global__ void __launch_bounds__(256) " + entry +
          "(const __grid_constant__ words p) {\n  partial* const out = " + arg(partials, "partial*") + ";\n" + before +
          "  emit_groups<Keys, aggregates>(the_table(p), " + arg(group_count, "u64*") +
          ", [&](u64 at, const Key& key, const aggregates::State& s) {\n    if (at >= " + arg(out_capacity) +
          ") return;\n    partial x;\n    x.key = key;\n    x.state = s;\n    out[at] = x;\n" + also + "  }" + slots + ");\n}\n");
  };
  // Other bits than those that place a key in a table.
  emission("spill_groups", "  u32* const place = " + arg(places, "u32*") + ";\n",
           "    place[at] = u32(mix64(Keys{}.hash(key) + " + arg(spill_seed) + ") >> 32) % " + std::to_string(spill_parts) + "u;\n",
           ", " + arg(first_slot) + ", " + arg(end_slot));
  emission("pair_groups", "", "", "");
  const std::string pairs = arg(partials, "const partial*") + ", " + arg(partial_entries) + ", (u32)" + arg(part_count) + ", ";
  k.add("extern \"C\" __global__ void __launch_bounds__(256) count_pairs_of_parts(const __grid_constant__ words p) {\n  "
        "count_pairs<Keys, aggregates::State>(" +
        pairs + arg(part_counts, "u64*") + ", Keys{});\n}\n");
  k.add("extern \"C\" __global__ void __launch_bounds__(256) scatter_pairs_to_parts(const __grid_constant__ words p) {\n  "
        "scatter_pairs<Keys, aggregates::State>(" +
        pairs + arg(part_counts, "const u64*") + ", " + arg(part_cursors, "u64*") + ", " + arg(out, "partial*") + ", Keys{});\n}\n");
  k.add(
      "extern \"C\" __global__ void __launch_bounds__(256) merge_partials(const __grid_constant__ words p) {\n  "
      "merge_groups(group_rows{" +
      arg(partial_entries) + ", " + arg(listed_tiles, "const u64*") + ", " + arg(listed_count) +
      "}, the_table(p), the_list(p), Keys{}, plain_partials<Key, aggregates::State>{" +
      arg(partials, "const partial*") + "});\n}\n");
  return g;
}

bool group_stream::possible(const planner::vertex& v, const input_layout& in) {
  if (wants_groups_in_order(v)) return false;
  const group_kernels g = generate_group_kernels(v, in, group_program::rows);
  return g.key.bytes != 0 && !g.aggregates.row_numbers && !g.aggregates.texts && same_on_device(v.node->row);
}

group_stream::group_stream(const planner::vertex& v, vertex_run& run)
    : v_(v), run_(run), most_table_bytes_(share_of_table(run.gpu().memory().budget())) {}

std::size_t group_stream::table_bytes(std::uint32_t bits) const { return gpu::table_slots(bits) * g_->slot_bytes; }

std::uint32_t group_stream::bits_of_table(std::uint64_t keys) const {
  std::uint32_t wanted = gpu::table_bits(std::max<std::uint64_t>(keys, 1));
  while (wanted > fewest_table_bits && table_bytes(wanted) > most_table_bytes_) --wanted;
  return wanted;
}

void group_stream::launch_of(const group_kernels& g, const char* entry, launch_shape shape) {
  const std::array<const device_rows*, 1> inputs = {in_.get()};
  run_.launch(g.source, *run_.compile(g.source, entry), shape, inputs, args_);
}

void group_stream::start_table(std::uint32_t table_bits) {
  hold_reserve();
  has_table_ = false;
  table_.reset();
  try {
    make_table(table_bits);
  } catch (const out_of_memory&) {
    run_.context().cancel.check();
    use_last_table();
  }
  has_table_ = true;
}

void group_stream::make_table(std::uint32_t table_bits) {
  const reserved_room::serving longer_than_a_block(nullptr);
  device_buffer made = run_.allocate(table_bytes(table_bits));
  // May bring a captured collection, and lack memory for that: a table is one when it is empty, not before.
  empty_table(made.address(), table_bits);
  table_ = std::move(made);
}

void group_stream::empty_table(device_address at, std::uint32_t table_bits) {
  args_[slots] = at;
  args_[bits] = table_bits;
  launch("init_table", run_.blocks(gpu::table_slots(table_bits)));
}

void group_stream::take(const std::shared_ptr<const device_rows>& block) {
  const std::uint64_t n = block->size();
  // A share's rows that did not fit by field, as they lay on its device, come whole: keys and states are the same.
  if (!g_ || !same_columns(no_rows_->layout(), block->layout())) {
    g_.emplace(generate(v_, block->layout()));
    auto none = std::make_shared<device_rows>(run_.shared_gpu(), block->layout().row, 0);
    for (const input_column& c : block->layout().columns) none->add(c, device_address{0});
    no_rows_ = std::move(none);
    sample_.reset();
    for (auto& program : shared_) program.reset();
  }
  if (!n) return hold_reserve();  // for rows of later blocks
  // Whatever happens, the block's memory is not held longer.
  const struct reading {
    reading(group_stream& g, const std::shared_ptr<const device_rows>& rows) : of(g) { of.in_ = rows; }
    ~reading() { of.in_ = of.no_rows_; }
    group_stream& of;
  } now(*this, block);
  if (one_block_ && !has_table_ && !pairs_ && take_at_once(block)) return;
  choose_tier();
  if (pairs_) pairs_to_table();
  if (!has_table_) {
    start_table(bits_of_table((std::uint64_t{1} << first_table_bits) / 2));
  }
  if (!tier_ || !take_shared()) {
    const std::uint64_t tiles = n / (32 * items_of(*g_)) + 1;
    for (device_buffer& t : tiles_) t = run_.allocate(tiles * 8);
    place_all("aggregate_rows", {tiles_[0].address(), tiles_[1].address()}, tiles,
              resident_blocks(*run_.compile(g_->source, "aggregate_rows"), 256));
  }
  if (++calm_ < calm_blocks) return;
  calm_ = 0;
  most_table_bytes_ = std::min(2 * most_table_bytes_, share_of_table(run_.gpu().memory().budget()));
}

bool group_stream::take_at_once(const std::shared_ptr<const device_rows>& block) {
  run_.reset_status();
  try {
    const auto rows = with_nearest(v_.inputs.front(), v_.node, block, run_);
    pairs_ = run_nearest_pairs(v_, rows, run_);
    if (!pairs_) pairs_ = run_group_pairs(v_, rows, run_);
  } catch (const out_of_memory&) {  // a table that is spilled where it may not grow is content with less
    run_.context().cancel.check();
  }
  run_.reset_status();
  return pairs_.has_value();
}

void group_stream::place_all(const char* entry, std::array<device_address, 2> lists, std::uint64_t tiles, unsigned grid) {
  const listing rows{lists, tiles, again_word, full_word};
  run_.reset_status();
  list_in(rows, 0);
  args_[listed_tiles] = args_[listed_count] = 0;
  launch(entry, grid);
  // From here on rows are in the table: a lack of memory can no longer be answered with less of them.
  try {
    run_.finish(g_->source);
    place_listed(*g_, entry, rows);
  } catch (const out_of_memory& e) {
    throw resource_error(e.what());
  }
}

void group_stream::list_in(const listing& l, std::size_t list) {
  args_[again_tiles] = l.tiles[list];
  args_[again_count] = run_.status_word(l.again);
  args_[full] = run_.status_word(l.full);
}

// Until no tile of the first list is without a place: a larger table, or an empty one.
void group_stream::place_listed(const group_kernels& g, const char* entry, const listing& l) {
  std::size_t list = 0;
  std::uint64_t at_once = ~std::uint64_t{0}, tried = 0, waiting = 0;
  for (std::uint64_t count; (count = run_.read(l.again)) != 0; list = 1 - list) {
    run_.context().cancel.check();
    if (count > l.room) throw internal_error("gpu: group_by: more tiles without a place than tiles");
    // Into a table that may not grow, only as many at once as surely find a place: of more, each might claim slots
    // for some of its rows and none for all.
    std::uint64_t step = count;
    if (!grow()) {
      spill();
      // Where hashes crowd, even of these: the keys of four tiles always find a place in an empty table (longest_probe).
      if (count == waiting) at_once = std::max<std::uint64_t>(tried / 2, 1);
      waiting = count;
      const std::uint64_t half = gpu::table_slots(static_cast<std::uint32_t>(args_[bits])) / (2 * 32 * group_items);
      tried = step = std::clamp<std::uint64_t>(half, 1, at_once);
    }
    clear(l.again);
    clear(l.full);
    list_in(l, 1 - list);
    for (std::uint64_t first = 0; first < count; first += step) {
      if (first && run_.read(l.full) & 0xffffffffu) {
        spill();
        clear(l.full);
      }
      args_[listed_tiles] = l.tiles[list] + first * 8;
      args_[listed_count] = std::min(step, count - first);
      launch_of(g, entry, {run_.blocks(args_[listed_count] * 32), 256, 0});
      run_.finish(g.source);
    }
  }
  args_[listed_tiles] = args_[listed_count] = 0;
}

// False if a larger table is not to be had.
bool group_stream::grow() {
  const auto old_bits = static_cast<std::uint32_t>(args_[bits]);
  std::uint32_t wider = old_bits + 2;
  if (table_bytes(wider) > most_table_bytes_) wider = old_bits + 1;
  if (table_bytes(wider) > most_table_bytes_) return false;
  const device_address old_slots = args_[slots];
  device_buffer before = std::move(table_);
  const auto keep_old = [&] {
    table_ = std::move(before);
    args_[slots] = old_slots;
    args_[bits] = old_bits;
  };
  try {
    make_table(wider);
  } catch (const out_of_memory&) {
    keep_old();
    return false;
  }
  args_[larger_slots] = args_[slots];
  args_[larger_bits] = args_[bits];
  args_[slots] = old_slots;
  args_[bits] = old_bits;
  clear(grow_full_word);
  args_[full] = run_.status_word(grow_full_word);
  launch("grow_table", run_.blocks(gpu::table_slots(old_bits)));
  run_.finish(g_->source);
  args_[full] = run_.status_word(full_word);
  if (run_.read(grow_full_word) & 0xffffffffu) {  // hashes crowd
    keep_old();
    return false;
  }
  args_[slots] = args_[larger_slots];
  args_[bits] = args_[larger_bits];
  return true;
}

// Of the table's groups as many as there is room for; how many there are, into groups_word.
void group_stream::put_out(const char* entry, std::uint64_t room) {
  clear(groups_word);
  args_[group_count] = run_.status_word(groups_word);
  args_[out_capacity] = room;
  // A thread goes through a state by itself: wide ones are a thread's each.
  constexpr std::size_t wide_state = 128;
  const std::uint64_t slots_of_thread = g_->aggregates.state_bytes >= wide_state ? 1 : 8;
  launch(entry, run_.blocks(gpu::divide_up(gpu::table_slots(static_cast<std::uint32_t>(args_[bits])), slots_of_thread)));
}

void group_stream::count_groups_later() {
  put_out("pair_groups", 0);
}
std::uint64_t group_stream::count_groups() {
  count_groups_later();
  run_.finish(g_->source);
  return run_.read(groups_word);
}

// Into rows with room for so many groups.
device_buffer group_stream::emit_later(std::uint64_t room) {
  device_buffer rows = run_.allocate(std::max<std::uint64_t>(room, 1) * g_->out->size);
  args_[out] = rows.address();
  put_out("emit_table", room);
  return rows;
}
std::shared_ptr<device_rows> group_stream::emitted(device_buffer memory, std::uint64_t groups) {
  auto rows = std::make_shared<device_rows>(run_.shared_gpu(), g_->out, groups);
  rows->add({0, g_->out}, std::move(memory));
  return rows;
}
std::shared_ptr<device_rows> group_stream::emit(std::uint64_t groups) {
  device_buffer rows = emit_later(groups);
  run_.finish(g_->source);
  if (run_.read(groups_word) != groups)
    throw internal_error("gpu: group_by: the number of groups changed between two runs");
  return emitted(std::move(rows), groups);
}

group_stream::result group_stream::finish() {
  if (!begun()) {
    result r;
    r.kept = std::make_shared<device_rows>(run_.shared_gpu(), v_.node->row, 0);
    r.kept->add({0, v_.node->row}, device_buffer());
    return r;
  }
  if (pairs_ && !spilled_) {
    const pair_range own = all_pairs();
    return finish_pairs({&own, 1});
  }
  if (pairs_) pairs_to_table();
  return finish_counted(spilled_ ? 0 : count_groups());
}

// `groups`: of the table, where nothing was spilled.
group_stream::result group_stream::finish_counted(std::uint64_t groups) {
  result r;
  if (!spilled_) {
    try {
      r.kept = emit(groups);
      return r;
    } catch (const out_of_memory&) {
      run_.context().cancel.check();
    }
  }
  spill();
  merge_parts(*spilled_, 1, r.tables);
  return r;
}

}  // namespace query::gpu_engine
