// Aggregates whose state holds values of a type that is known at run time: first, last, collect, arg_min, arg_max, min and max of strings.
#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
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

// The values of all groups in pages, which never move, and each group's chained.
class collect_column final : public aggregate_column {
 public:
  collect_column(const aggregate_call& c, runtime::buffer_pool& pool)
      : call_(c), pool_(&pool), page_bits_(bits_of_page(c.argument->type->size)), groups_(pool) {}
  void grow_to(std::size_t n) override { groups_.grow_to(n); }
  void update(const aggregate_batch& b) override {
    const std::size_t size = call_.argument->type->size;
    for (std::size_t i = 0; i < b.n;) {
      page& to = open_page();
      const std::size_t end = std::min(b.n, i + values_a_page() - to.values.size());
      for (std::size_t v = i; v < end; ++v) chain(b.group(v));
      if (b.owned) to.values.take_rows(static_cast<std::byte*>(const_cast<void*>(b.arguments)) + i * size, end - i);
      else to.values.append_rows(place(b.arguments, i, size), end - i);
      i = end;
    }
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    auto& o = static_cast<collect_column&>(from);
    const detail::stop_point stop;
    std::size_t looked = 0;
    for (std::size_t i = 0; i < of.n; ++i) {
      for (std::size_t v = o.groups_[of[i]].first; v != none; v = o.after(v)) {
        if (++looked % detail::calls_a_look == 0) stop.check();
        page& to = open_page();
        chain(groups ? groups[i] : 0);
        to.values.take_rows(o.value(v), 1);
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
      if (t->element->k == ir::kind::string) {  // which need not be constructed all at once
        auto& texts = *static_cast<std::vector<std::string>*>(list);
        texts.reserve(of.n);
        for (std::size_t v = of.first; v != none; v = after(v)) {
          if (++looked % detail::calls_a_look == 0) stop.check();
          texts.push_back(std::move(*static_cast<std::string*>(value(v))));
        }
        continue;
      }
      auto* to = static_cast<std::byte*>(t->get.resize(list, of.n));
      for (std::size_t v = of.first; v != none; v = after(v), to += t->element->size) {
        if (++looked % detail::calls_a_look == 0) stop.check();
        assign(t->element, to, value(v));
      }
    }
    made.release();
  }
  std::size_t heap_bytes() const override {
    const std::size_t open = pages_.empty() ? 0 : pages_.back().values.heap().bytes();
    return full_heap_ + open + n_ * (call_.argument->type->size + sizeof(std::size_t));
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct group {
    std::size_t first = none, last = none, n = 0;  // values
  };
  struct page {
    page(const ir::type* t, runtime::buffer_pool& pool) : values(t, pool), after(pool) {}
    rows_buffer values;
    state_array<std::size_t> after;  // for each value: the next one of its group
  };
  static unsigned bits_of_page(std::size_t value_size) {
    constexpr std::size_t bytes = std::size_t{1} << 19, least = 16, most = std::size_t{1} << 14;
    return static_cast<unsigned>(std::bit_width(std::clamp(bytes / value_size, least, most)) - 1);
  }

  std::size_t values_a_page() const { return std::size_t{1} << page_bits_; }
  std::size_t within(std::size_t v) const { return v & (values_a_page() - 1); }
  void* value(std::size_t v) { return pages_[v >> page_bits_].values.at(within(v)); }
  std::size_t& after(std::size_t v) { return pages_[v >> page_bits_].after[within(v)]; }
  // With room for a value. The first one grows with what there is, so that small tables stay small.
  page& open_page() {
    if (within(n_) == 0) {
      if (n_) full_heap_ += pages_.back().values.heap().bytes();
      pages_.emplace_back(call_.argument->type, *pool_);
      if (n_) pages_.back().values.reserve(values_a_page());
    }
    return pages_.back();
  }
  // The value that comes into the open page next.
  void chain(std::size_t to) {
    pages_.back().after.grow_to(within(n_) + 1, none);
    group& g = groups_[to];
    if (g.n++) after(g.last) = n_;
    else g.first = n_;
    g.last = n_++;
  }

  aggregate_call call_;
  runtime::buffer_pool* pool_;
  unsigned page_bits_;
  std::size_t n_ = 0, full_heap_ = 0;  // values; what those of full pages own
  std::deque<page> pages_;
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
