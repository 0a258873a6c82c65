// Hash joins. The build side is taken for one of distinct keys until a key is met twice; then its rows are grouped by key, and
// the output is cut into equal tiles, so that one probe row with many partners is written by many threads. Results come in
// LINQ's order: by left row, then by right row; build rows without a partner come last. Rounds of a loop that does not change the
// build side share one table (kept_build.hpp).
#include <algorithm>
#include <limits>

#include <query/errors.hpp>

#include "gpu_engine/operators/grouped_build.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/made_texts.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/operators/outer_join_blocks.hpp"
#include "gpu_engine/operators/scattered_build.hpp"
#include "gpu_engine/row_numbers.hpp"
#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/join_tiles.cuh"
#include "gpu_primitives/radix_sort.cuh"
#include "gpu_primitives/scan.cuh"

namespace query::gpu_engine {

namespace {

constexpr std::uint64_t least_given_back = 1 << 20;     // bytes
constexpr std::uint64_t least_side_by_side = 1 << 20;   // rows of a result: fewer are not worth a program of their own
constexpr std::uint64_t sampled_build_rows = 1 << 16;   // in which repeated keys are looked for before a large table is made

enum status : std::size_t { flag_word = 1, total_word, kept_word };

class joining {
 public:
  joining(const join_sides& j, const device_rows& probe, build_side build, vertex_run& run)
      : j_(j),
        run_(run),
        side_(std::move(build)),
        inputs_{&probe, side_.rows.get()},
        probe_n_(probe.size()),
        build_n_(side_.rows->size()),
        wide_(wide_row_numbers(build_n_)) {}

  result_rows go() {
    run_.reset_status();
    args_[join_flag] = run_.status_word(flag_word);
    args_[join_total] = run_.status_word(total_word);
    args_[join_kept] = run_.status_word(kept_word);
    args_[join_build_count] = build_n_;
    if (j_.tests()) by_presence();
    else if (keeps_groups(*j_.node, side_, run_) || !by_unique_keys()) general();
    return result();
  }

  // One block of the probe side, of several with the same build side: build rows with a partner are marked in `partnered`, a byte each,
  // and those without come at the end.
  result_rows block(device_address partnered) {
    partnered_ = partnered;
    return go();
  }
  result_rows alone(device_address partnered) {
    run_.reset_status();
    use(join_program::unique);
    args_[join_total] = run_.status_word(total_word);
    args_[join_kept] = run_.status_word(kept_word);
    args_[join_partnered] = partnered;
    make_out(0);
    add_unmatched();
    run_.finish(g_.source);
    return result();
  }

 private:
  bool adds_build() const { return j_.keeps_build() && !partnered_; }
  void by_presence() {
    use(join_program::presence);
    const bool known = find_table();
    if (!known) {
      make_table(gpu::table_bits(std::max<std::uint64_t>(build_n_, 1)));
      build_rows(build_n_);
    }
    probe();
    run_.finish(g_.source);
    check_full();
    if (!known) keep_build(*j_.node, side_, std::move(table_), g_.source, run_);
  }
  // False: a key was met twice.
  bool by_unique_keys() {
    use(join_program::unique);
    if (!find_table()) {
      if (!build_table_of(gpu::join_table_bits(std::max<std::uint64_t>(build_n_, 1)))) {
        run_.context().cancel.check();
        run_.reset_status();
        table_.reset();
        return false;
      }
      keep_build(*j_.node, side_, table_, g_.source, run_);
    }
    const device_buffer partnered = adds_build() ? run_.zeroed(std::max<std::uint64_t>(build_n_, 1)) : device_buffer();
    args_[join_partnered] = partnered_ ? partnered_ : partnered.address();
    probe();
    add_unmatched();
    run_.finish(g_.source);
    return true;
  }

  // False: a key was met twice.
  bool build_table_of(std::uint32_t bits) {
    const std::uint32_t parts = scattered_parts(g_, bits, run_);
    if (parts) {
      // Keys that repeat mostly do so among few rows. Those are seen before a large table is cleared and rows are scattered for it.
      const std::uint64_t sample = std::min(build_n_, sampled_build_rows);
      make_table(gpu::join_table_bits(sample));
      build_rows(sample);
      run_.finish(g_.source);
      if (flagged()) return false;
      table_.reset();
    }
    make_table(bits);
    if (!parts || !build_scattered(kernels_of(join_program::scattered), parts, inputs_, args_, run_)) build_rows(build_n_);
    run_.finish(g_.source);  // errors of keys have the same numbers in either program
    return !flagged();
  }

