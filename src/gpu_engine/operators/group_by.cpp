// group_by with aggregates: the tier is chosen by a sample of the keys; tables grow where the sample was wrong.
#include <algorithm>
#include <optional>
#include <string_view>

#include <query/errors.hpp>

#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/group_tier.hpp"
#include "gpu_engine/operators/kernels_ahead.hpp"
#include "gpu_engine/operators/nearest.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "runtime/placement/key_values.hpp"

namespace query::gpu_engine {

namespace {

constexpr std::uint64_t few_rows = 2048;    // each may be a group of its own
constexpr std::uint32_t most_table_bits = 33;

// Words of the status block.
enum status : std::size_t {
  again_word = 1,
  full_word,
  merge_again_word,
  merge_full_word,
  groups_word,
  partials_word,
  crowded_word,
  largest_word
};

class grouping {
 public:
  grouping(const planner::vertex& v, vertex_run& run, std::shared_ptr<const device_rows> in)
      : v_(v), run_(run), in_(std::move(in)), n_(in_->size()), out_bytes_(device_layout(v.node->row).size) {}

  group_pairs pairs() {
    output_ = group_output::pairs;
    group_pairs made;
    made.n = all_groups();
    made.bytes = g_->partial_bytes;
    made.memory = std::move(out_);
    return made;
  }

  result_rows go() {
    const std::uint64_t count = all_groups();
    if (v_.ordered) {
      table_.reset();
      out_ = rows_in_order(g_->out, std::move(out_), first_rows_, count, run_);
    }
    return run_.result(g_->out, std::move(out_), count);
  }

 private:
  // Writes them to out_; how many they are.
  std::uint64_t all_groups() {
    rows_.emplace(generate_group_kernels(v_, in_->layout(), group_program::rows));
    question_ = n_ > few_rows ? what_is_asked() : std::nullopt;
    const std::optional<std::uint64_t> known = question_ ? in_->hints().find(*question_) : std::nullopt;
    exact_ = known.has_value();
    std::uint64_t groups = known ? *known : estimate();
    for (bool partitions = true; !attempt(groups, partitions);) {
      // The sample was far off, and rows went astray between tables: from the beginning, for more groups.
      run_.context().cancel.check();
      partitions = groups < n_;  // not even with room for as many groups as rows: hashes crowd; a table that grows ends
      groups = std::max<std::uint64_t>(groups * 16, 1 << 16);
      exact_ = false;
      run_.reset_status();
    }
    const std::uint64_t found = run_.read(groups_word);
    if (question_) in_->hints().keep(*question_, found);
    return found;
  }

  // The rows, their keys, the columns that these read and the literals in them: the same again have as many groups. Nothing where
  // collections decide, too.
  std::optional<hash128> what_is_asked() const {
    std::string asked = rows_->source.text();
    for (const word& w : rows_->source.words()) {
      switch (w.what) {
        case word::role::literal:
          asked.append(reinterpret_cast<const char*>(&w.value), sizeof w.value);
          break;
        case word::role::column:
          asked += " column " + std::to_string(w.part);
          break;
        case word::role::errors:
        case word::role::rows:
          break;
        default:
          return std::nullopt;
      }
    }
    return hash_text(asked);
  }

  void use(group_program what) { g_.emplace(generate_group_kernels(*rows_, v_, in_->layout(), what, output_)); }
  // Of the program with the whole table, whatever tier is in use.
  void launch_whole(const char* entry, unsigned grid) {
    if (!whole_) whole_.emplace(generate_group_kernels(*rows_, v_, in_->layout(), group_program::global, output_));
    launch_of(*whole_, entry, grid, 256);
  }

