#include "cpu_engine/join_partitions.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <optional>
#include <utility>

#include <query/cpu/typed_segment.hpp>
#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/join_table.hpp"
#include "cpu_engine/key_column.hpp"
#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/pair_calls.hpp"
#include "cpu_engine/partition_store.hpp"
#include "cpu_engine/positioned_rows.hpp"

namespace query::cpu {

using detail::join_kind;

namespace {

constexpr std::size_t rows_a_part_of_chunk = 256;  // of a chunk, that one partition has; fewer are mostly overhead
constexpr unsigned least_bits = 2, most_bits = 12;
constexpr std::size_t least_block = 1 << 10;
constexpr std::size_t table_bytes = 80;            // of a join_table, for a key; 16 more where words have two halves

bool keeps_left(join_kind k) { return k == join_kind::left || k == join_kind::full; }
bool keeps_right(join_kind k) { return k == join_kind::right || k == join_kind::full; }
bool tests(join_kind k) { return k == join_kind::semi || k == join_kind::anti; }

// How rows of one side lie in its store: whole, with their keys beside them unless these are a part of the row.
struct side_form {
  side_form(const detail::user_function& f, bool interpreted) : row(f.row), key(f.result), calls(f, interpreted, false), key_at(part_of_row(f)) {}
  planner::column_schema columns() const {
    if (key_at) return {{{0, row}}};
    return {{{0, row}, {0, key}}};
  }
  column keys(std::span<const column> of) const {
    column c = key_at ? of[0] : of[1];
    c.base = static_cast<const std::byte*>(c.base) + key_at.value_or(0);
    return c;
  }
  // Of a row in a block of the build side: its copy, or where it lies.
  std::size_t held_bytes() const { return row->trivial ? row->size : sizeof(void*); }
  std::size_t stored_bytes() const { return row->size + (key_at ? 0 : key->size) + sizeof(std::uint32_t); }

  const ir::type *row, *key;
  function_calls calls;
  std::optional<std::size_t> key_at;
};

// One side, put apart.
class parted_side {
 public:
  parted_side(const side_form& form, key_equality equality, unsigned bits, bool numbered, std::size_t parts, runtime::run_context& context)
      : form_(&form), equality_(equality), bits_(bits), pool_(&context.pool), store_(form.columns(), bits, parts, numbered, context) {}

  void take(join_input& in, const vertex_tasks& tasks) {
    const std::size_t before = in.first.size();
    tasks.for_each(before, [&](std::size_t i) {
      detail::row_block b;
      b.rows = const_cast<void*>(in.first[i].data());
      b.n = in.first[i].size();
      b.owned = in.first[i].movable() != nullptr;
      sink to(*this, i, false);
      to.push(b);
      to.finish();
      in.first[i] = piece(detail::table{});
    });
    in.first.clear();
    if (!in.rest) return;
    const std::size_t done = in.rest->next_part();
    const bool resident = in.rest->in_place();
    in.rest->run_all([&](const pipeline::part& part) {
      sink to(*this, before + part.index - done, resident);
      part.run(to);
      to.finish();
    });
  }
  partition_store& store() { return store_; }

 private:
  class sink final : public detail::batch_sink {
   public:
    sink(parted_side& of, std::size_t part, bool resident)
        : of_(&of), writer_(of.store_, part), keys_(of.form_->key, *of.pool_), resident_(resident) {}
    void push(const detail::row_block& b) override {
      const side_form& f = *of_->form_;
      const std::size_t size = f.row->size;
      for (std::size_t from = 0; from < b.n; from += batch_rows) {
        const std::size_t n = std::min(batch_rows, b.n - from);
        const auto* const rows = static_cast<const std::byte*>(b.rows) + from * size;
        column columns[2] = {{rows, size, 0, size, nullptr, !resident_}, {}};
        key_part key{f.key, 0, rows + f.key_at.value_or(0), size};
        if (!f.key_at) {
          keys_.clear();
          f.calls.map(rows, nullptr, n, keys_.extend(n), scratch_);
          keys_.grow(n);
          key = side_by_side(*f.key, keys_.data());
          columns[1] = {keys_.data(), f.key->size, 0, f.key->size, nullptr, true};
        }
        hash_keys(*f.key, {&key, 1}, 0, n, hashes_, of_->equality_);
        for (std::size_t i = 0; i < n; ++i) partitions_[i] = static_cast<std::uint16_t>(hashes_[i] >> (64 - of_->bits_));
        writer_.append({columns, f.key_at ? 1u : 2u}, n, partitions_, b.owned);
      }
    }
    void finish() { writer_.finish(); }