  join_kernels kernels_of(join_program what) const {
    return generate_join_kernels(j_, inputs_[0]->layout(), inputs_[1]->layout(), what, wide_);
  }
  void use(join_program what) { g_ = kernels_of(what); }
  bool flagged() const { return (run_.read(flag_word) & 0xffffffffu) != 0; }
  void check_full() const {
    if (flagged()) throw resource_error("query: " + j_.node->label + ": the GPU's table of keys is full");
  }

  void use(std::shared_ptr<const build_table> table) {
    table_ = std::move(table);
    args_[join_slots] = table_->slots.address();
    args_[join_bits] = table_->bits;
  }
  // Of a round before.
  bool find_table() {
    auto found = find_build(*j_.node, side_, g_.source, run_);
    if (!found) return false;
    use(std::move(found));
    return true;
  }
  void make_table(std::uint32_t bits) {
    const std::uint64_t bytes = gpu::table_slots(bits) * g_.slot_bytes;
    auto made = std::make_shared<build_table>();
    made->bits = bits;
    made->slots = run_.allocate(bytes);
    run_.fill(made->slots.address(), 0xff, bytes);
    use(std::move(made));
  }
  // From the first rows.
  void build_rows(std::uint64_t rows) {
    args_[join_build_count] = rows;
    if (rows) launch("build_rows", run_.blocks(rows));
  }

  // What each probe row gives: one row at most.
  void probe() {
    make_out(probe_n_);
    if (!probe_n_) return;
    const device_buffer states = run_.zeroed((1 + gpu::append_states(gpu::probe_tiles(probe_n_, probe_threads, probe_items))) * 8);
    args_[join_ticket] = states.address();
    args_[join_states] = states.address() + 8;
    const auto f = run_.compile(g_.source, "probe_rows");
    const std::uint64_t tiles = gpu::probe_tiles(probe_n_, probe_threads, probe_items);
    run_.launch(g_.source, *f,
                {static_cast<unsigned>(std::min<std::uint64_t>(tiles, resident_blocks(*f, probe_threads))), probe_threads, 0}, inputs_,
                args_);
  }

  // Room for `rows`, and for the build rows that may come behind them.
  void make_out(std::uint64_t rows) {
    const std::uint64_t all = std::max<std::uint64_t>(rows + (adds_build() ? build_n_ : 0), 1), size = device_layout(j_.node->row).size;
    if (all > std::numeric_limits<std::uint64_t>::max() / size)
      throw resource_error("query: " + j_.node->label + ": more rows than any memory holds: " + std::to_string(all));
    out_bytes_ = all * size;
    out_ = run_.allocate(out_bytes_);
    args_[join_out] = out_.address();
  }
  void add_unmatched() {
    if (!adds_build() || !build_n_) return;
    using policy = gpu::compact_policy<std::uint64_t>;
    const device_buffer temporary = run_.zeroed(gpu::compact_temp_bytes<policy>(build_n_));
    args_[join_compact_temp] = temporary.address();
    const auto f = run_.compile(g_.source, "add_unmatched");
    run_.launch(g_.source, *f,
                {static_cast<unsigned>(gpu::compact_blocks<policy>(build_n_, resident_blocks(*f, policy::threads))), policy::threads, 0},
                inputs_, args_);
  }

  void general() {
    use(join_program::general);
    const grouped_build grouped(g_, run_, inputs_, args_, *j_.node, side_, j_.keeps_build());
    expand();
    if (partnered_ && build_n_) {
      args_[join_partnered] = partnered_;
      launch("mark_partnered", run_.blocks(build_n_));
    }
    add_unmatched();
    run_.finish(g_.source);
  }