  // False if the partitions had too little room for their groups.
  bool attempt(std::uint64_t groups, bool partitions) {
    g_.reset();
    whole_.reset();
    const group_program program = choose(groups, partitions);
    if (output_ == group_output::pairs) out_bytes_ = rows_->partial_bytes;
    use(program);
    args_[listed_tiles] = 0;
    args_[group_count] = run_.status_word(groups_word);
    args_[threads] = plan_.shape.threads;
    args_[capacity] = plan_.shape.capacity;
    args_[word_bits] = plan_.shape.word_bits;
    args_[shape_bytes] = plan_.shape.bytes;
    // Of groups whose number is a guess, some find no room in their partition's table.
    if (plan_.tier == gpu::group_tier::partition && !exact_) plan_.table_bits = std::max(plan_.table_bits, gpu::table_bits(groups / 64));
    start_table(plan_.table_bits);
    if (plan_.tier == gpu::group_tier::partition) {
      if (const std::optional<bool> done = partitioned(groups, known_room())) return *done;
      // Functions of rows that are not always the same: counted this time.
      run_.reset_status();
      start_table(plan_.table_bits);
      return partitioned(groups, 0).value();
    }
    // Kernels are given all at once, as if every row will find a place; one wait says whether they did. No groups are written if not.
    const bool whole = plan_.tier == gpu::group_tier::global;
    listed_rows rows = whole ? give_rows() : give_shared(), merged;
    if (!whole) merged = give_merge(std::uint64_t{shared_blocks_} * plan_.shape.capacity);
    args_[full_before] = whole ? 0 : run_.status_word(full_word);
    give_groups();
    run_.finish(g_->source);
    if (all_placed(rows) && all_placed(merged)) return true;
    place(rows, "aggregate_rows");
    place(merged, "merge_partials");
    clear(groups_word);
    give_groups();
    run_.finish(g_->source);
    return true;
  }

  // The tier for so many groups, and its program.
  group_program choose(std::uint64_t groups, bool partitions) {
    // The state's size decides about the tier.
    items_ = items_of(*rows_);
    const std::uint32_t budget = shared_memory_of_block(run_);
    plan_ = plan_tier(*rows_, n_, groups, budget, exact_);
    if (plan_.tier == gpu::group_tier::partition && !partitions) {
      plan_.tier = gpu::group_tier::global;
      plan_.table_bits = gpu::table_bits(n_);
    }
    if (plan_.tier == gpu::group_tier::partition) choose_scatter(budget);
    if (const auto shared = shared_program(plan_.tier)) return *shared;
    if (plan_.tier == gpu::group_tier::partition)
      return plan_.scatter_items == 16  ? group_program::partition_16
             : plan_.scatter_items == 8 ? group_program::partition_8
                                        : group_program::partition_4;
    return group_program::global;
  }

  // As many groups as keys can have, where their expression tells; else few, which is when kernels of the other tiers are alike.
  std::uint64_t guess() const {
    constexpr std::uint64_t few = 256;
    if (v_.node->what != detail::verb::group_by) return few;
    kernel_source k;
    const ir::traced key = k.trace(*v_.node, v_.node->functions.front());
    const auto most = runtime::values_of(key.root, [](std::uint64_t) { return std::optional<double>(); });
    return most && *most < static_cast<double>(n_) ? static_cast<std::uint64_t>(*most) : few;
  }
  // While the kernel that looks at a sample is made for the first time, those of the tier are that the guess gives. A wrong guess costs
  // time of cores that wait otherwise.
  void prepare_guess() {
    if (known_or_begun(run_, g_->source)) return;
    const group_program program = choose(guess(), true);
    (void)known_or_begun(run_, generate_group_kernels(*rows_, v_, in_->layout(), program, output_).source);
  }

  // Room for the groups, and for what they are ordered by.
  void make_out() {
    const std::uint64_t groups = std::max<std::uint64_t>(args_[out_capacity], 1);
    out_ = run_.allocate(groups * out_bytes_);
    args_[out] = out_.address();
    if (!v_.ordered) return;
    first_rows_ = run_.allocate(groups * 8);
    args_[first_rows] = first_rows_.address();
  }

  std::size_t scatter_shared() const {
    return gpu::scatter_bytes(plan_.partition_bits, 1024 * plan_.scatter_items, static_cast<std::uint32_t>(rows_->key_bytes),
                              static_cast<std::uint32_t>(rows_->aggregates.args_bytes));
  }
  // As many rows a thread as shared memory has room for: wide arguments want fewer, and the widest no partitions at all.
  void choose_scatter(std::size_t budget) {
    while (plan_.scatter_items > 4 && scatter_shared() > budget) plan_.scatter_items /= 2;
    if (scatter_shared() <= budget) return;
    plan_.tier = gpu::group_tier::global;
    plan_.table_bits = gpu::table_bits(std::min<std::uint64_t>(n_, std::uint64_t{plan_.shape.capacity} << plan_.partition_bits));
  }

