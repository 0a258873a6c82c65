#include "cpu_engine/set_partitions.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <optional>
#include <utility>

#include <query/cpu/segment_form.hpp>
#include <query/errors.hpp>

#include "cpu_engine/grouper.hpp"
#include "cpu_engine/hashed_rows.hpp"
#include "cpu_engine/key_column.hpp"
#include "cpu_engine/positioned_rows.hpp"
#include "cpu_engine/row_pieces.hpp"
#include "cpu_engine/sampled_pieces.hpp"
#include "cpu_engine/table_estimate.hpp"
#include "cpu_engine/value_bytes.hpp"
#include "planner/column_forms.hpp"

namespace query::cpu {

using detail::verb;

namespace {

constexpr std::uint64_t least_rows = 1 << 12;       // fewer are not put apart
constexpr std::size_t rows_a_block = 128;           // of a chunk, that one partition has; fewer are mostly overhead
constexpr std::size_t most_partitions = 1 << 12;
constexpr std::size_t least_keys = 1 << 10;         // of the table of one thread
constexpr std::uint64_t every_hash = ~std::uint64_t{0};

bool can_be_copied(const ir::type* t) { return t->trivial || t->life.copy; }
std::size_t table_bytes(const ir::type* key) { return 96 + 3 * key->size; }  // for each key, while the table grows
bool tells_apart(const planner::vertex& v) { return v.node->what == verb::intersect || v.node->what == verb::except; }

// All inputs put apart, and what is found in them.
class set_partitions {
 public:
  // rows: how many there are in all; unknown: as many as a store can take apart. only_first: the result has rows of the first input.
  // row_heap: about what a row, or a key if that is more, owns on the heap.
  set_partitions(const planner::vertex& v, const vertex_tasks& tasks, std::size_t room, std::optional<std::uint64_t> rows, bool only_first,
                 std::size_t row_heap)
      : v_(&v), tasks_(&tasks), room_(room), row_heap_(row_heap), only_first_(only_first) {
    const std::size_t threads = lanes();
    const ir::type* key = v.node->functions[0].result;
    const std::size_t least = owns_heap(*key) ? least_keys / 16 : least_keys;
    most_keys_ = std::max(least, room / 2 / threads / (table_bytes(key) + (owns_heap(*key) ? row_heap : 0)));
    const std::size_t chunk = partition_store::rows_a_chunk(v.node->row->size + key->size, tasks.context());
    const std::size_t most = std::bit_floor(std::clamp<std::size_t>(chunk / rows_a_block, 2, most_partitions));
    const std::uint64_t wanted = rows ? *rows / most_keys_ + 1 : most;
    bits_ = static_cast<unsigned>(std::countr_zero(std::bit_ceil(std::clamp<std::uint64_t>(wanted, 2, most))));
  }

  // The next input: rows that have come, and those of a pipeline.
  hashed_rows& add(const planner::column_schema* columns, std::size_t parts) {
    return add(columns, only_first_ && !inputs_.empty() ? hashed_rows::stores::keys : hashed_rows::stores::rows, parts);
  }
  void add(const grouper& known) { add(nullptr, hashed_rows::stores::computed_keys, 1).put_keys(known, 0); }
  void add(std::vector<piece> first, std::shared_ptr<pipeline> rest, std::size_t window) {
    hashed_rows& to = add(rest->columns(), first.size() + rest->parts().value_or(1));
    put(to, first, 0, false);
    const std::size_t before = first.size() - rest->next_part();
    const bool resident = rest->in_place();
    const auto put_part = [&](const pipeline::part& part) { to.put(part, part.index + before, resident); };
    if (rest->source_rows()) {
      rest->run_all(put_part);
    } else {
      while (rest->run_some(window, put_part)) {
      }
    }
    lives_on_.push_back(std::move(rest));
  }
  void put(hashed_rows& to, std::vector<piece>& rows, std::size_t number, bool resident) {
    tasks_->for_each(rows.size(), [&](std::size_t i) {
      detail::row_block b;
      b.rows = const_cast<void*>(rows[i].data());
      b.n = rows[i].size();
      b.owned = rows[i].movable() != nullptr;
      to.put(b, number + i, resident);
      rows[i] = piece(detail::table{});
    });
  }
  void put(hashed_rows& to, std::vector<piece> first, function_ref<bool(detail::table&, bool&)> next) {
    const std::size_t limit = tasks_->pool().limit(), size = v_->node->row->size, most = std::max<std::size_t>(1, limit / 16 / size);
    std::size_t number = 0, heap = 0;
    bool stay = false, stays = false;
    const auto flush = [&] {
      put(to, first, number, stay);
      number += first.size();
      first.clear();
      heap = 0;
    };
    for (detail::table rows; next(rows, stays); stay = stays) {
      if (stays != stay || rows_in(first) >= most || heap > limit / 16) flush();
      if (const rows_buffer* const owner = rows_buffer::owner_of(rows)) heap += owner->heap().bytes();
      if (stays && (lives_on_.empty() || lives_on_.back() != rows.owner)) lives_on_.push_back(rows.owner);
      first.emplace_back(std::move(rows));
    }
    flush();
  }