  void expand() {
    using scan = gpu::scan_policy<std::uint64_t>;
    const std::uint64_t blocks = gpu::partner_blocks(probe_n_);
    const device_buffer sums = run_.allocate(std::max<std::uint64_t>(blocks, 1) * 8), starts = run_.allocate((blocks + 1) * 8),
                        scan_memory = run_.zeroed(gpu::scan_temp_bytes<scan, std::uint64_t>(blocks));
    args_[join_sums] = sums.address();
    args_[join_starts] = starts.address();
    args_[join_scan_temp] = scan_memory.address();
    args_[join_blocks] = blocks;
    if (blocks) {
      launch("count_output", blocks_for(blocks, 1), gpu::partner_threads);
      const auto f = run_.compile(g_.source, "scan_output");
      run_.launch(g_.source, *f,
                  {static_cast<unsigned>(gpu::scan_blocks<scan>(blocks, resident_blocks(*f, scan::threads))), scan::threads, 0}, inputs_,
                  args_);
    }
    run_.finish(g_.source);
    const std::uint64_t total = run_.read(total_word);
    make_out(total);
    if (total && !expand_side_by_side(total)) launch("expand_output", tiles(total), gpu::partner_threads);
  }
  unsigned tiles(std::uint64_t total) const { return blocks_for(gpu::partner_tiles(probe_n_, total), 1); }

  // Where several rows of the result read one build row, they read it in the order of groups: from copies of the columns they read, which
  // lie so.
  bool expand_side_by_side(std::uint64_t total) {
    const input_layout& layout = inputs_[1]->layout();
    if (total < least_side_by_side || total / 2 < build_n_ || layout.columns.empty() || layout.nearest) return false;
    const join_kernels k = kernels_of(join_program::side_by_side);
    std::uint64_t bytes = 0;
    for (std::size_t c = 0; c < layout.columns.size(); ++c) bytes += k.copied[c] ? bytes_of_column(layout.columns[c]) : 0;
    if (!bytes) return false;  // pairs read nothing of them
    if (bytes > run_.gpu().memory().available() / 2) return false;
    device_buffer memory;
    try {
      memory = run_.allocate(bytes);
    } catch (const out_of_memory&) {
      return false;
    }
    args_[join_copied_columns] = memory.address();
    run_.launch(k.source, *run_.compile(k.source, "gather_columns"), {run_.blocks(build_n_), 256, 0}, inputs_, args_);
    device_rows copied(run_.shared_gpu(), layout.row, build_n_);
    device_address at = memory.address();
    for (std::size_t c = 0; c < layout.columns.size(); ++c) {
      copied.add(layout.columns[c], k.copied[c] ? at : inputs_[1]->column(c));
      if (k.copied[c]) at += bytes_of_column(layout.columns[c]);
    }
    const std::array<const device_rows*, 2> inputs = {inputs_[0], &copied};
    run_.launch(k.source, *run_.compile(k.source, "expand_output"), {tiles(total), gpu::partner_threads, 0}, inputs, args_);
    run_.finish(k.source);  // its places of errors are its own
    return true;
  }

  std::uint64_t bytes_of_column(const input_column& c) const { return bytes_of_copied_column(build_n_, device_layout(c.type).size); }

  result_rows result() {
    const std::uint64_t n = run_.read(total_word) + run_.read(kept_word);
    give_back_room(n * device_layout(j_.node->row).size);
    auto r = run_.result(j_.node->row, std::move(out_), n);
    run_.reset_status();
    return r;
  }
  // Few rows found a partner: the result does not keep room for all while others read it.
  void give_back_room(std::uint64_t bytes) {
    if (out_bytes_ < least_given_back || bytes > out_bytes_ / 4) return;
    device_buffer tight = run_.allocate(std::max<std::uint64_t>(bytes, 1));
    if (bytes) copy(tight.address(), out_.address(), bytes);
    out_ = std::move(tight);
    out_bytes_ = bytes;
    run_.finish(g_.source);
  }

  void launch(const char* entry, unsigned grid, unsigned block = 256) {
    run_.launch(g_.source, *run_.compile(g_.source, entry), {grid, block, 0}, inputs_, args_);
  }
  void copy(device_address to, device_address from, std::size_t bytes) {
    run_.copy(to, from, bytes);
  }

