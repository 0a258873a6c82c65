// Blocks of rows into tables in shared memory, whose states then go into the stream's table.
#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/operators/kernels_ahead.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/out_of_core/group_stream.hpp"

namespace query::gpu_engine {

namespace {

constexpr std::uint64_t worth_a_sample = 4 * sampled_rows;  // shorter blocks go by the sample of one before them
constexpr std::uint64_t few_groups = 256;                   // a guess, while nothing is known

}  // namespace

// Each long block has a sample of its own: keys of a block may be others than those before it.
void group_stream::choose_tier() {
  unsampled_ += in_->size();
  if (unsampled_ < worth_a_sample || in_->size() < sampled_rows / 16) return;
  const std::uint64_t groups = groups_of_block();
  unsampled_ = 0;
  tier_ = plan_tier(*g_, in_->size(), groups, shared_memory_of_block(run_));
  if (!shared_program(tier_->tier)) tier_.reset();
}

// As many as there are rows where memory is short: the sample must not make blocks shorter.
std::uint64_t group_stream::groups_of_block() {
  if (!sample_) {
    sample_.emplace(generate_group_kernels(v_, in_->layout(), group_program::sample));
    // While the kernel that looks at a sample is made for the first time, so are those that are likely to be wanted.
    if (!known_or_begun(run_, sample_->source)) {
      const gpu::group_plan likely = plan_tier(*g_, in_->size(), few_groups, shared_memory_of_block(run_));
      if (shared_program(likely.tier)) (void)known_or_begun(run_, shared_kernels(likely.tier).source);
      (void)known_or_begun(run_, g_->source);
    }
  }
  const round_recording::aside once;
  run_.reset_status();
  try {
    return groups_by_sample(*sample_, *in_, run_);
  } catch (const out_of_memory&) {
    run_.context().cancel.check();
    return in_->size();
  }
}

const group_kernels& group_stream::shared_kernels(gpu::group_tier tier) {
  static_assert(static_cast<int>(gpu::group_tier::shared_block) == 2);
  std::optional<group_kernels>& program = shared_[static_cast<int>(tier)];
  if (!program) program.emplace(generate_group_kernels(v_, in_->layout(), shared_program(tier).value(), group_output::pairs));
  return *program;
}

// False, with nothing changed, if there is no memory for it.
bool group_stream::take_shared() {
  const group_kernels& g = shared_kernels(tier_->tier);
  const gpu::shared_group_shape& shape = tier_->shape;
  const std::uint64_t n = in_->size(), tile_rows = 32 * items_of(*g_), row_tiles = n / tile_rows + 1;
  const auto kernel = run_.compile(g.source, "aggregate_shared_rows");
  const auto grid = static_cast<unsigned>(std::min<std::uint64_t>(resident_blocks(*kernel, shape.threads, shape.bytes),
                                                                  gpu::divide_up(n, std::uint64_t{shape.threads} * items_of(*g_))));
  const std::uint64_t entries = std::uint64_t{grid} * shape.capacity, state_tiles = entries / 32 + 1;
  device_buffer states, sizes, lists[2];
  try {
    for (device_buffer& t : tiles_) t = run_.allocate(row_tiles * 8);
    for (device_buffer& t : lists) t = run_.allocate(state_tiles * 8);
    states = run_.allocate(entries * g.partial_bytes);
    sizes = run_.allocate(std::uint64_t{grid} * 4);
  } catch (const out_of_memory&) {
    run_.context().cancel.check();
    for (device_buffer& t : tiles_) t.reset();
    return false;
  }
  const listing rows{{tiles_[0].address(), tiles_[1].address()}, row_tiles, again_word, full_word},
      partial{{lists[0].address(), lists[1].address()}, state_tiles, merge_again_word, merge_full_word};
  run_.reset_status();
  args_[threads] = shape.threads;
  args_[capacity] = shape.capacity;
  args_[word_bits] = shape.word_bits;
  args_[shape_bytes] = shape.bytes;
  args_[partials] = states.address();
  args_[partial_counts] = sizes.address();
  args_[partial_entries] = entries;
  args_[listed_tiles] = args_[listed_count] = 0;
  list_in(rows, 0);
  launch_of(g, "aggregate_shared_rows", {grid, shape.threads, shape.bytes});
  // From here on rows are in the table, those that found no place in shared memory: a lack of memory is no reason to read the block again.
  try {
    list_in(partial, 0);
    launch_of(g, "merge_partials", {run_.blocks(entries), 256, 0});
    run_.finish(g.source);
    place_listed(*g_, "aggregate_rows", rows);
    place_listed(g, "merge_partials", partial);
  } catch (const out_of_memory& e) {
    throw resource_error(e.what());
  }
  list_in(rows, 0);
  return true;
}

}  // namespace query::gpu_engine