  runtime::vertex_rows rows() {
    std::uint64_t end = 0;
    const std::size_t given = only_first_ ? 1 : inputs_.size();  // inputs whose rows may be in the result
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      before_.push_back(end);
      const std::uint64_t n = inputs_[i]->store().number_rows();
      if (i < given) end += n;
    }
    const stored_order& order = inputs_[0]->order();
    planner::column_schema columns = order.columns;
    columns.columns.resize(order.of_row);
    const planner::column_schema* const schema = order.records ? nullptr : &columns;
    const auto found = std::make_shared<positioned_rows>(*v_, *tasks_, schema, end, end, lanes(), room_, row_heap_);
    std::atomic<std::size_t> next{0};
    const std::size_t partitions = std::size_t{1} << bits_;
    tasks_->for_each(lanes(), [&](std::size_t number) {
      lane l(*this, given, *found, number);
      // In this order, whatever the order of the tasks: stores give memory back band by band.
      for (std::size_t p; (p = next.fetch_add(1, std::memory_order_relaxed)) < partitions;) {
        l.run(p);
        for (const auto& in : inputs_) in->store().release(p);
      }
      l.finish();
    });
    inputs_.clear();
    found->finish(std::make_shared<std::vector<std::shared_ptr<void>>>(std::move(lives_on_)));
    return runtime::vertex_rows(found);
  }

 private:
  hashed_rows& add(const planner::column_schema* columns, hashed_rows::stores what, std::size_t parts) {
    return *inputs_.emplace_back(std::make_unique<hashed_rows>(*v_, columns, what, bits_, parts, *tasks_));
  }

  // One thread's way through partitions. Positions are those of one row each: who finds it does not matter.
  class lane {
   public:
    lane(const set_partitions& of, std::size_t given, positioned_rows& to, std::size_t number) : of_(&of), given_(given), to_(to, number) {}

    void run(std::size_t partition) {
      std::uint64_t rows = 0;
      for (const auto& in : of_->inputs_) rows += in->store().rows_of(partition);
      if (!rows) return;
      // As many of the hashes as the table has room for, if all rows had keys of their own; then as many as those had.
      double share = static_cast<double>(of_->most_keys_) / static_cast<double>(rows);
      for (std::uint64_t first = 0;;) {
        constexpr double hashes = 18446744073709551616.0;
        const auto width = share < 0.99 ? static_cast<std::uint64_t>(share * hashes) + 1 : every_hash;
        const std::uint64_t last = every_hash - first <= width ? every_hash : first + width;
        const double keys = static_cast<double>(find(partition, first, last));
        if (last == every_hash) return;
        const double of_all = keys / (static_cast<double>(last - first) / hashes);
        share = 0.7 * static_cast<double>(of_->most_keys_) / std::max(1.0, of_all);
        first = last + 1;
      }
    }
    void finish() { to_.finish(); }

