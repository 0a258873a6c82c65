// Aggregates whose state holds values of a type that is known at run time: first, last, collect, arg_min, arg_max, min and max of strings.
#include <cstring>
#include <string>

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

// The same of a value that nobody wants any more; none is destroyed meanwhile.
void hand_over(const ir::type* t, void* to, void* from) {
  if (t->k == ir::kind::string) static_cast<std::string*>(to)->swap(*static_cast<std::string*>(from));
  else assign(t, to, from);
}

void keep(value_slots& in, std::size_t g, const void* value, bool owned) {
  if (owned) in.take(g, const_cast<void*>(value));
  else in.put(g, value);
}

class edge_column final : public aggregate_column {
 public:
  edge_column(const aggregate_call& c, runtime::buffer_pool& pool)
      : call_(c), last_(c.what == aggregate_kind::last), kept_(c.argument->type, pool) {}
  void grow_to(std::size_t n) override { kept_.grow_to(n); }
  void update(const aggregate_batch& b) override {
    for (std::size_t i = 0; i < b.n; ++i)
      if (last_ || !kept_.has(b.group(i))) keep(kept_, b.group(i), place(b.arguments, i, call_.argument->type->size), b.owned);
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    auto& o = static_cast<edge_column&>(from);
    for (std::size_t i = 0; i < of.n; ++i) {
      const std::size_t g = groups ? groups[i] : 0;
      if (o.kept_.has(of[i]) && (last_ || !kept_.has(g))) kept_.take(g, o.kept_.at(of[i]));
    }
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override {
    const ir::type* t = call_.source->type;
    for (std::size_t i = 0; i < n; ++i)
      if (!kept_.has(first + i))
        detail::no_row_at_edge(call_.source->text);
    new_rows made(t, out);
    for (std::size_t i = 0; i < n; ++i) {
      kept_.give(first + i, made.end());
      made.grow(1);
    }
    made.release();
  }
  std::size_t heap_bytes() const override { return kept_.heap_bytes(); }
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
        offer(b.group(i), v, b.owned, rows_kept_ ? place(b.rows, b.select ? b.select[i] : i, row_->size) : nullptr, false);
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    auto& o = static_cast<best_column&>(from);
    for (std::size_t i = 0; i < of.n; ++i)
      if (o.values_.has(of[i])) offer(groups ? groups[i] : 0, o.values_.at(of[i]), true, rows_kept_ ? o.rows_.at(of[i]) : nullptr, true);
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override {
    const ir::type* t = call_.source->type;
    value_slots& kept = rows_kept_ ? rows_ : values_;
    new_rows made(t, out);
    for (std::size_t i = 0; i < n; ++i) {
      const bool any = values_.has(first + i);
      if (any && !call_.nullable) {
        kept.give(first + i, made.end());
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
  std::size_t heap_bytes() const override { return values_.heap_bytes() + rows_.heap_bytes(); }
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
  void offer(std::size_t g, const void* value, bool value_owned, const void* row, bool row_owned) {
    if (values_.has(g) && !beats(value, values_.at(g))) return;
    keep(values_, g, value, value_owned);
    if (rows_kept_) keep(rows_, g, row, row_owned);
  }

  aggregate_call call_;
  const ir::type* row_;
  bool greatest_, rows_kept_;
  value_slots values_, rows_;
};

// The values of all groups side by side, and each group's chained.
class collect_column final : public aggregate_column {
 public:
  collect_column(const aggregate_call& c, runtime::buffer_pool& pool)
      : call_(c), values_(c.argument->type, pool), after_(pool), groups_(pool) {}
  void grow_to(std::size_t n) override { groups_.grow_to(n); }
  void update(const aggregate_batch& b) override {
    after_.grow_to(values_.size() + b.n, none);
    for (std::size_t i = 0; i < b.n; ++i) chain(b.group(i), values_.size() + i);
    if (b.owned) values_.take_rows(const_cast<void*>(b.arguments), b.n);
    else values_.append_rows(b.arguments, b.n);
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    auto& o = static_cast<collect_column&>(from);
    const detail::stop_point stop;
    std::size_t looked = 0;
    for (std::size_t i = 0; i < of.n; ++i) {
      const group& more = o.groups_[of[i]];
      after_.grow_to(values_.size() + more.n, none);
      for (std::size_t v = more.first; v != none; v = o.after_[v]) {
        if (++looked % detail::calls_a_look == 0) stop.check();
        chain(groups ? groups[i] : 0, values_.size());
        values_.take_rows(o.values_.at(v), 1);
      }
    }
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override {
    const ir::type* t = call_.source->type;
    const detail::stop_point stop;
    std::size_t looked = 0;
    new_rows made(t, out);
    for (std::size_t i = 0; i < n; ++i) {
      void* list = made.end();
      t->life.construct(list, 1);
      made.grow(1);
      const group& of = groups_[first + i];
      auto* to = static_cast<std::byte*>(t->get.resize(list, of.n));
      for (std::size_t v = of.first; v != none; v = after_[v], to += t->element->size) {
        if (++looked % detail::calls_a_look == 0) stop.check();
        hand_over(t->element, to, values_.at(v));
      }
    }
    made.release();
  }
  std::size_t heap_bytes() const override { return values_.heap().bytes() + values_.size() * (values_.type()->size + sizeof(std::size_t)); }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct group {
    std::size_t first = none, last = none, n = 0;  // values
  };

  void chain(std::size_t to, std::size_t value) {
    group& g = groups_[to];
    if (g.n++) after_[g.last] = value;
    else g.first = value;
    g.last = value;
  }

  aggregate_call call_;
  rows_buffer values_;
  state_array<std::size_t> after_;  // for each value: the next one of its group
  state_array<group> groups_;
};

}  // namespace

std::unique_ptr<aggregate_column> make_value_column(const aggregate_call& c, const ir::type* row, runtime::buffer_pool& pool) {
  switch (c.what) {
    case aggregate_kind::first:
    case aggregate_kind::last: return std::make_unique<edge_column>(c, pool);
    case aggregate_kind::collect: return std::make_unique<collect_column>(c, pool);
    default: return std::make_unique<best_column>(c, row, pool);
  }
}

}  // namespace query::cpu
