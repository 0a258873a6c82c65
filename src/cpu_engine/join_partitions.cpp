#include "cpu_engine/join_partitions.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include <query/cpu/segment_form.hpp>
#include <query/detail/asof_options.hpp>
#include <query/errors.hpp>

#include "cpu_engine/join_sides.hpp"
#include "cpu_engine/key_column.hpp"
#include "cpu_engine/pair_calls.hpp"
#include "cpu_engine/positioned_rows.hpp"
#include "cpu_engine/row_lists.hpp"
#include "cpu_engine/value_bytes.hpp"
#include "ir/analysis.hpp"

namespace query::cpu {

using detail::join_kind;

namespace {

constexpr std::size_t rows_a_part_of_chunk = 128;  // of a chunk, that one partition has; fewer are mostly overhead
constexpr unsigned least_bits = 2, most_bits = 12;
constexpr std::size_t least_block = 1 << 10;
constexpr std::uint64_t most_matches = 1 << 16, most_match_bytes = std::uint64_t{16} << 20;  // of a group_join in one go

// The most that a join_table takes for each key; small ranges of integers take a fifth.
std::size_t table_bytes(const ir::type& key) { return key.size <= 4 ? 60 : key.size <= 8 ? 88 : 104; }

bool keeps_left(join_kind k) { return k == join_kind::left || k == join_kind::full; }
bool keeps_right(join_kind k) { return k == join_kind::right || k == join_kind::full; }

// The columns of both sides, and what the result function makes of them; records: neither.
struct join_columns {
  const planner::column_schema *left = nullptr, *right = nullptr;
  std::optional<planner::projection> result;
  std::vector<column> probed;  // all rows of the probe side's source, if numbers of its rows are enough to make the result
  std::uint64_t probed_rows = 0;
};

class partitioned_join : public std::enable_shared_from_this<partitioned_join> {
 public:
  partitioned_join(std::shared_ptr<const planner::vertex> v, bool build_left, bool interpreted, join_columns columns, std::size_t room,
                   const vertex_tasks& tasks)
      : v_(std::move(v)),
        join_(v_->node),
        build_left_(build_left),
        context_(&tasks.context()),
        tasks_(&tasks),
        room_(room),
        equality_(equality_of(join_->keys)),
        build_form_(join_->functions[build_left ? 0 : 1], interpreted, build_left ? columns.left : columns.right),
        probe_form_(join_->functions[build_left ? 1 : 0], interpreted, build_left ? columns.right : columns.left,
                    std::move(columns.probed)),
        probed_source_rows_(columns.probed_rows) {
    if (!probe_form_.records) probe_schema_ = *(build_left ? columns.right : columns.left);
    if (tests()) places_ = probe_form_.in_place;
    equality_.sees_nulls = false;
    const auto& f = join_->functions;
    if (columns.result) {
      if (probe_form_.numbers()) find_places(columns.result->parts);
      projector_.emplace(std::move(*columns.result), join_);
    }
    else if (groups()) result_.emplace(f[2], f[0].row, list(), interpreted, context_->pool);
    else if (f.size() > 2) result_.emplace(f[2], f[0].row, f[1].row, interpreted, context_->pool);
    rows_a_block_ = std::max(least_block, room / 4 / threads() / block_row_bytes());
  }

