// Aggregates whose state holds values of a type that is known at run time: first, last, collect, arg_min, arg_max,
// count_distinct, min and max of strings.
#include <cstring>
#include <string>
#include <vector>

#include <query/detail/aggregate_kinds.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>

#include "cpu_engine/aggregate_column.hpp"
#include "cpu_engine/interpreter/by_kind.hpp"
#include "cpu_engine/state_array.hpp"
#include "cpu_engine/value_slots.hpp"

namespace query::cpu {

using ir::aggregate_call;
using ir::aggregate_kind;

namespace {

using collections = std::span<const interpreter::collection>;

const std::byte* place(const void* p, std::size_t i, std::size_t size) { return static_cast<const std::byte*>(p) + i * size; }
const void* value_at(const aggregate_call& c, const void* arguments, std::size_t i) {
  const void* p = place(arguments, i, c.argument->type->size);
  return c.nullable ? c.argument->type->get.value(p) : p;
}

void assign(const ir::type* t, void* to, const void* from) {
  if (t->trivial)
    std::memcpy(to, from, t->size);
  else
    t->life.copy_assign(to, from);
}

class edge_column final : public aggregate_column {
 public:
  edge_column(const aggregate_call& c, runtime::buffer_pool& pool)
      : call_(c), last_(c.what == aggregate_kind::last), kept_(c.argument->type, pool) {}
  void grow_to(std::size_t n) override { kept_.grow_to(n); }
  void update(const aggregate_batch& b) override {
    for (std::size_t i = 0; i < b.n; ++i)
      if (last_ || !kept_.has(b.group(i))) kept_.put(b.group(i), place(b.arguments, i, call_.argument->type->size));
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    auto& o = static_cast<edge_column&>(from);
    for (std::size_t i = 0; i < of.n; ++i) {
      const std::size_t g = groups ? groups[i] : 0;
      if (o.kept_.has(of[i]) && (last_ || !kept_.has(g))) kept_.put(g, o.kept_.at(of[i]));
    }
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override {
    const ir::type* t = call_.source->type;
    for (std::size_t i = 0; i < n; ++i)
      if (!kept_.has(first + i))
        detail::no_row_at_edge(call_.source->text);
    new_rows made(t, out);
    for (std::size_t i = 0; i < n; ++i) {
      copy_rows(t, made.end(), kept_.at(first + i), 1);
      made.grow(1);
    }
    made.release();
  }
  std::size_t state_bytes() const override { return kept_.state_bytes(); }
  void save(std::size_t i, std::byte* to) override { kept_.save(i, to); }
  void load(std::size_t i, const std::byte* from) override { kept_.load(i, from); }

 private:
  aggregate_call call_;
  bool last_;
  value_slots kept_;
};

// The least or greatest value, and for arg_min and arg_max the row that it came from. What there was no value of is as a
// value-initialised one, or null.
class best_column final : public aggregate_column {
 public:
  best_column(const aggregate_call& c, const ir::type* row, runtime::buffer_pool& pool)
      : call_(c), row_(row), greatest_(c.what == aggregate_kind::max || c.what == aggregate_kind::arg_max),
        rows_kept_(c.what == aggregate_kind::arg_min || c.what == aggregate_kind::arg_max), values_(c.value, pool), rows_(row, pool) {}
  void grow_to(std::size_t n) override {
    values_.grow_to(n);
    if (rows_kept_) rows_.grow_to(n);
  }
  void update(const aggregate_batch& b) override {
    for (std::size_t i = 0; i < b.n; ++i)
      if (const void* v = value_at(call_, b.arguments, i))
        offer(b.group(i), v, rows_kept_ ? place(b.rows, b.select ? b.select[i] : i, row_->size) : nullptr);
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    auto& o = static_cast<best_column&>(from);
    for (std::size_t i = 0; i < of.n; ++i)
      if (o.values_.has(of[i])) offer(groups ? groups[i] : 0, o.values_.at(of[i]), rows_kept_ ? o.rows_.at(of[i]) : nullptr);
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override {
    const ir::type* t = call_.source->type;
    value_slots& kept = rows_kept_ ? rows_ : values_;
    new_rows made(t, out);
    for (std::size_t i = 0; i < n; ++i) {
      const bool any = values_.has(first + i);
      if (any && !call_.nullable) {
        copy_rows(t, made.end(), kept.at(first + i), 1);
        made.grow(1);
        continue;
      }
      void* to = made.end();
      t->life.construct(to, 1);
      made.grow(1);
      if (any) assign(t->element, t->get.emplace(to), kept.at(first + i));
    }
    made.release();
  }
  std::size_t state_bytes() const override { return values_.state_bytes() + (rows_kept_ ? rows_.state_bytes() : 0); }
  void save(std::size_t i, std::byte* to) override {
    values_.save(i, to);
    if (rows_kept_) rows_.save(i, to + values_.state_bytes());
  }
  void load(std::size_t i, const std::byte* from) override {
    values_.load(i, from);
    if (rows_kept_) rows_.load(i, from + values_.state_bytes());
  }

 private:
  bool beats(const void* a, const void* b) const {
    if (call_.value->k == ir::kind::string) {
      const auto &x = *static_cast<const std::string*>(a), &y = *static_cast<const std::string*>(b);
      return greatest_ ? y < x : x < y;
    }
    return interpreter::by_kind<bool>(call_.value->k, [&]<class V>(V x) {
      V y;
      std::memcpy(&x, a, sizeof x);
      std::memcpy(&y, b, sizeof y);
      return greatest_ ? agg::beats<true>(x, y) : agg::beats<false>(x, y);
    });
  }
  void offer(std::size_t g, const void* value, const void* row) {
    if (values_.has(g) && !beats(value, values_.at(g))) return;
    values_.put(g, value);
    if (rows_kept_) rows_.put(g, row);
  }

  aggregate_call call_;
  const ir::type* row_;
  bool greatest_, rows_kept_;
  value_slots values_, rows_;
};

class collect_column final : public aggregate_column {
 public:
  collect_column(const aggregate_call& c, runtime::buffer_pool& pool) : call_(c), values_(c.argument->type, pool), of_(pool) {}
  void grow_to(std::size_t n) override { of_.grow_to(n); }
  void update(const aggregate_batch& b) override {
    for (std::size_t i = 0; i < b.n; ++i) of_[b.group(i)].push_back(values_.size() + i);
    values_.append_rows(b.arguments, b.n);
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    auto& o = static_cast<collect_column&>(from);
    const detail::stop_point stop;
    for (std::size_t i = 0; i < of.n; ++i) {
      auto& mine = of_[groups ? groups[i] : 0];
      for (const std::size_t v : o.of_[of[i]]) {
        if (v % detail::calls_a_look == 0) stop.check();
        mine.push_back(values_.size());
        values_.append_rows(o.values_.at(v), 1);
      }
    }
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override {
    const ir::type* t = call_.source->type;
    const detail::stop_point stop;
    new_rows made(t, out);
    for (std::size_t i = 0; i < n; ++i) {
      void* list = made.end();
      t->life.construct(list, 1);
      made.grow(1);
      const auto& mine = of_[first + i];
      auto* to = static_cast<std::byte*>(t->get.resize(list, mine.size()));
      for (std::size_t k = 0; k < mine.size(); ++k) {
        if (k % detail::calls_a_look == 0) stop.check();
        assign(t->element, to + k * t->element->size, values_.at(mine[k]));
      }
    }
    made.release();
  }

 private:
  aggregate_call call_;
  rows_buffer values_;
  state_array<std::vector<std::size_t>> of_;  // numbers of each group's values
};

class distinct_column final : public aggregate_column {
 public:
  distinct_column(const aggregate_call& c, runtime::buffer_pool& pool) : call_(c), sets_(pool) {}
  void grow_to(std::size_t n) override { sets_.grow_to(n, agg::value_set(call_.value)); }
  void update(const aggregate_batch& b) override {
    for (std::size_t i = 0; i < b.n; ++i)
      if (const void* v = value_at(call_, b.arguments, i)) sets_[b.group(i)].insert(v);
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    for (std::size_t i = 0; i < of.n; ++i) sets_[groups ? groups[i] : 0].merge(static_cast<distinct_column&>(from).sets_[of[i]]);
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override {
    for (std::size_t i = 0; i < n; ++i) static_cast<std::int64_t*>(out)[i] = static_cast<std::int64_t>(sets_[first + i].size());
  }

 private:
  aggregate_call call_;
  state_array<agg::value_set> sets_;
};

}  // namespace

std::unique_ptr<aggregate_column> make_value_column(const aggregate_call& c, const ir::type* row, runtime::buffer_pool& pool) {
  switch (c.what) {
    case aggregate_kind::first:
    case aggregate_kind::last: return std::make_unique<edge_column>(c, pool);
    case aggregate_kind::collect: return std::make_unique<collect_column>(c, pool);
    case aggregate_kind::count_distinct:
      if (auto words = make_distinct_column(c, pool)) return words;
      return std::make_unique<distinct_column>(c, pool);
    default: return std::make_unique<best_column>(c, row, pool);
  }
}

}  // namespace query::cpu