  // Groups among a sample of the rows, and what that says about all of them.
  std::uint64_t estimate() {
    if (n_ <= few_rows) return n_;
    const round_recording::aside once;  // repeated rounds need no guess of their own
    g_.emplace(generate_group_kernels(v_, in_->layout(), group_program::sample));
    prepare_guess();
    const std::uint64_t groups = groups_by_sample(*g_, *in_, run_);
    run_.reset_status();
    return groups;
  }

  unsigned resident(const char* entry, unsigned block, std::size_t dynamic = 0) {
    return resident_blocks(*run_.compile(g_->source, entry), block, dynamic);
  }
  void launch(const char* entry, unsigned grid, unsigned block, std::size_t dynamic = 0) { launch_of(*g_, entry, grid, block, dynamic); }
  void launch_of(const group_kernels& g, const char* entry, unsigned grid, unsigned block, std::size_t dynamic = 0) {
    const std::array<const device_rows*, 1> inputs = {in_.get()};
    run_.launch(g.source, *run_.compile(g.source, entry), {grid, block, dynamic}, inputs, args_);
  }

  void start_table(std::uint32_t table_bits) {
    if (table_bits > most_table_bits)
      throw resource_error("query: group_by: a table of 2^" + std::to_string(table_bits) + " groups does not fit the GPU");
    table_ = run_.allocate(gpu::table_slots(table_bits) * g_->slot_bytes);
    args_[slots] = table_.address();
    args_[bits] = table_bits;
    launch("init_table", run_.blocks(gpu::table_slots(table_bits)), 256);
  }
  void clear(std::size_t word) { run_.fill(run_.status_word(word), 0, 8); }

  // Tiles without a place, as a kernel lists them, and the status words that say so.
  struct listed_rows {
    device_buffer list;
    std::uint64_t room = 0;
    std::size_t count = 0, full = 0;
  };
  listed_rows list(std::uint64_t room, std::size_t count_word, std::size_t full_of) {
    listed_rows l{run_.allocate(room * 8), room, count_word, full_of};
    list_in(l);
    return l;
  }
  void list_in(const listed_rows& l) {
    args_[again_tiles] = l.list.address();
    args_[again_count] = run_.status_word(l.count);
    args_[full] = run_.status_word(l.full);
  }
  bool all_placed(const listed_rows& l) const { return !l.room || !(run_.read(l.full) & 0xffffffffu); }

  // Until no row is without a place: a larger table, and the listed tiles once more.
  void place(listed_rows& l, std::string_view entry) {
    while (!all_placed(l)) {
      const std::uint64_t count = run_.read(l.count);
      const device_buffer tiles = std::move(l.list);
      grow();
      clear(l.count);
      clear(l.full);
      if (count == 0) return;
      l = list(l.room, l.count, l.full);
      args_[listed_tiles] = tiles.address();
      args_[listed_count] = count;
      if (entry == "aggregate_rows") launch_whole("aggregate_rows", run_.blocks(count * 32));
      else launch("merge_partials", run_.blocks(count * 32), 256);
      args_[listed_tiles] = args_[listed_count] = 0;
      run_.finish(g_->source);
    }
  }
  void grow() {
    for (auto wider = static_cast<std::uint32_t>(args_[bits]) + 2;; ++wider) {
      run_.context().cancel.check();
      device_buffer before = std::move(table_);
      const std::uint64_t old_bits = args_[bits];
      start_table(wider);
      args_[larger_slots] = args_[slots];
      args_[larger_bits] = args_[bits];
      args_[slots] = before.address();
      args_[bits] = old_bits;
      clear(full_word);
      args_[full] = run_.status_word(full_word);
      launch_whole("grow_table", run_.blocks(gpu::table_slots(static_cast<std::uint32_t>(old_bits))));
      run_.finish(g_->source);
      if (!(run_.read(full_word) & 0xffffffffu)) {
        args_[slots] = args_[larger_slots];
        args_[bits] = args_[larger_bits];
        return;
      }
      table_ = std::move(before);
    }
  }