  join_sides j_;
  vertex_run& run_;
  build_side side_;
  std::array<const device_rows*, 2> inputs_;
  std::uint64_t probe_n_, build_n_;
  bool wide_;
  join_kernels g_;
  join_arguments args_{};
  std::shared_ptr<const build_table> table_;
  device_buffer out_;
  std::uint64_t out_bytes_ = 0;
  device_address partnered_ = 0;  // of all blocks; 0: the probe side is whole
};

// What a join of rows that lie in host memory would bring to the device.
void plan(const join_sides& j, const ir::type* probe, const ir::type* build) {
  const input_layout in = {probe, choose_columns(probe, fields_joined(j, false), false)},
                     other = {build, choose_columns(build, fields_joined(j, true), false)};
  (void)generate_join_kernels(j, in, other, j.tests() ? join_program::presence : join_program::unique, false);
}

}  // namespace

void plan_join(const planner::stage& s, const ir::type* probe) {
  const auto texts = made_texts::of(*s.join);
  if (!texts) return plan({s.join, s.build_left}, probe, s.build->row());
  texts->plan_values(0);
  texts->plan_values(1);
  plan({&texts->verb(), s.build_left}, texts->row(s.build_left ? 1 : 0), texts->row(s.build_left ? 0 : 1));
  texts->plan_results();
}

std::vector<bool> probe_fields(const planner::stage& s) { return fields_joined({s.join, s.build_left}, false); }

namespace {

// No table of such a build side is kept: its values are made anew.
result_rows join_with_texts(const made_texts& texts, const planner::stage& s, std::shared_ptr<const device_rows> probe,
                            std::shared_ptr<const device_rows> build, vertex_run& run) {
  const std::size_t build_is = s.build_left ? 0 : 1;
  probe = texts.with_values(1 - build_is, std::move(probe), run);
  build = texts.with_values(build_is, std::move(build), run);
  for (const auto& rows : {probe, build}) run.supply(rows);  // the result may view strings of both
  run.supply(nullptr);
  const bool swaps = s.any_order && run.context().loops == 0 && probe->size() < build->size() / 2;
  if (swaps) std::swap(probe, build);
  return texts.results(joining({&texts.verb(), s.build_left != swaps}, *probe, {build, false}, run).go(), run);
}

}  // namespace

result_rows run_join(const planner::stage& s, const std::shared_ptr<const device_rows>& probe, vertex_run& run) {
  const join_sides sides = {s.join, s.build_left};
  build_side build = {run.table(*s.build, fields_joined(sides, true)), s.build->slots.empty()};
  if (const auto texts = made_texts::of(*s.join)) return join_with_texts(*texts, s, probe, std::move(build.rows), run);
  // The planner did not know which side is the smaller one. In a loop, of blocks too, the table that is kept is worth more.
  if (s.any_order && run.context().loops == 0 && probe->size() < build.rows->size() / 2)
    return joining({s.join, !s.build_left}, *build.rows, {probe, false}, run).go();
  return joining(sides, *probe, std::move(build), run).go();
}

void plan_outer_join(const planner::vertex& v) {
  plan_input(v.inputs[0]);
  plan_input(v.inputs[1]);
  plan({v.node, false}, v.inputs[0].row, v.inputs[1].row);
}

result_rows run_outer_join(const planner::vertex& v, vertex_run& run) {
  const join_sides sides = {v.node, false};
  build_side build = {run_input(v.inputs[1], fields_joined(sides, true), run), stays(v.inputs[1])};
  const auto probe = run_input(v.inputs[0], fields_joined(sides, false), run);
  return joining(sides, *probe, std::move(build), run).go();
}

result_rows run_outer_join_of(const planner::vertex& v, const device_rows& left, std::shared_ptr<const device_rows> right,
                              vertex_run& run) {
  return joining({v.node, false}, left, {std::move(right), false}, run).go();
}

outer_join_blocks::outer_join_blocks(const planner::vertex& v, std::shared_ptr<const device_rows> right, vertex_run& run)
    : v_(v), run_(run), right_(std::move(right)), partnered_(run.zeroed(std::max<std::uint64_t>(right_->size(), 1))) {
  run.on().synchronize(run.context().cancel);
}

result_rows outer_join_blocks::take(const device_rows& left) {
  return joining({v_.node, false}, left, {right_, true}, run_).block(partnered_.address());
}

result_rows outer_join_blocks::finish() {
  const input_layout in = whole_rows(v_.inputs[0].row);
  device_rows none(run_.shared_gpu(), in.row, 0);
  for (const input_column& c : in.columns) none.add(c, device_address{0});
  return joining({v_.node, false}, none, {right_, true}, run_).alone(partnered_.address());
}

}  // namespace query::gpu_engine