  std::shared_ptr<made_tables> run(join_input probe, join_input build) {
    const std::size_t build_heap = build.row_heap, result_heap = owns_heap(*join_->row) ? build_heap + probe.row_heap : 0;
    build_row_heap_ = build_heap;
    // The matches of a group_join are wanted together: all of a partition are one block.
    if (owns_heap(*build_form_.key) || groups())
      rows_a_block_ = std::max(least_block, room_ / 4 / threads() / (block_row_bytes() + build_heap));
    const unsigned bits = bits_for(build);
    const auto parts = [](const join_input& in) { return in.first.size() + (in.rest ? in.rest->parts().value_or(1) : 0); };
    build_.emplace(build_form_, equality_, bits, marks(), parts(build), *context_);
    take_build_side(build);
    keep(std::move(build.rest));
    probe_.emplace(probe_form_, equality_, bits, !probe_form_.numbers(), parts(probe), *context_);
    probe_->take(probe, *tasks_);
    keep(std::move(probe.rest));
    probe_rows_ = probe_->store().number_rows();
    const std::uint64_t build_rows = build_->store().number_rows();
    const std::uint64_t end = probe_form_.numbers() ? probed_source_rows_ : probe_rows_ + (marks() ? build_rows : 0);
    const std::size_t partitions = std::size_t{1} << bits;
    count_values(build_rows, build_heap);

    const planner::column_schema schema = projector_ ? projector_->schema() : probe_schema_;
    const bool columns = projector_ || (tests() && !probe_form_.records);
    auto rows = std::make_shared<positioned_rows>(*v_, *tasks_, columns ? &schema : nullptr, std::max<std::uint64_t>(end, 1),
                                                  expected_rows(partitions), 2 * threads(), room_, result_heap, places_);
    std::mutex lock;
    std::vector<std::unique_ptr<task>> idle;
    std::size_t begun = 0;
    // In this order, whatever the order of the tasks: stores give memory back band by band.
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
  std::size_t threads() const { return static_cast<std::size_t>(std::max(1, context_->scheduler.concurrency())); }
  join_kind kind() const { return join_->join; }
  bool groups() const { return join_->what == detail::verb::group_join; }
  bool tests() const { return !groups() && (kind() == join_kind::semi || kind() == join_kind::anti); }
  bool keeps_probed() const { return !groups() && keeps_left(kind()); }
  bool marks() const { return !groups() && keeps_right(kind()); }
  const ir::type* list() const { return static_cast<const ir::type*>(join_->source.get()); }

  // Which columns of the result are columns of the probe side.
  void find_places(const std::vector<planner::projected_part>& parts) {
    for (const planner::projected_part& part : parts) {
      column& c = places_.emplace_back();
      if (part.computed || part.side != (build_left_ ? 1u : 0u)) continue;
      c = probe_form_.in_place[part.column];
      c.base = static_cast<const std::byte*>(c.base) + part.within;
      c.offset = part.to;
      c.size = part.type->size;
    }
  }
  void take_build_side(join_input& build) {
    const runtime::profiled_run::scope now(context_->profile.get(), build.vertex);
    build_->take(build, *tasks_);
    if (!context_->profile || build.vertex < 0) return;
    const std::uint64_t rows = build_->store().number_rows();
    context_->profile->at(build.vertex)->gave(rows, rows * build_form_.row->size);
  }
  // Rows that stay where they are have their numbers in a store; what others were made with goes now.
  void keep(std::unique_ptr<pipeline> input) {
    if (input && (input->in_place() || !build_form_.records)) inputs_.push_back(std::move(input));
  }
  std::uint64_t position(const stored_rows& r, std::size_t i) const {
    return probe_form_.numbers() ? side_form::numbers_of(r.rows)[i] : r.first + r.positions[i];
  }
  // A group_join copies its matches to the lists that its function gets.
  std::uint64_t matches_at_once() const {
    const std::uint64_t bytes = std::min<std::uint64_t>(most_match_bytes, room_ / 16 / threads());
    return std::clamp<std::uint64_t>(bytes / (build_form_.row->size + build_row_heap_), 1, most_matches);
  }
  std::size_t block_row_bytes() const { return build_block::row_bytes(build_form_, marks()) + table_bytes(*build_form_.key); }
  // Values that the store keeps as bytes are made again for a block; and so are keys, of any rows.
  void count_values(std::uint64_t build_rows, std::size_t row_heap) {
    std::uint64_t bytes = 0;
    for (std::size_t p = 0; p < build_->store().partitions(); ++p) bytes += build_->store().value_bytes(p);
    if (!bytes) return;
    std::size_t a_row = block_row_bytes() + build_form_.row->size + static_cast<std::size_t>(bytes / build_rows);
    if (owns_heap(*build_form_.key)) a_row += std::max(row_heap, static_cast<std::size_t>(bytes / build_rows));
    rows_a_block_ = std::max(least_block, room_ / 4 / threads() / a_row);
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
    if (tests() || groups()) return probe_rows_;
    partition_store &build = build_->store(), &probe = probe_->store();
    std::size_t p = 0;
    for (std::size_t i = 1; i < partitions; ++i)
      if (probe.rows_of(i) < probe.rows_of(p) && probe.rows_of(i) * partitions > probe_rows_ / 2) p = i;
    const std::uint64_t built = build.rows_of(p), probed = probe.rows_of(p);
    if (!built || !probed) return probe_rows_;
    build_block block(build_form_, equality_, false, false, *context_);
    block.read(build, p, 0, std::min<std::uint64_t>(built, rows_a_block_));
    side_keys keys(probe_form_, context_->pool);
    std::uint64_t matches = 0, counts[batch_rows];
    probe.read(p, [&](const stored_rows& r) {
      block.table().count(keys.of(r.rows), r.rows.n, counts);
      for (std::size_t i = 0; i < r.rows.n; ++i) matches += counts[i];
    });
    const double all = static_cast<double>(matches) * static_cast<double>(built) / static_cast<double>(block.size()) *
                       static_cast<double>(probe_rows_) / static_cast<double>(probed);
    const auto rows = static_cast<std::uint64_t>(std::min(all, 1e15));
    return keeps_probed() ? std::max(probe_rows_, rows) : rows + 1;
  }

  // The working state of one thread.
  class task {
   public:
    task(partitioned_join& of, positioned_rows& to, std::size_t number)
        : of_(&of),
          writer_(to, number),
          missing_(to, of.threads() + number),
          block_(of.build_form_, of.equality_, of.marks(), of.projector_ && of.keeps_probed(), *of.context_),
          keys_(of.probe_form_, of.context_->pool),
          out_(of.join_->row, of.context_->pool),
          a_batch_(rows_a_batch(of.join_->row->size)),
          matches_(a_batch_) {
      if (of.projector_) projector_.emplace(*of.projector_, of.context_->pool);
      if (of.groups()) lists_.emplace(of.list(), batch_rows, of.context_->pool);
    }

    void run(std::size_t p) {
      partition_store &build = of_->build_->store(), &probe = of_->probe_->store();
      const std::uint64_t built = build.rows_of(p), probed = probe.rows_of(p);
      if (!probed && !(built && of_->marks())) return;
      if (!built && !of_->keeps_probed() && !of_->groups() && of_->kind() != join_kind::anti) return;
      const std::uint64_t most = of_->groups() ? std::max<std::uint64_t>(built, 1) : of_->rows_a_block_;
      std::uint64_t first = 0;
      matched_.clear();
      do {
        block_.read(build, p, first, std::min<std::uint64_t>(most, built - first));
        first += block_.size();
        last_ = first == built;
        several_ = !last_ || !matched_.empty();
        if (several_) matched_.resize(static_cast<std::size_t>(probed), false);
        std::size_t row = 0;
        probe.read(p, [&](const stored_rows& r) {
          of_->context_->cancel.check();
          if (of_->groups()) group(r);
          else if (of_->tests()) test(r, row);
          else pair(r, row);
          row += r.rows.n;
        });
        if (of_->marks()) add_unmatched();
      } while (!last_);
    }
    void finish() {
      writer_.finish();
      missing_.finish();
    }

   private:
    // row: number of the first one in the partition.
    void pair(const stored_rows& r, std::size_t row) {
      const bool keeps = of_->keeps_probed();
      const auto alone = keeps && !several_ ? join_table::unmatched::keep : join_table::unmatched::drop;
      const void* const keys = keys_.of(r.rows);
      cursor_.reset();
      // One row may have millions of partners: batches of matches, not of rows, are where a query stops.
      while (block_.table().probe(keys, r.rows.n, cursor_, matches_, alone)) {
        if (of_->marks()) block_.table().mark(matches_);
        if (several_ && keeps)
          for (std::size_t i = 0; i < matches_.size(); ++i) matched_[row + matches_.probe()[i]] = true;
        hand_on(r, matches_.probe(), matches_.build(), matches_.size());
      }
      if (!several_ || !keeps || !last_) return;
      std::size_t n = 0;
      const std::vector<std::uint64_t> none(a_batch_, join_table::no_row);
      for (std::size_t i = 0; i < r.rows.n; ++i) {
        if (matched_[row + i]) continue;
        numbers_[n++] = static_cast<std::uint32_t>(i);
        if (n == a_batch_) hand_on(r, numbers_, none.data(), std::exchange(n, 0));
      }
      hand_on(r, numbers_, none.data(), n);
    }
    // n pairs of rows of the batch and of the block.
    void hand_on(const stored_rows& r, const std::uint32_t* probed, const std::uint64_t* built, std::size_t n) {
      if (!n) return;
      for (std::size_t i = 0; i < n; ++i) positions_[i] = of_->position(r, probed[i]);
      if (projector_ && of_->keeps_probed()) return divide(r, probed, built, n);
      if (projector_) return project(r, probed, block_.select(built, n), n, writer_);
      for (std::size_t i = 0; i < n; ++i) {
        probed_[i] = value_at(r.rows.columns[0], probed[i]);
        built_[i] = block_.row(built[i]);
      }
      emit(n);
    }
    // Rows with a partner keep numbers of what stays where it is; those without have a writer of their own.
    void divide(const stored_rows& r, const std::uint32_t* probed, const std::uint64_t* built, std::size_t n) {
      std::size_t with = 0, without = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (built[i] == join_table::no_row) {
          alone_[without++] = probed[i];
          continue;
        }
        partner_of_[with] = probed[i];
        partners_[with] = built[i];
        positions_[with++] = positions_[i];
      }
      if (with) project(r, partner_of_, block_.select(partners_, with), with, writer_);
      for (std::size_t i = 0; i < without; ++i) positions_[i] = of_->position(r, alone_[i]);
      if (without) project(r, alone_, block_.select_missing(without), without, missing_);
    }
    void project(const stored_rows& r, const std::uint32_t* probed, std::span<const column> built, std::size_t n,
                 positioned_rows::writer& to) {
      of_->context_->cancel.check();
      const std::span<const column> rows = narrowed_.narrow(lasting(r), probed, n);
      to.append(of_->build_left_ ? projector_->run(built, rows, n) : projector_->run(rows, built, n), n, positions_, false);
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
      if (n) emit(n);
    }
    void emit(std::size_t n) {
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
    // The columns of a batch; values that lie in the store's block go with it.
    std::span<const column> lasting(const stored_rows& r) {
      if (of_->probe_form_.numbers()) {
        of_->probe_form_.select(side_form::numbers_of(r.rows), columns_);
        return columns_;
      }
      columns_.assign(r.rows.columns.begin(), r.rows.columns.end());
      for (column& c : columns_) c.transient = !c.select;
      return columns_;
    }
    // Semi and anti joins.
    void test(const stored_rows& r, std::size_t row) {
      std::uint8_t found[column_batch_rows];
      block_.table().contains(keys_.of(r.rows), r.rows.n, found);
      if (several_) {
        for (std::size_t i = 0; i < r.rows.n; ++i)
          if (found[i]) matched_[row + i] = true;
        if (!last_) return;
        for (std::size_t i = 0; i < r.rows.n; ++i) found[i] = matched_[row + i];
      }
      const std::uint8_t wanted = of_->kind() == join_kind::semi;
      std::size_t n = 0;
      for (std::size_t i = 0; i < r.rows.n; ++i) {
        if (found[i] != wanted) continue;
        numbers_[n] = static_cast<std::uint32_t>(i);
        positions_[n++] = of_->position(r, i);
      }
      if (!n) return;
      std::span<const column> rows = narrowed_.narrow(lasting(r), numbers_, n);
      if (of_->probe_form_.records) rows = rows.first(1);
      writer_.append(rows, n, positions_, false);
    }
    // Rows of the batch with all of their matches.
    void group(const stored_rows& r) {
      const void* const keys = keys_.of(r.rows);
      const std::uint64_t most = of_->matches_at_once();
      std::uint64_t counts[batch_rows];
      block_.table().count(keys, r.rows.n, counts);
      for (std::size_t i = 0; i < r.rows.n;) {
        std::uint64_t matches = counts[i];
        std::size_t j = i + 1;
        while (j < r.rows.n && j - i < a_batch_ && matches + counts[j] <= most) matches += counts[j++];
        for (std::size_t k = i; k < j; ++k) lists_->start(k - i, static_cast<std::size_t>(counts[k]));
        cursor_.reset();
        while (block_.table().probe(static_cast<const std::byte*>(keys) + i * of_->probe_form_.key->size, j - i, cursor_, matches_)) {
          of_->context_->cancel.check();
          for (std::size_t m = 0; m < matches_.size(); ++m) lists_->add(matches_.probe()[m], block_.row(matches_.build()[m]));
        }
        for (std::size_t k = i; k < j; ++k) {
          probed_[k - i] = value_at(r.rows.columns[0], k);
          built_[k - i] = lists_->list(k - i);
          positions_[k - i] = of_->position(r, k);
        }
        emit(j - i);
        i = j;
      }
    }

    partitioned_join* of_;
    positioned_rows::writer writer_, missing_;
    build_block block_;
    side_keys keys_;
    rows_buffer out_;
    std::size_t a_batch_;
    join_table::cursor cursor_;
    match_batch matches_;
    pair_calls::scratch scratch_;
    std::optional<column_projector::runner> projector_;
    std::optional<row_lists> lists_;
    narrowed_columns narrowed_;
    std::vector<column> columns_;
    bool several_ = false, last_ = false;
    std::vector<bool> matched_;  // probe rows of the partition, by the blocks so far; where there are several
    const void* probed_[batch_rows];
    const void* built_[batch_rows];
    std::uint64_t positions_[batch_rows];
    std::uint32_t numbers_[column_batch_rows], partner_of_[column_batch_rows], alone_[column_batch_rows];
    std::uint64_t partners_[column_batch_rows];
  };

  std::shared_ptr<const planner::vertex> v_;
  const detail::logical* join_;
  bool build_left_;
  runtime::run_context* context_;
  const vertex_tasks* tasks_;
  std::size_t room_, rows_a_block_ = 0, build_row_heap_ = 0;
  key_equality equality_;
  side_form build_form_, probe_form_;
  planner::column_schema probe_schema_;          // columns
  std::uint64_t probed_source_rows_;
  std::vector<column> places_;                   // of the result's columns, as positioned_rows has them
  std::optional<pair_calls> result_;             // records
  std::optional<column_projector> projector_;    // columns
  std::vector<std::unique_ptr<pipeline>> inputs_;  // read by number
  std::optional<parted_side> build_, probe_;
  std::uint64_t probe_rows_ = 0;
};

// Do the batches of both sides hold columns that stay where they are, and can the result be made of them?
join_columns columns_of(const detail::logical& join, bool build_left, const join_input& probe, const join_input& build) {
  const auto stay = [](const join_input& in) {
    return in.first.empty() && in.rest && in.rest->columns() && in.rest->source_rows() && !in.rest->made_as_read();
  };
  const bool plain = join.what == detail::verb::join && !keeps_right(join.join) && !join.has_own_equality();
  if (!plain || !stay(probe) || !stay(build)) return {};
  join_columns c;
  c.left = (build_left ? build : probe).rest->columns();
  c.right = (build_left ? probe : build).rest->columns();
  if (!planner::evaluate(join.functions[0], *c.left) || !planner::evaluate(join.functions[1], *c.right)) return {};
  if (join.functions.size() > 2) {
    const planner::column_schema right = keeps_left(join.join) ? c.right->of_optional(join.functions[1].row) : *c.right;
    c.result = planner::project(join.functions[2], *c.left, &right);
    if (!c.result) return {};
    // Computed columns read rows partition by partition: from the store, as rows of the source lie far apart.
    for (const planner::projected_part& part : c.result->parts)
      if (part.computed && ir::rows_used(part.computed).contains(build_left ? 1 : 0)) return c;
  }
  c.probed_rows = *probe.rest->source_rows();
  if (c.probed_rows < std::numeric_limits<std::uint32_t>::max()) c.probed = probe.rest->columns_in_place();
  if (std::ranges::any_of(c.probed, [](const column& x) { return x.coded != nullptr; })) c.probed.clear();  // they select entries, not rows
  return c;
}

bool can_be_copied(const ir::type* t) { return t->trivial || t->life.copy; }

}  // namespace

std::uint64_t join_table_bytes(const detail::logical& join, bool build_left, std::uint64_t rows) {
  const ir::type& key = *join.functions[build_left ? 0 : 1].result;
  return rows * (table_bytes(key) + key.size);
}

bool can_be_partitioned(const detail::logical& join) {
  if (detail::asof_of(join)) return false;  // rows that match have different keys
  return can_be_copied(join.functions[0].row) && can_be_copied(join.functions[1].row) && can_be_copied(join.functions[0].result) &&
         can_be_copied(join.functions[1].result) && (can_be_copied(join.row) || join.row->life.move);
}

std::shared_ptr<made_tables> join_partitions(std::shared_ptr<const planner::vertex> v, bool build_left, bool interpreted, join_input probe,
                                             join_input build, std::size_t room, const vertex_tasks& tasks) {
  join_columns columns = columns_of(*v->node, build_left, probe, build);
  const auto join = std::make_shared<partitioned_join>(std::move(v), build_left, interpreted, std::move(columns), room, tasks);
  return join->run(std::move(probe), std::move(build));
}

}  // namespace query::cpu
