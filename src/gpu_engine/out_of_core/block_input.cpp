#include "gpu_engine/out_of_core/block_input.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <query/errors.hpp>

#include "gpu_engine/captured_rows.hpp"
#include "gpu_engine/counted_rows.hpp"
#include "gpu_engine/operators/kept_build.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/out_of_core/key_places.hpp"
#include "gpu_engine/out_of_core/parted_rows.hpp"
#include "gpu_engine/table_rows.hpp"
#include "gpu_engine/upload.hpp"

namespace query::gpu_engine {

using detail::join_kind;
using planner::stage;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t largest_block = 256 * mib;  // longer ones hide no more latency
constexpr std::size_t blocks_of_budget =
    8;  // one at work with what its operator needs, one on its way, results on theirs
constexpr std::uint32_t most_parts = 1024;

std::size_t target_of(std::size_t budget) { return std::clamp(budget / blocks_of_budget, mib, largest_block); }

std::size_t bytes_of(const std::vector<input_column>& columns) {
  std::size_t n = 0;
  for (const input_column& c : columns) n += device_layout(c.type).size;
  return n;
}

planner::branch part_before_join(const planner::branch& b) {
  planner::branch p = b;
  p.stages.clear();
  p.row = source_row(b);
  for (const stage& s : b.stages) {
    if (s.what == stage::kind::probe) break;
    p.stages.push_back(s);
    p.row = s.out;
  }
  return p;
}

// What places rows by their key: the rows themselves stay in host memory.
std::vector<bool> fields_of_key(const planner::branch& stages, const detail::logical& n, const detail::user_function& key) {
  kernel_source k;  // traces need one
  const ir::traced t = k.trace(n, key);
  return fields_read(stages, false, std::array{t.root});
}

// Each row of the probe side gives its rows by itself.
bool probes_row_by_row(const stage& s) {
  switch (s.join->join) {
    case join_kind::inner:
      return true;
    case join_kind::left:
    case join_kind::semi:
    case join_kind::anti:
      return !s.build_left;
    default:
      return false;
  }
}

// The rows of one partition as a source of blocks: many short pieces become one.
class partition_rows final : public block_source {
 public:
  partition_rows(std::vector<host_partitions::piece> pieces, const ir::type* row, runtime::run_context& context)
      : pieces_(std::move(pieces)), row_(row), context_(context) {}
  bool next(std::size_t most, host_block& b) override {
    if (at_ == pieces_.size()) return false;
    b = {};
    if (pieces_[at_].n - first_ >= most || at_ + 1 == pieces_.size()) {
      b.rows.rows = static_cast<std::byte*>(const_cast<void*>(pieces_[at_].rows)) + first_ * row_->size;
      b.rows.n = take(most);
      return true;
    }
    auto memory = std::make_shared<runtime::buffer>(
        context_.pool.allocate(runtime::buffer_pool::checked_bytes(most, row_->size)));
    while (b.rows.n < most && at_ < pieces_.size()) {
      const std::byte* from = static_cast<const std::byte*>(pieces_[at_].rows) + first_ * row_->size;
      const std::size_t n = take(most - b.rows.n);
      std::memcpy(memory->as<std::byte>() + b.rows.n * row_->size, from, n * row_->size);
      b.rows.n += n;
    }
    b.rows.rows = memory->data();
    b.owner = std::move(memory);
    return true;
  }

 private:
  // Moves on by at most `most` rows of the piece at hand; how many.
  std::size_t take(std::size_t most) {
    const std::size_t n = std::min(most, pieces_[at_].n - first_);
    first_ += n;
    if (first_ == pieces_[at_].n) ++at_, first_ = 0;
    return n;
  }

  std::vector<host_partitions::piece> pieces_;
  const ir::type* row_;
  runtime::run_context& context_;
  std::size_t at_ = 0, first_ = 0;
};

// A vertex's table is other rows for a while.
class table_swap {
 public:
  table_swap(const planner::vertex& v, runtime::run_context& context)
      : v_(v), context_(context), before_(context.tables.at(&v)) {}
  ~table_swap() {
    forget();
    context_.tables[&v_] = std::move(before_);
  }
  void set(const host_block& rows, const ir::type* row) {
    forget();
    detail::table t;
    t.rows = rows.rows.rows;
    t.n = rows.rows.n;
    t.type = row;
    t.owner = std::const_pointer_cast<void>(rows.owner);
    context_.tables[&v_] = runtime::vertex_rows(std::move(t));
  }

 private:
  // What was made of the rows before: their memory is for the next ones.
  void forget() {
    context_.copies.erase(&v_);
    forget_builds(context_);
  }