  listed_rows give_rows() {
    listed_rows l = list(n_ / (32 * items_) + 1, again_word, full_word);
    launch("aggregate_rows", resident("aggregate_rows", 256), 256);
    return l;
  }
  listed_rows give_shared() {
    shared_blocks_ = std::min<unsigned>(resident("aggregate_shared_rows", plan_.shape.threads, plan_.shape.bytes),
                                        static_cast<unsigned>(gpu::divide_up(n_, std::uint64_t{plan_.shape.threads} * items_)));
    const std::uint64_t entries = std::uint64_t{shared_blocks_} * plan_.shape.capacity;
    partial_rows_ = run_.allocate(entries * g_->partial_bytes);
    partial_counts_ = run_.allocate(std::uint64_t{shared_blocks_} * 4);
    args_[partials] = partial_rows_.address();
    args_[partial_counts] = partial_counts_.address();
    args_[partial_entries] = entries;
    listed_rows l = list(n_ / (32 * items_) + items_, again_word, full_word);
    launch("aggregate_shared_rows", shared_blocks_, plan_.shape.threads, plan_.shape.bytes);
    return l;
  }
  listed_rows give_merge(std::uint64_t entries) {
    args_[partial_entries] = entries;
    listed_rows l = list(entries / 32 + 1, merge_again_word, merge_full_word);
    launch("merge_partials", run_.blocks(entries), 256);
    return l;
  }
  void give_groups() {
    args_[out_capacity] = std::min<std::uint64_t>(n_, gpu::table_slots(static_cast<std::uint32_t>(args_[bits])));
    make_out();
    emit();
  }
  void emit() { launch("emit_table", run_.blocks(gpu::divide_up(gpu::table_slots(static_cast<std::uint32_t>(args_[bits])), 8)), 256); }

  // How many rows the largest partition had in an earlier run over the same rows; nothing where that is far from the others.
  std::optional<hash128> question_of_largest() const {
    if (!question_) return std::nullopt;
    return hash_text(question_->hex() + " partitions " + std::to_string(plan_.partition_bits));
  }
  std::uint64_t known_room() const {
    const auto question = question_of_largest();
    const std::uint64_t most = question ? in_->hints().find(*question).value_or(0) : 0, mean = n_ >> plan_.partition_bits;
    return most <= mean + mean / 8 ? most : 0;
  }

  // `room`: of each partition, 0: as the rows are counted. False as of attempt; nothing if the room was too little.
  std::optional<bool> partitioned(std::uint64_t groups, std::uint64_t room) {
    const std::uint32_t pbits = plan_.partition_bits;
    const std::uint64_t parts = std::uint64_t{1} << pbits, rows_of_chunk = gpu::partition_chunk(n_, pbits);
    const device_buffer count_memory = run_.zeroed(parts * 8), starts_memory = run_.allocate((parts + 1) * 8),
                        cursor_memory = run_.allocate(parts * 8), item_memory = run_.allocate((parts + 1) * 8);
    const std::uint64_t scattered = std::max(room * parts, n_);
    const device_buffer keys_memory = run_.allocate(scattered * g_->key_bytes),
                        args_memory = run_.allocate(std::max<std::uint64_t>(scattered * g_->aggregates.args_bytes, 16));
    args_[partition_room] = room;
    args_[crowded] = run_.status_word(crowded_word);
    args_[largest] = run_.status_word(largest_word);
    args_[place_bits] = pbits;
    args_[place_shift] = gpu::group_partition_shift;
    args_[chunk] = rows_of_chunk;
    args_[counts] = count_memory.address();
    args_[starts] = starts_memory.address();
    args_[cursors] = cursor_memory.address();
    args_[item_starts] = item_memory.address();
    args_[scattered_keys] = keys_memory.address();
    args_[scattered_args] = args_memory.address();
    const std::size_t count_shared = std::size_t{4} << pbits;
    if (!room) {
      launch("count_rows", resident("count_rows", 512, count_shared), 512, count_shared);
      launch("plan_rows", 1, 1024);
    }
    launch("scatter_rows", resident("scatter_rows", 1024, scatter_shared()), 1024, scatter_shared());
    if (room) launch("plan_rows", 1, 1024);

    const std::uint64_t entries = gpu::partition_partials(n_, pbits, rows_of_chunk, plan_.shape.capacity);
    partial_rows_ = run_.allocate(std::max<std::uint64_t>(entries, 1) * g_->partial_bytes);
    args_[partials] = partial_rows_.address();
    args_[partial_count] = run_.status_word(partials_word);
    const auto items = static_cast<unsigned>(gpu::partition_items(n_, pbits, rows_of_chunk));
    args_[out_capacity] = std::min(n_, exact_ ? groups : groups + groups / 4 + 65536);
    for (bool first = true;; first = false) {
      make_out();
      const listed_rows rows = list(n_ / (32 * group_items) + parts * 32 + std::uint64_t{items} * group_items, again_word, full_word);
      launch("aggregate_partition", items, plan_.shape.threads, plan_.shape.bytes);
      // As if no partition was shared among blocks: groups of the table are not written where there are partials.
      args_[full_before] = run_.status_word(partials_word);
      emit();
      run_.finish(g_->source);
      if (room && run_.read(crowded_word)) return std::nullopt;
      if (!all_placed(rows)) return false;
      if (const auto question = first ? question_of_largest() : std::nullopt) in_->hints().keep(*question, run_.hint(largest_word));
      if (const std::uint64_t partial = run_.read(partials_word)) {
        args_[full_before] = 0;
        listed_rows l = give_merge(partial);
        run_.finish(g_->source);
        place(l, "merge_partials");
        emit();
        run_.finish(g_->source);
      }
      // The guess was too low: once more, with room for what was counted.
      if (run_.read(groups_word) <= args_[out_capacity]) return true;
      if (!first) throw internal_error("gpu: group_by: the number of groups changed between two runs");
      args_[out_capacity] = run_.read(groups_word);
      out_.reset();
      first_rows_.reset();
      run_.reset_status();
      start_table(16);
    }
  }

