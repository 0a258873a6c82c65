#include "gpu_engine/operators/grouped_build.hpp"

#include <algorithm>

#include <query/errors.hpp>

#include "gpu_primitives/join_tiles.cuh"
#include "gpu_primitives/radix_sort.cuh"

namespace query::gpu_engine {

namespace {

constexpr std::uint64_t first_mapped = 1 << 17;  // rows: frequent keys are among them
constexpr std::uint32_t spare_bits = 3;          // by which a table grows where hashes crowd

// Sizes of a sort of build rows by their groups, which depend on how rows are numbered.
struct sort_shape {
  std::uint64_t count_threads, count_items, threads, tile, temp_bytes, shared;
  template <class Number> static sort_shape of(std::uint64_t n) {
    using policy = gpu::radix_policy<gpu::u32, Number>;
    return {policy::histogram_threads,
            policy::histogram_items,
            policy::threads,
            std::uint64_t{policy::threads} * policy::items,
            gpu::radix_temp_bytes<policy, Number>(n),
            gpu::radix_shared_bytes<policy, gpu::u32, Number>()};
  }
};

}  // namespace

grouped_build::grouped_build(const join_kernels& g, vertex_run& run, std::span<const device_rows* const> inputs, join_arguments& args,
                             const detail::logical& join, const build_side& side, bool asked)
    : g_(g), run_(run), inputs_(inputs), args_(args), table_(find_build(join, side, g.source, run)) {
  const std::uint64_t probe_n = inputs[0]->size(), build_n = inputs[1]->size();
  std::shared_ptr<build_table> made;  // null: the table is known
  if (!table_ || !table_->grouped) table_ = made = make_table(build_n);
  probe_ids_ = run_.allocate(std::max<std::uint64_t>(probe_n, 1) * 4);
  if (asked) asked_ = run_.zeroed(std::max<std::uint64_t>(build_n, 1));
  args_[join_group_of_build] = table_->group_of_build.address();
  args_[join_group_of_probe] = probe_ids_.address();
  args_[join_asked] = asked_.address();
  args_[join_slots] = table_->slots.address();
  args_[join_bits] = table_->bits;
  args_[join_flag] = run_.status_word(flag_word);
  args_[join_id_count] = run_.status_word(ids_word);
  if (!made) {
    args_[join_offsets] = table_->offsets.address();
    args_[join_build_rows] = table_->rows_by_group.address();
    look_up(probe_n);
    run_.finish(g_.source);  // errors of its keys
    return;
  }
  find_groups(*made, build_n, probe_n, join.label);
  const bool keeps = may_keep(side, *made, g_.source, run_);
  if (!keeps) made->slots.reset();
  sort_rows(*made, run_.read(ids_word), build_n);
  if (keeps) keep_build(join, side, table_, g_.source, run_);
}

std::shared_ptr<build_table> grouped_build::make_table(std::uint64_t build_n) {
  const std::uint64_t n = std::max<std::uint64_t>(build_n, 1);
  auto made = std::make_shared<build_table>();
  made->grouped = true;
  made->group_of_build = run_.allocate(n * 4);
  start_table(*made, gpu::table_bits(n));
  return made;
}

void grouped_build::start_table(build_table& made, std::uint32_t bits) {
  const std::uint64_t bytes = gpu::table_slots(bits) * g_.slot_bytes;
  made.slots.reset();
  made.slots = run_.allocate(bytes);
  made.bits = bits;
  run_.fill(made.slots.address(), 0xff, bytes);
}

// Where hashes crowd, rows find no place in a table that has many: a larger one, and all rows again.
void grouped_build::find_groups(build_table& made, std::uint64_t build_n, std::uint64_t probe_n, const std::string& label) {
  for (const std::uint32_t most = made.bits + spare_bits;;) {
    map_rows(build_n);
    look_up(probe_n);
    run_.finish(g_.source);
    if (!(run_.read(flag_word) & 0xffffffffu)) return;
    if (made.bits == most) throw resource_error("query: " + label + ": the GPU's table of keys is full");
    run_.context().cancel.check();
    start_table(made, made.bits + 1);
    args_[join_slots] = made.slots.address();
    args_[join_bits] = made.bits;
    if (args_[join_asked]) run_.fill(args_[join_asked], 0, std::max<std::uint64_t>(build_n, 1));
    for (const std::size_t word : {flag_word, ids_word}) run_.fill(run_.status_word(word), 0, 8);
  }
}

void grouped_build::map_rows(std::uint64_t build_n) {
  // A second kernel finds the keys of the first one's rows in its L1 cache, which shows a slot as it was when the kernel first saw it.
  const std::uint64_t first = build_n > 2 * first_mapped ? first_mapped : build_n;
  for (const auto& [from, rows] : {std::pair(std::uint64_t{0}, first), std::pair(first, build_n - first)}) {
    args_[join_first_row] = from;
    args_[join_build_count] = rows;
    if (rows) launch("map_build", rows);
  }
}

void grouped_build::look_up(std::uint64_t probe_n) {
  if (!probe_n) return;
  const unsigned blocks = blocks_for(gpu::partner_blocks(probe_n), 1);
  run_.launch(g_.source, *run_.compile(g_.source, "lookup_probe"), {blocks, gpu::partner_threads, 0}, inputs_, args_);
}

void grouped_build::sort_rows(build_table& made, std::uint64_t groups, std::uint64_t build_n) {
  made.offsets = run_.zeroed((groups + 1) * 8);
  args_[join_offsets] = made.offsets.address();
  const std::uint64_t n = std::max<std::uint64_t>(build_n, 1);
  made.rows_by_group = run_.allocate(n * g_.number_bytes);
  args_[join_build_rows] = made.rows_by_group.address();
  if (!build_n) return;
  const sort_shape shape = g_.number_bytes == 8 ? sort_shape::of<gpu::u64>(n) : sort_shape::of<gpu::u32>(n);
  const device_buffer temporary = run_.zeroed(shape.temp_bytes), keys_0 = run_.allocate(n * 4), keys_1 = run_.allocate(n * 4),
                      between = run_.allocate(n * g_.number_bytes);
  args_[join_sort_temp] = temporary.address();
  args_[join_sort_keys_0] = keys_0.address();
  args_[join_sort_keys_1] = keys_1.address();
  args_[join_sort_rows] = between.address();
  const auto count = run_.compile(g_.source, "count_groups_of_rows"), sweep = run_.compile(g_.source, "sort_rows");
  const std::uint64_t resident = resident_blocks(*count, static_cast<unsigned>(shape.count_threads));
  run_.launch(g_.source, *count,
              {static_cast<unsigned>(std::clamp<std::uint64_t>(gpu::divide_up(n, shape.count_threads * shape.count_items), 1, resident)),
               static_cast<unsigned>(shape.count_threads), 0},
              inputs_, args_);
  for (std::uint32_t pass = 0; pass < gpu::radix_passes(32); ++pass) {
    args_[join_sort_pass] = pass;
    run_.launch(g_.source, *sweep,
                {static_cast<unsigned>(gpu::divide_up(n, shape.tile)), static_cast<unsigned>(shape.threads), shape.shared}, inputs_, args_);
  }
  launch("find_offsets", n);
}

void grouped_build::launch(const char* entry, std::uint64_t items) {
  run_.launch(g_.source, *run_.compile(g_.source, entry), {run_.blocks(items), 256, 0}, inputs_, args_);
}

}  // namespace query::gpu_engine