  const planner::vertex& v_;
  runtime::run_context& context_;
  runtime::vertex_rows before_;
};

// While it lives, copies of build sides are kept from block to block (vertex_run::uploaded).
class keeping_copies {
 public:
  explicit keeping_copies(runtime::run_context& c) : c_(c) { ++c_.loops; }
  ~keeping_copies() {
    if (--c_.loops == 0) c_.copies.clear();
  }

 private:
  runtime::run_context& c_;
};

// What f has put apart stands for the source's rows if it fails: the rows of a key are in their order, and no order of keys was asked for.
template <class F> void or_give_back(block_source& source, host_partitions& parts, F f) {
  try {
    f();
  } catch (...) {
    source.give_back(parts.give_up());
    throw;
  }
}

// Rows in this process's memory; what lay on the device gives its memory back.
const detail::table& brought_home(runtime::vertex_rows& r, runtime::run_context& context) {
  const detail::table& t = context.fetched(r);
  r.kept = nullptr;
  return t;
}

}  // namespace

block_input::block_input(const planner::branch& b, std::vector<bool> fields, std::size_t bytes_beside, vertex_run& run,
                         const host_block* only)
    : b_(b), before_(part_before_join(b)), run_(run), row_(source_row(b)), budget_(run.gpu().memory().budget()) {
  runtime::run_context& context = run.context();
  if (only) {
    source_ = *only;
  } else if (b.table) {
    const detail::table& t = brought_home(context.tables.at(b.table), context);
    source_ = {rows_of(t), t.owner};
  } else if (b.source->what == detail::verb::placeholder) {
    const detail::table& t = brought_home(context.variables.at(b.source->slot), context);
    source_ = {rows_of(t), t.owner};
  } else if (b.source->view) {
    b.source->view(b.source->source.get(), source_.rows);
  } else {
    stream_ = true;
  }
  fields_ = in_parts(b_) ? fields_before_parts(b_) : fields_wanted(b_, std::move(fields));
  columns_ = choose_columns(row_, fields_, source_.rows.columns != nullptr);
  const std::size_t a_row = std::max<std::size_t>(bytes_of(columns_), 1) + bytes_beside + (joins().empty() ? 0 : 48);
  most_rows_ = std::max(target_of(budget_) / a_row, fewest_rows_of_block);
  if (run.gpu().block_rows()) most_rows_ = run.gpu().block_rows();
}

block_input::~block_input() { run_.supply(nullptr); }

void block_input::may_compute_rows() {
  computed_ = stream_ && !in_parts(b_) && is_computed(*b_.source);
  // A byte a row: lists of tiles take an eighth of it. Longer blocks would not be faster, and say less of how far they are.
  if (computed_ && !run_.gpu().block_rows()) most_rows_ = target_of(budget_);
}

std::vector<const stage*> block_input::joins() const {
  std::vector<const stage*> all;
  for (const stage& s : b_.stages)
    if (s.what == stage::kind::probe) all.push_back(&s);
  return all;
}

std::unique_ptr<block_source> block_input::open(streamed_rows::keep which) const {
  if (stream_) return std::make_unique<streamed_rows>(b_, which, run_.context());
  return std::make_unique<whole_rows>(source_.rows, row_, source_.owner);
}

// Partitions hold whole rows.
void block_input::need_rows() {
  if (!source_.rows.columns) {
    if (stream_ && !same_on_device(row_)) throw resource_error("gpu: rows of a stream that own memory are not partitioned");
    return;
  }
  planner::branch bare;
  bare.source = b_.source;
  bare.row = row_;
  bare.wanted = b_.wanted;
  if (!run_.context().local) throw internal_error("gpu: columns have nobody who makes rows of them");
  const detail::table t = run_.context().local->collect(bare, {}, run_.context());
  source_ = {rows_of(t), t.owner};
  columns_ = choose_columns(row_, fields_, false);
}