   private:
    parted_side* of_;
    partition_writer writer_;
    rows_buffer keys_;
    interpreter::scratch scratch_;
    bool resident_;
    std::uint64_t hashes_[batch_rows];
    std::uint16_t partitions_[batch_rows];
  };

  const side_form* form_;
  key_equality equality_;
  unsigned bits_;
  runtime::buffer_pool* pool_;
  partition_store store_;
};

column part_of_batch(const column& c, std::size_t first) { return first ? part_of(c, first) : c; }

// Some rows of a partition of the build side, side by side, under a hash table.
class build_block {
 public:
  build_block(const side_form& form, const key_equality& equality, bool numbered, runtime::run_context& context)
      : form_(&form), equality_(equality), numbered_(numbered), context_(&context), rows_(form.row, context.pool), keys_(form.key, context.pool) {}

  // Rows [first, first + n) of the partition.
  void read(partition_store& store, std::size_t partition, std::uint64_t first, std::uint64_t n) {
    const auto count = static_cast<std::size_t>(n);
    table_.reset();
    rows_.clear();
    keys_.clear();
    n_ = 0;
    if (form_->row->trivial) rows_.reserve(std::max<std::size_t>(count, 1));
    else if (at_.size() < count * sizeof(void*)) at_ = context_->pool.allocate_array<const void*>(count);
    keys_.reserve(std::max<std::size_t>(count, 1));
    if (numbered_ && positions_.size() < count * sizeof(std::uint64_t)) positions_ = context_->pool.allocate_array<std::uint64_t>(count);
    std::size_t chunk = 0, begin = 0, end = 0;
    std::uint64_t before = 0, skip = 0;  // rows of the partition in chunks before; rows of the first chunk that are none of these
    for (const std::size_t rows : store.rows_by_chunk(partition)) {
      if (before <= first) {
        begin = chunk;
        skip = first - before;
      }
      if (before < first + n) end = chunk + 1;
      before += rows;
      ++chunk;
    }
    if (n)
      store.read(partition, begin, end, [&](const stored_rows& r) {
        const auto from = static_cast<std::size_t>(std::min<std::uint64_t>(skip, r.rows.n));
        skip -= from;
        add(r, from, std::min(r.rows.n - from, count - n_));
      });
    table_.emplace(form_->key, keys_.data(), n_, join_options{.custom = equality_}, alone_, context_->pool, context_->cancel);
  }

  std::size_t size() const { return n_; }
  join_table& table() { return *table_; }
  const void* row(std::uint64_t i) const {
    if (i == join_table::no_row) return nullptr;
    return form_->row->trivial ? rows_.at(static_cast<std::size_t>(i)) : at_.as<const void*>()[i];
  }
  std::uint64_t position(std::size_t i) const { return positions_.as<std::uint64_t>()[i]; }

 private:
  void add(const stored_rows& r, std::size_t from, std::size_t k) {
    if (!k) return;
    const column rows = part_of_batch(r.rows.columns[0], from), keys = part_of_batch(form_->keys(r.rows.columns), from);
    if (form_->row->trivial) {
      gather_column(rows, form_->row, k, rows_.extend(k), form_->row->size, false);
      rows_.grow(k);
    } else {
      for (std::size_t i = 0; i < k; ++i) at_.as<const void*>()[n_ + i] = value_at(rows, i);
    }
    gather_column(keys, form_->key, k, keys_.extend(k), form_->key->size, false);
    keys_.grow(k);
    if (numbered_)
      for (std::size_t i = 0; i < k; ++i) positions_.as<std::uint64_t>()[n_ + i] = r.first + r.positions[from + i];
    n_ += k;
  }