  const planner::vertex& v_;
  vertex_run& run_;
  std::shared_ptr<const device_rows> in_;
  std::uint64_t n_;
  std::optional<hash128> question_;
  bool exact_ = false;  // is the number of groups that of an earlier run over the same rows?
  group_output output_ = group_output::rows;
  std::size_t out_bytes_;  // of a row of the result, or of a pair
  std::optional<group_kernels> rows_, g_, whole_;  // `rows_` has no kernels, `whole_` those of the whole table
  gpu::group_plan plan_;
  std::array<std::uint64_t, group_argument_count> args_{};
  device_buffer table_, partial_rows_, partial_counts_, out_, first_rows_;
  unsigned shared_blocks_ = 0;
  unsigned items_ = group_items;  // rows a thread has in flight in blocks with tables of their own
};

}  // namespace

void plan_group_by(const planner::vertex& v) {
  check_host_form(v.node->row);
  if (wants_groups_in_order(v)) return plan_groups_in_order(v);
  planner::vertex w = v;
  w.inputs.front() = plan_text_making(v.inputs.front());
  if (v.node->what == detail::verb::aggregate) return plan_groups_in_order(w);
  (void)generate_group_kernels(w, planned_layout(w.inputs.front(), group_fields(w)), group_program::planned);
}

group_pairs run_group_pairs(const planner::vertex& v, const std::shared_ptr<const device_rows>& in, vertex_run& run) {
  return grouping(v, run, in).pairs();
}

result_rows run_group_by(const planner::vertex& before, vertex_run& run) {
  planner::vertex v = before;
  const bool in_order = wants_groups_in_order(v);
  if (!in_order) v.inputs.front() = run_text_making(before.inputs.front(), run);
  const auto in = in_order ? rows_before_groups(v, run) : run.input(v.inputs.front(), group_fields(v));
  if (in->size() == 0 && v.node->what == detail::verb::aggregate) return aggregate_of_nothing(v, run);
  if (in->size() == 0) {
    auto none = std::make_shared<device_rows>(run.shared_gpu(), v.node->row, 0);
    none->add({0, v.node->row}, device_buffer());
    return none;
  }
  if (in_order || v.node->what == detail::verb::aggregate) return run_groups_in_order(v, in, run);
  const auto rows = with_nearest(v.inputs.front(), v.node, in, run);
  if (auto groups = run_nearest_groups(v, rows, run)) return groups;
  return grouping(v, run, rows).go();
}

}  // namespace query::gpu_engine