void block_input::take(const std::shared_ptr<const device_rows>& rows, std::uint64_t first, block_feed* from, block_consumer& consumer) {
  run_.context().cancel.check();
  const std::size_t n = rows->size();
  for (int attempt = 0; attempt < 2;) {
    try {
      const bool there = in_rooms_ && n <= fewest_rows_of_block;
      const reserved_room::serving short_ones(there ? &*at_work_ : nullptr);
      const drained before_rows_go(run_.on());
      run_.reset_status();
      run_.supply(rows, first);
      run_joins(b_, run_);
      consumer.take();
      run_.supply(nullptr);
      ++run_.context().pieces->blocks;
      if (there) ++run_.context().pieces->in_rooms;
      last_ = first;
      taken_ = first + n;
      return;
    } catch (const out_of_memory&) {
      run_.supply(nullptr);
      // First without what others hold, then with less, at last with all that the consumer can do without.
      const bool shortest = attempt == 1 && n <= fewest_rows_of_block, again = shortest && more_room(consumer, from, n);
      if (shortest && !again && (!in_rooms_ || n == 1)) throw;
      consumer.release();
      if (!once_ || gone_ == 0) {  // else there may be no memory to make them once more
        forget_builds(run_.context());
        forget_captured(run_.context(), run_.gpu());
      }
      if (from) from->give_way(attempt == 0 || again ? n : n / 2);
      if (!again) ++attempt;
    }
  }
  const std::uint64_t half = n / 2;
  take(slice(run_.shared_gpu(), rows, 0, half), first, from, consumer);
  take(slice(run_.shared_gpu(), rows, half, n - half), first + half, from, consumer);
}

void block_input::feed(block_source& source, block_consumer& consumer) {
  block_feed blocks(run_.shared_gpu(), source, row_, columns_, most_rows_, run_.context());
  std::uint64_t done = 0;
  while (const device_block block = next(blocks, consumer)) {
    take(block.rows, block.from.rows.first, &blocks, consumer);
    source.put_away(gone_ = last_);
    if (once_ && last_ == block.from.rows.first) {  // not cut
      waited_ = 0;
      if (in_rooms_ && block.rows->size() > fewest_rows_of_block) work_in_rooms(blocks, false);
    }
    report(done += block.rows->size(), source_.rows.n);
  }
}

// The consumer has what it made of the last block when the next one has been taken. As long as no block is gone from the host others may
// begin with the first row.
void block_input::feed_once(block_consumer& consumer) {
  const auto rows = open(streamed_rows::keep::until_put_away);
  once_ = true;
  const bool goes_on = consumer.goes_on_elsewhere() && !numbers_rows(b_);  // the rest would be numbered from 0
  try {
    if (!goes_on) hold_rooms(consumer);
    feed(*rows, consumer);
    in_rooms_ = false;
    arriving_.reset();
    at_work_.reset();
    if (goes_on) consumer.release();
  } catch (...) {
    if (goes_on) {
      rows->put_away(consumer.settle() ? taken_ : last_);
      left_ = rows->give_back({});
    } else if (gone_ == 0) {
      (void)rows->give_back({});
    }
    throw;
  }
}

// A range's rows need no bus: each block is made where it is read, or by what reads it.
void block_input::feed_counted(block_consumer& consumer) {
  const std::uint64_t all = b_.source->count;
  for (std::uint64_t first = 0; first < all; first += most_rows_) {
    const std::uint64_t n = std::min<std::uint64_t>(most_rows_, all - first);
    take(computed_ ? computed_rows(*b_.source, first, n, run_) : counted_rows(*b_.source, first, n, run_), first, nullptr, consumer);
    report(first + n, all);
  }
}

// Hundredths of the rows, where it is known how many there are.
void block_input::report(std::uint64_t done, std::uint64_t of) {
  constexpr std::uint64_t parts = 100;
  runtime::progress* progress = run_.context().progress;
  if (!progress || !*progress || !of) return;
  const auto reached = static_cast<std::uint64_t>(static_cast<double>(done) / static_cast<double>(of) * parts);
  for (; reported_ < reached; ++reported_) progress->part_done(parts);
}

void block_input::each(block_consumer& consumer) {
  const keeping_copies while_running(run_.context());
  const stage* too_large = nullptr;
  for (const stage* s : joins()) {
    if (!probes_row_by_row(*s)) throw resource_error("gpu: memory: this kind of join does not run in blocks");
    runtime::vertex_rows& build = run_.context().tables.at(s->build);
    const std::uint64_t n = build.here() ? build.rows.n : build.kept->size();
    if (n * (s->build->row()->size + beside_build_row) <= budget_ / builds_of_budget) continue;
    if (s != joins().front())
      throw resource_error("gpu: memory: the build side of a join behind another does not fit the device");
    too_large = s;
  }
  if (too_large && run_.captures(*too_large->build))  // parts take the place of its rows
    throw resource_error("gpu: memory: the build side of a join, which functions capture too, does not fit the device");
  if (too_large)
    each_pair(*too_large, consumer);
  else if (stream_ && is_counted(*b_.source))
    feed_counted(consumer);
  else if (stream_)
    feed_once(consumer);
  else
    feed(*open(), consumer);
}

host_partitions block_input::partitions(const ir::type* row, std::uint32_t parts) {
  run_.context().pieces->partitions += parts;
  return {row->size, parts, run_.context()};
}