  const side_form* form_;
  key_equality equality_;
  bool numbered_;
  runtime::run_context* context_;
  runtime::serial_scheduler alone_;
  rows_buffer rows_, keys_;
  runtime::buffer at_, positions_;
  std::size_t n_ = 0;
  std::optional<join_table> table_;
};

class partitioned_join : public std::enable_shared_from_this<partitioned_join> {
 public:
  partitioned_join(const planner::vertex& v, bool build_left, bool interpreted, std::size_t room, const vertex_tasks& tasks)
      : v_(&v),
        join_(v.node),
        build_left_(build_left),
        context_(&tasks.context()),
        tasks_(&tasks),
        room_(room),
        equality_(equality_of(join_->keys)),
        build_form_(join_->functions[build_left ? 0 : 1], interpreted),
        probe_form_(join_->functions[build_left ? 1 : 0], interpreted) {
    equality_.sees_nulls = false;
    if (join_->functions.size() > 2)
      result_.emplace(join_->functions[2], join_->functions[0].row, join_->functions[1].row, interpreted, context_->pool);
    const std::size_t threads = static_cast<std::size_t>(std::max(1, context_->scheduler.concurrency()));
    rows_a_block_ = std::max(least_block, room / 4 / threads / block_row_bytes());
  }

  std::shared_ptr<made_tables> run(join_input probe, join_input build) {
    const unsigned bits = bits_for(build);
    const auto parts = [](const join_input& in) { return in.first.size() + (in.rest ? in.rest->parts().value_or(1) : 0); };
    build_.emplace(build_form_, equality_, bits, keeps_right(join_->join), parts(build), *context_);
    build_->take(build, *tasks_);
    keep(std::move(build.rest));
    probe_.emplace(probe_form_, equality_, bits, true, parts(probe), *context_);
    probe_->take(probe, *tasks_);
    keep(std::move(probe.rest));
    probe_rows_ = probe_->store().number_rows();
    const std::uint64_t build_rows = build_->store().number_rows();
    const std::uint64_t end = probe_rows_ + (keeps_right(join_->join) ? build_rows : 0);
    const std::size_t partitions = std::size_t{1} << bits;

    const std::size_t threads = static_cast<std::size_t>(std::max(1, context_->scheduler.concurrency()));
    auto rows = std::make_shared<positioned_rows>(*v_, *tasks_, nullptr, std::max<std::uint64_t>(end, 1), expected_rows(partitions), threads, room_);
    std::mutex lock;
    std::vector<std::unique_ptr<task>> idle;
    std::size_t begun = 0;
    std::atomic<std::size_t> next_partition{0};
    tasks_->for_each(partitions, [&](std::size_t) {
      const std::size_t p = next_partition.fetch_add(1, std::memory_order_relaxed);
      std::unique_ptr<task> here;
      {
        const std::lock_guard hold(lock);
        if (idle.empty()) idle.push_back(std::make_unique<task>(*this, *rows, begun++));
        here = std::move(idle.back());
        idle.pop_back();
      }
      here->run(p);
      build_->store().release(p);
      probe_->store().release(p);
      const std::lock_guard hold(lock);
      idle.push_back(std::move(here));
    });
    tasks_->for_each(idle.size(), [&](std::size_t i) { idle[i]->finish(); });
    idle.clear();
    rows->finish(shared_from_this());
    return rows;
  }

 private:
  // Rows that stay where they are have their numbers in a store; what others were made with goes now.
  void keep(std::unique_ptr<pipeline> input) {
    if (input && input->in_place()) inputs_.push_back(std::move(input));
  }
  std::size_t block_row_bytes() const {
    return build_form_.held_bytes() + build_form_.key->size + table_bytes + (keeps_right(join_->join) ? sizeof(std::uint64_t) : 0);
  }
  unsigned bits_for(const join_input& build) const {
    const auto rest = build.rest ? build.rest->source_rows() : std::optional<std::uint64_t>(0);
    const std::size_t chunk = partition_store::rows_a_chunk(std::max(build_form_.stored_bytes(), probe_form_.stored_bytes()), *context_);
    const std::uint64_t most = std::max<std::uint64_t>(chunk / rows_a_part_of_chunk, 1);
    const std::uint64_t wanted = rest ? (rows_in(build.first) + *rest) * 2 / rows_a_block_ + 1 : most;
    return std::clamp<unsigned>(static_cast<unsigned>(std::bit_width(std::min(wanted, most) - 1)), least_bits, most_bits);
  }