   private:
    // Rows whose hash, less the bits of the partition, is from `from` to `to`. Returns how many keys they have.
    std::size_t find(std::size_t partition, std::uint64_t from, std::uint64_t to) {
      const hashed_rows& any = *of_->inputs_[0];
      grouper keys(any.key_type(), of_->tasks_->pool(), any.equality());
      keys.expect_sparse();
      for (std::size_t i = given_; i < of_->inputs_.size(); ++i)
        read(i, partition, from, to, [&](std::span<const column>, std::size_t n) { keys.find_or_insert(keys_, 0, n, ids_); });
      const bool among = of_->v_->node->what == verb::intersect;
      std::vector<bool> seen(among ? keys.size() : 0);
      std::size_t known = keys.size();
      for (std::size_t i = 0; i < given_; ++i)
        read(i, partition, from, to, [&](std::span<const column> columns, std::size_t n) {
          if (among) keys.find(keys_, 0, n, ids_);
          else keys.find_or_insert(keys_, 0, n, ids_);
          std::size_t k = 0;
          for (std::size_t row = 0; row < n; ++row) {
            const std::uint32_t id = ids_[row];
            if (among ? id == grouper::absent || seen[id] : id != known) continue;
            if (among) seen[id] = true;
            else ++known;
            firsts_[k] = static_cast<std::uint32_t>(row);
            at_[k++] = positions_[row];
          }
          if (!k) return;
          // Rows that are read again, for other hashes, are copied.
          const std::span<const column> of_row = columns.first(any.order().of_row);
          to_.append(of_firsts_.narrow(of_row, firsts_, k), k, at_, to == every_hash);
        });
      return keys.size();
    }
    // Calls f(columns, n) for batches of such rows, with keys_ and positions_.
    template <class F> void read(std::size_t input, std::size_t partition, std::uint64_t from, std::uint64_t to, F f) {
      hashed_rows& rows = *of_->inputs_[input];
      const std::uint64_t before = of_->before_[input];
      const detail::stop_point stop;
      rows.store().read(partition, [&](const stored_rows& r) {
        stop.check();
        for (std::size_t i = 0; i < r.rows.n; ++i) positions_[i] = before + r.first + r.positions[i];
        rows.find_keys(r.rows.columns, keys_);
        if (from == 0 && to == every_hash) return f(r.rows.columns, r.rows.n);
        std::uint64_t hashes[column_batch_rows];
        rows.hash(keys_, r.rows.n, hashes);
        std::size_t k = 0;
        for (std::size_t i = 0; i < r.rows.n; ++i) {
          const std::uint64_t rest = hashes[i] << of_->bits_;
          if (rest < from || rest > to) continue;
          some_[k] = static_cast<std::uint32_t>(i);
          positions_[k++] = positions_[i];
        }
        if (!k) return;
        const std::span<const column> columns = of_some_.narrow(r.rows.columns, some_, k);
        rows.find_keys(columns, keys_);
        f(columns, k);
      });
    }

    const set_partitions* of_;
    std::size_t given_;
    positioned_rows::writer to_;
    std::vector<key_part> keys_;
    narrowed_columns of_some_, of_firsts_;
    std::uint32_t some_[column_batch_rows], firsts_[column_batch_rows], ids_[column_batch_rows];
    std::uint64_t positions_[column_batch_rows], at_[column_batch_rows];
  };

  std::size_t lanes() const { return static_cast<std::size_t>(std::max(1, tasks_->scheduler().concurrency())); }

  const planner::vertex* v_;
  const vertex_tasks* tasks_;
  std::size_t room_, row_heap_, most_keys_;
  bool only_first_;
  unsigned bits_;
  std::vector<std::unique_ptr<hashed_rows>> inputs_;
  std::vector<std::uint64_t> before_;  // rows of the inputs before each
  std::vector<std::shared_ptr<void>> lives_on_;
};

// What each row of an input takes in memory: to find it, and at most.
struct row_costs {
  std::size_t least, most;
};
row_costs costs_of(const planner::vertex& v, std::size_t input, bool in_place, std::size_t heap) {
  const std::size_t width = v.node->row->size + (in_place ? 0 : heap), key = v.node->functions[0].result->size;
  const bool keys_in_rows = key == v.node->row->size && part_of_row(v.node->functions[0]) == 0;
  const std::size_t least = (in_place ? 0 : width) + (keys_in_rows ? 0 : key) + 1;
  if (tells_apart(v) && input > 0) return {least + sizeof(std::uint64_t), least + 4 * sizeof(std::uint64_t)};
  return {least, least + 2 * sizeof(std::uint64_t) + (tells_apart(v) ? key : 0) + v.node->row->size + (in_place ? heap : 0)};
}

bool same(const planner::column_schema& a, const planner::column_schema& b) {
  return std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                    [](const auto& x, const auto& y) { return x.offset == y.offset && x.type == y.type; });
}