void block_input::partition(block_source& source, const ir::type* row, const planner::branch& stages, const detail::logical& n,
                            const detail::user_function& key, host_partitions& to) {
  if (numbers_rows(stages)) throw resource_error("gpu: memory: rows that are parted by keys lose their numbers");
  key_places places(stages, n, key, to.parts());
  const auto columns = choose_columns(row, fields_of_key(stages, n, key), false);
  block_feed blocks(run_.shared_gpu(), source, row, columns, most_rows_, run_.context());
  while (const device_block block = blocks.next()) {
    const drained before_rows_go(run_.on());
    run_.reset_status();
    const runtime::buffer at = places.of(*block.rows, run_);
    to.append(block.from.rows.rows, at.as<std::uint32_t>(), block.from.rows.n);
    source.put_away(block.from.rows.first + block.from.rows.n);
  }
}

// Both sides by the hash of the key, one partition after the other. A partition whose build side does not fit either
// (one key that most rows have) is met in slices, which inner joins allow.
void block_input::each_pair(const stage& join, block_consumer& consumer) {
  need_rows();
  runtime::run_context& context = run_.context();
  const ir::type* build_row = join.build->row();
  const detail::table& build = brought_home(context.tables.at(join.build), context);
  const std::size_t most_build =
      std::max<std::size_t>(budget_ / builds_of_budget / (build_row->size + beside_build_row), fewest_rows_of_block);
  const auto parts = static_cast<std::uint32_t>(
      std::min<std::size_t>(std::bit_ceil(std::max<std::size_t>(build.n * 2 / most_build, 2)), most_parts));
  planner::branch bare;
  bare.table = join.build;
  bare.row = build_row;
  whole_rows build_source(rows_of(build), build_row, build.owner);
  const auto& keys = join.join->functions;
  host_partitions builds = partitions(build_row, parts), probes = partitions(row_, parts);
  partition(build_source, build_row, bare, *join.join, keys[join.build_left ? 0 : 1], builds);
  const auto source = open(streamed_rows::keep::until_put_away);
  or_give_back(*source, probes, [&] {
    partition(*source, row_, before_, *join.join, keys[join.build_left ? 1 : 0], probes);
    table_swap swap(*join.build, context);
    for (std::uint32_t part = 0; part < parts; ++part) {
      if (!probes.size(part)) continue;
      const host_block side = side_by_side(builds, part, part + 1, build_row, context);
      const bool slices = join.join->join == join_kind::inner;
      if (!slices && side.rows.n > 2 * most_build)
        throw resource_error("gpu: memory: the rows of one key on a join's build side do not fit the device");
      for (std::size_t first = 0; first < side.rows.n || first == 0;) {
        const std::size_t n = slices ? std::min(most_build, side.rows.n - first) : side.rows.n;
        if (slices && !n) break;
        swap.set(slice(side, build_row, first, n), build_row);
        partition_rows rows(probes.rows_of(part), row_, context);
        feed(rows, consumer);
        first += n;
        if (!n) break;
      }
    }
  });
}

void block_input::each_partition(const detail::logical& n, const detail::user_function& key, block_consumer& consumer) {
  if (in_parts(b_))
    throw resource_error("gpu: memory: groups that need their rows, behind a join or select_many, do not run in blocks");
  need_rows();
  std::size_t known = source_.rows.n;
  const std::unique_ptr<block_source> source = open(streamed_rows::keep::until_put_away);
  // A stream's length is not known: as many partitions as there may be.
  const std::size_t a_row = std::max<std::size_t>(bytes_of(columns_), 1) + row_->size + 64;
  const std::size_t share = std::max<std::size_t>(budget_ / 6 / a_row, 1);
  const auto parts =
      stream_ ? most_parts
              : static_cast<std::uint32_t>(std::min<std::size_t>(std::bit_ceil(known / share + 1), most_parts));
  host_partitions rows = partitions(row_, parts);
  or_give_back(*source, rows, [&] {
    partition(*source, row_, b_, n, key, rows);
    for (std::uint32_t part = 0; part < parts; ++part) {
      if (!rows.size(part)) continue;
      run_.context().cancel.check();
      const host_block all = side_by_side(rows, part, part + 1, row_, run_.context());
      run_.reset_status();
      run_.supply(upload_rows(run_.shared_gpu(), all.rows, row_, columns_, run_.on(), run_.context()));
      consumer.take();
      run_.supply(nullptr);
      ++run_.context().pieces->blocks;
    }
  });
}

}  // namespace query::gpu_engine