  // About how many rows the join has, as one of its partitions says.
  std::uint64_t expected_rows(std::size_t partitions) {
    std::uint64_t most = probe_rows_;
    if (tests(join_->join)) return most;
    std::size_t p = 0;
    for (std::size_t i = 0; i < partitions; ++i)
      if (probe_->store().rows_of(i) < probe_->store().rows_of(p) && probe_->store().rows_of(i) * partitions > probe_rows_ / 2) p = i;
    const std::uint64_t build_rows = build_->store().rows_of(p), probe_rows = probe_->store().rows_of(p);
    if (!build_rows || !probe_rows) return most;
    build_block block(build_form_, equality_, false, *context_);
    const std::uint64_t some = std::min<std::uint64_t>(build_rows, rows_a_block_);
    block.read(build_->store(), p, 0, some);
    rows_buffer keys(probe_form_.key, context_->pool);
    std::uint64_t matches = 0, counts[batch_rows];
    probe_->store().read(p, [&](const stored_rows& r) {
      block.table().count(adjacent_keys(probe_form_, r, keys), r.rows.n, counts);
      for (std::size_t i = 0; i < r.rows.n; ++i) matches += counts[i];
    });
    const double all = static_cast<double>(matches) * static_cast<double>(build_rows) / static_cast<double>(some) *
                       static_cast<double>(probe_rows_) / static_cast<double>(probe_rows);
    const auto rows = static_cast<std::uint64_t>(std::min(all, 1e15));
    return keeps_left(join_->join) ? std::max(most, rows) : rows + 1;
  }

  static const void* adjacent_keys(const side_form& f, const stored_rows& r, rows_buffer& memory) {
    const column c = f.keys(r.rows.columns);
    if (!c.select && c.stride == f.key->size) return c.base;
    memory.clear();
    gather_column(c, f.key, r.rows.n, memory.extend(r.rows.n), f.key->size, false);
    memory.grow(r.rows.n);
    return memory.data();
  }

  // What one thread works with.
  class task {
   public:
    task(partitioned_join& of, positioned_rows& to, std::size_t number)
        : of_(&of),
          writer_(to, number),
          block_(of.build_form_, of.equality_, keeps_right(of.join_->join), *of.context_),
          keys_(of.probe_form_.key, of.context_->pool),
          out_(of.join_->row, of.context_->pool),
          a_batch_(rows_a_batch(of.join_->row->size)),
          matches_(a_batch_) {}

    void run(std::size_t p) {
      partition_store &build = of_->build_->store(), &probe = of_->probe_->store();
      const join_kind k = of_->join_->join;
      const std::uint64_t built = build.rows_of(p), probed = probe.rows_of(p);
      if (!probed && !(built && keeps_right(k))) return;
      if (!built && !keeps_left(k) && k != join_kind::anti) return;
      several_ = built > of_->rows_a_block_;
      if (several_) matched_.assign(static_cast<std::size_t>(probed), false);
      std::uint64_t first = 0;
      do {
        const std::uint64_t n = std::min<std::uint64_t>(of_->rows_a_block_, built - first);
        block_.read(build, p, first, n);
        first += n;
        last_ = first == built;
        std::size_t row = 0;
        probe.read(p, [&](const stored_rows& r) {
          of_->context_->cancel.check();
          if (tests(k)) test(r, row);
          else pair(r, row);
          row += r.rows.n;
        });
        if (keeps_right(k)) add_unmatched();
      } while (!last_);
    }
    void finish() { writer_.finish(); }