// Bytes of the heap a row or key, of some of them.
std::size_t sampled_heap(const std::vector<piece>& rows, const ir::type* type) {
  std::size_t bytes = 0;
  for (const piece& p : rows) bytes += p.size() ? heap_bytes(*type, p.data(), 1) : 0;
  return bytes / std::max<std::size_t>(1, rows.size());
}
std::size_t sampled_heap(const grouper& keys, const ir::type* type) {
  constexpr std::size_t sampled = 64;
  std::size_t bytes = 0, n = 0;
  for (std::size_t i = 0; i < keys.size(); i += keys.size() / sampled + 1, ++n)
    bytes += heap_bytes(*type, keys.key(static_cast<std::uint32_t>(i)), 1);
  return bytes / std::max<std::size_t>(1, n);
}

// An input that goes to a store.
struct set_source {
  std::unique_ptr<planner::branch> over_columns;
  std::shared_ptr<pipeline> input;
  std::vector<piece> first;  // its first rows, which have been collected
  std::size_t heap = 0;      // about what a row owns
};

class set_sources {
 public:
  set_sources(const planner::vertex& v, const vertex_tasks& tasks) : v_(&v), tasks_(&tasks), sources_(v.inputs.size()) {
    runtime::run_context& context = tasks.context();
    window_ = parts_at_once(context, part_rows * v.node->row->size);
    // Strings that stay where they are need no copies: their numbers are kept. Rows of the result have one form.
    const std::size_t given = tells_apart(v) ? 1 : v.inputs.size();
    bool all_stay = true;
    for (std::size_t i = 0; i < given; ++i) all_stay = all_stay && in_place(v.inputs[i], context);
    bool alike = true;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const planner::branch& b = v.inputs[i];
      const bool stays = i < given ? all_stay : in_place(b, context);
      if (!stays && !v.interpreted && !context.verify && !comes_in_pieces(b, context))
        sources_[i].over_columns = planner::over_columns(b);
      if (sources_[i].over_columns)
        sources_[i].input = std::make_shared<pipeline>(*sources_[i].over_columns, v.captures, context, true, true);
      if (i >= given) continue;
      const planner::column_schema* const columns = sources_[i].input ? sources_[i].input->columns() : nullptr;
      alike = alike && (i == 0 ? true : columns && sources_[0].input && same(*columns, *sources_[0].input->columns()));
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (i < given && !alike) sources_[i] = {};
      if (!sources_[i].input) sources_[i].input = std::make_shared<pipeline>(v.inputs[i], v.captures, context, false, true);
      sources_[i].heap = row_heap_bytes(*sources_[i].input);
    }
  }

  // Collects inputs whose number of rows nobody knows, as long as everything fits. True: it does.
  bool collect(function_ref<bool(double bytes)> fits) {
    double bytes = 0;
    for (std::size_t i = 0; i < sources_.size(); ++i)
      if (knows_rows(sources_[i])) bytes += bytes_of(i, *sources_[i].input->source_rows());
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      set_source& s = sources_[i];
      if (knows_rows(s)) continue;
      if (s.over_columns) return false;
      const std::uint64_t window_rows = window_ * s.input->most_rows_a_part();
      const std::uint64_t step = std::min(window_rows, s.input->source_rows().value_or(window_rows));
      const auto next_fits = [&](std::size_t rows, std::size_t heap) {
        s.heap = std::max(s.heap, heap);
        return fits(bytes + bytes_of(i, rows + step));
      };
      if (!collect_while_it_fits(*s.input, window_, next_fits, s.first)) return false;
      bytes += bytes_of(i, rows_in(s.first));
    }
    return fits(bytes);
  }
  void give(set_inputs& to) {
    for (std::size_t i = 0; i < sources_.size(); ++i)
      if (!knows_rows(sources_[i])) to.collect(i, std::move(sources_[i].first));
    sources_.clear();
  }

  runtime::vertex_rows put_apart(std::size_t room) {
    std::optional<std::uint64_t> rows = 0;
    for (const set_source& s : sources_) {
      if (rows && s.input->source_rows()) *rows += *s.input->source_rows();
      else rows.reset();
    }
    std::size_t heap = 0;
    for (const set_source& s : sources_) heap = std::max(heap, s.heap);
    set_partitions all(*v_, *tasks_, room, rows, tells_apart(*v_), heap);
    for (set_source& s : sources_) all.add(std::move(s.first), std::move(s.input), window_);
    return all.rows();
  }

 private:
  static bool knows_rows(const set_source& s) { return s.input->source_rows() && s.input->keeps_rows(); }
  // With what putting pieces side by side takes.
  double bytes_of(std::size_t input, std::uint64_t rows) const {
    const bool stay = sources_[input].input->in_place();
    const std::size_t most = costs_of(*v_, input, stay, sources_[input].heap).most;
    return static_cast<double>(rows) * static_cast<double>(most + (stay ? 0 : v_->node->row->size));
  }

  const planner::vertex* v_;
  const vertex_tasks* tasks_;
  std::size_t window_;
  std::vector<set_source> sources_;
};

}  // namespace