   private:
    // row: number of the first one in the partition.
    void pair(const stored_rows& r, std::size_t row) {
      const bool keeps = keeps_left(of_->join_->join);
      const auto alone = keeps && !several_ ? join_table::unmatched::keep : join_table::unmatched::drop;
      const void* const keys = adjacent_keys(of_->probe_form_, r, keys_);
      cursor_.reset();
      while (block_.table().probe(keys, r.rows.n, cursor_, matches_, alone)) {
        of_->context_->cancel.check();
        if (keeps_right(of_->join_->join)) block_.table().mark(matches_);
        for (std::size_t i = 0; i < matches_.size(); ++i) {
          const std::uint32_t at = matches_.probe()[i];
          if (several_ && keeps) matched_[row + at] = true;
          add(r, at, block_.row(matches_.build()[i]), i);
        }
        emit(matches_.size());
      }
      if (!several_ || !keeps || !last_) return;
      std::size_t n = 0;
      for (std::size_t i = 0; i < r.rows.n; ++i) {
        if (matched_[row + i]) continue;
        add(r, i, nullptr, n++);
        if (n == a_batch_) emit(std::exchange(n, 0));
      }
      emit(n);
    }
    void add(const stored_rows& r, std::size_t row, const void* built, std::size_t to) {
      probed_[to] = value_at(r.rows.columns[0], row);
      built_[to] = built;
      positions_[to] = r.first + r.positions[row];
    }
    void add_unmatched() {
      std::size_t n = 0;
      for (std::size_t i = 0; i < block_.size(); ++i) {
        if (block_.table().matched(i)) continue;
        probed_[n] = nullptr;
        built_[n] = block_.row(i);
        positions_[n] = of_->probe_rows_ + block_.position(i);
        if (++n == a_batch_) emit(std::exchange(n, 0));
      }
      emit(n);
    }
    void emit(std::size_t n) {
      if (!n) return;
      of_->context_->cancel.check();
      out_.clear();
      void* const to = out_.extend(n);
      if (of_->build_left_) of_->result_->map(built_, probed_, n, to, scratch_);
      else of_->result_->map(probed_, built_, n, to, scratch_);
      out_.grow(n);
      const std::size_t size = out_.type()->size;
      const column all{to, size, 0, size, nullptr, true};
      writer_.append({&all, 1}, n, positions_, true);
    }
    // Semi and anti joins.
    void test(const stored_rows& r, std::size_t row) {
      std::uint8_t found[column_batch_rows];
      block_.table().contains(adjacent_keys(of_->probe_form_, r, keys_), r.rows.n, found);
      if (several_) {
        for (std::size_t i = 0; i < r.rows.n; ++i)
          if (found[i]) matched_[row + i] = true;
        if (!last_) return;
        for (std::size_t i = 0; i < r.rows.n; ++i) found[i] = matched_[row + i];
      }
      const std::uint8_t wanted = of_->join_->join == join_kind::semi;
      column rows = r.rows.columns[0];
      rows.transient = !rows.select;  // others lie outside of the store's block
      std::size_t n = 0;
      for (std::size_t i = 0; i < r.rows.n; ++i) {
        if (found[i] != wanted) continue;
        numbers_[n] = rows.select ? rows.select[i] : static_cast<std::uint32_t>(i);
        positions_[n++] = r.first + r.positions[i];
      }
      rows.select = numbers_;
      if (n) writer_.append({&rows, 1}, n, positions_, false);
    }

    partitioned_join* of_;
    positioned_rows::writer writer_;
    build_block block_;
    rows_buffer keys_, out_;
    std::size_t a_batch_;
    join_table::cursor cursor_;
    match_batch matches_;
    pair_calls::scratch scratch_;
    bool several_ = false, last_ = false;
    std::vector<bool> matched_;  // probe rows of the partition, by the blocks so far; where there are several
    const void* probed_[batch_rows];
    const void* built_[batch_rows];
    std::uint64_t positions_[batch_rows];
    std::uint32_t numbers_[column_batch_rows];
  };

  const planner::vertex* v_;
  const detail::logical* join_;
  bool build_left_;
  runtime::run_context* context_;
  const vertex_tasks* tasks_;
  std::size_t room_, rows_a_block_ = 0;
  key_equality equality_;
  side_form build_form_, probe_form_;
  std::optional<pair_calls> result_;
  std::vector<std::unique_ptr<pipeline>> inputs_;  // read by number
  std::optional<parted_side> build_, probe_;
  std::uint64_t probe_rows_ = 0;
};

bool can_be_copied(const ir::type* t) { return t->trivial || t->life.copy; }

}  // namespace

std::uint64_t join_table_bytes(const detail::logical& join, bool build_left, std::uint64_t rows) {
  return rows * (table_bytes + join.functions[build_left ? 0 : 1].result->size);
}

bool can_be_partitioned(const detail::logical& join) {
  return can_be_copied(join.functions[0].row) && can_be_copied(join.functions[1].row) && can_be_copied(join.functions[0].result) &&
         can_be_copied(join.functions[1].result) && (can_be_copied(join.row) || join.row->life.move);
}

std::shared_ptr<made_tables> join_partitions(const planner::vertex& v, bool build_left, bool interpreted, join_input probe, join_input build,
                                             std::size_t room, const vertex_tasks& tasks) {
  return std::make_shared<partitioned_join>(v, build_left, interpreted, room, tasks)->run(std::move(probe), std::move(build));
}

}  // namespace query::cpu