bool set_may_leave_memory(const planner::vertex& v, const runtime::run_context& context) {
  const detail::logical& n = *v.node;
  return context.pool.limit() && context.temp && !context.shared && can_be_copied(n.row) && can_be_copied(n.functions[0].result) &&
         (!n.has_own_equality() || n.keys.hash);
}

runtime::vertex_rows set_as_memory_allows(const planner::vertex& v, const vertex_tasks& tasks,
                                          function_ref<detail::table(set_inputs&)> in_memory) {
  runtime::run_context& context = tasks.context();
  set_inputs inputs(v, tasks);
  if (!set_may_leave_memory(v, context)) return in_memory(inputs);

  const std::size_t room = memory_left(context.pool);
  const auto fits = [&](double bytes) { return fits_in(bytes, room); };
  std::uint64_t rows = 0;
  bool known = true;
  for (const planner::branch& b : v.inputs) {
    const auto n = rows_of_source(b, context);
    known = known && n;
    rows += n.value_or(0);
  }
  if (known && rows < least_rows && !heap_charge::counts(*v.node->row, context.pool)) return in_memory(inputs);
  const auto heap_of = [&](std::size_t i) {
    return in_place(v.inputs[i], context) ? 0 : row_heap_bytes(v.inputs[i], v.captures, context);
  };
  double least = 0;
  for (std::size_t i = 0; i < v.inputs.size(); ++i)
    least += static_cast<double>(rows_of_source(v.inputs[i], context).value_or(0)) *
             static_cast<double>(costs_of(v, i, in_place(v.inputs[i], context), heap_of(i)).least);
  if (known && fits(least)) {
    try {
      return in_memory(inputs);
    } catch (const resource_error&) {  // there are too many different keys, or others have taken the room
    }
  }
  set_sources sources(v, tasks);
  // Sources whose length nobody knows, or of which stages keep few rows, may fit.
  if ((!known || !fits(least)) && sources.collect(fits)) {
    sources.give(inputs);
    return in_memory(inputs);
  }
  return sources.put_apart(room);
}

runtime::vertex_rows distinct_beyond_memory(const planner::vertex& v, const vertex_tasks& tasks, std::vector<piece> first,
                                            function_ref<bool(detail::table&, bool&)> next) {
  set_partitions all(v, tasks, memory_left(tasks.pool()), std::nullopt, false, sampled_heap(first, v.node->row));
  all.put(all.add(nullptr, first.size()), std::move(first), next);
  return all.rows();
}

runtime::vertex_rows rest_of_distinct(const planner::vertex& v, const vertex_tasks& tasks, seen_keys known,
                                      function_ref<bool(detail::table&, bool&)> next) {
  set_partitions all(v, tasks, memory_left(tasks.pool()), std::nullopt, true, sampled_heap(known.known(), v.node->functions[0].result));
  hashed_rows& rest = all.add(nullptr, 1);
  {
    const seen_keys gone = std::move(known);
    all.add(gone.known());
  }
  all.put(rest, {}, next);
  return all.rows();
}

bool set_takes_too_much(const runtime::run_context& context, std::size_t used_before) {
  constexpr std::size_t memory_share = 4;  // a table doubles when it grows
  const std::size_t limit = context.pool.limit(), used = context.pool.used();
  return used > used_before && used - used_before >= (limit - std::min(used_before, limit)) / memory_share;
}

}  // namespace query::cpu
