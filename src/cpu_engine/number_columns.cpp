// Aggregates of numbers: the states and steps are those of the compiled aggregates (query/detail/aggregate_kinds.hpp), for
// the types that values can have at run time.
#include <cstring>

#include <query/detail/aggregate_kinds.hpp>

#include "cpu_engine/aggregate_column.hpp"
#include "cpu_engine/interpreter/by_kind.hpp"
#include "cpu_engine/state_array.hpp"

namespace query::cpu {

using ir::aggregate_call;
using ir::aggregate_kind;

namespace {

using collections = std::span<const interpreter::collection>;
using column_pointer = std::unique_ptr<aggregate_column>;

std::byte* place(void* p, std::size_t i, std::size_t size) { return static_cast<std::byte*>(p) + i * size; }
const std::byte* place(const void* p, std::size_t i, std::size_t size) { return static_cast<const std::byte*>(p) + i * size; }

// The value of argument i; null where it is null.
const void* value_at(const aggregate_call& c, const void* arguments, std::size_t i) {
  const void* p = place(arguments, i, c.argument->type->size);
  return c.nullable ? c.argument->type->get.value(p) : p;
}

// `bytes` of a result, as the call's type wants it: itself, or within an optional that is engaged where there was a value.
void put_result(const ir::type* t, bool optional, bool any, const void* value, std::size_t bytes, void* out) {
  if (!optional) {
    std::memcpy(out, value, bytes);
    return;
  }
  t->life.construct(out, 1);
  if (any) std::memcpy(t->get.emplace(out), value, bytes);
}

class count_column final : public aggregate_column {
 public:
  explicit count_column(runtime::buffer_pool& pool) : n_(pool) {}
  void grow_to(std::size_t n) override { n_.grow_to(n); }
  void update(const aggregate_batch& b) override {
    if (!b.groups) n_[0] += static_cast<std::int64_t>(b.n);
    else
      for (std::size_t i = 0; i < b.n; ++i) ++n_[b.groups[i]];
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    for (std::size_t i = 0; i < of.n; ++i) n_[groups ? groups[i] : 0] += static_cast<count_column&>(from).n_[of[i]];
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override { std::memcpy(out, &n_[first], n * sizeof(std::int64_t)); }
  std::size_t state_bytes() const override { return n_.state_bytes; }
  void save(std::size_t i, std::byte* to) override { n_.save(i, to); }
  void load(std::size_t i, const std::byte* from) override { n_.load(i, from); }

 private:
  state_array<std::int64_t> n_;
};

// count_if, any, all: of rows where a value is true, or there.
class truth_column final : public aggregate_column {
 public:
  truth_column(const aggregate_call& c, runtime::buffer_pool& pool) : call_(c), n_(pool) {}
  void grow_to(std::size_t n) override { n_.grow_to(n); }
  void update(const aggregate_batch& b) override {
    for (std::size_t i = 0; i < b.n; ++i) {
      const bool t = truth(b.arguments, i);
      n_[b.group(i)] += call_.what == aggregate_kind::all ? !t : t;
    }
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    for (std::size_t i = 0; i < of.n; ++i) n_[groups ? groups[i] : 0] += static_cast<truth_column&>(from).n_[of[i]];
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override {
    if (call_.what == aggregate_kind::count_if) {
      std::memcpy(out, &n_[first], n * sizeof(std::int64_t));
      return;
    }
    for (std::size_t i = 0; i < n; ++i) static_cast<bool*>(out)[i] = (n_[first + i] != 0) == (call_.what == aggregate_kind::any);
  }
  std::size_t state_bytes() const override { return n_.state_bytes; }
  void save(std::size_t i, std::byte* to) override { n_.save(i, to); }
  void load(std::size_t i, const std::byte* from) override { n_.load(i, from); }

 private:
  bool truth(const void* arguments, std::size_t i) const {
    const void* p = value_at(call_, arguments, i);
    if (call_.nullable) return p != nullptr;
    return interpreter::by_kind<bool>(call_.value->k, [&]<class V>(V v) {
      std::memcpy(&v, p, sizeof v);
      return v != V{};
    });
  }
  aggregate_call call_;
  state_array<std::int64_t> n_;  // rows that decide
};

// Aggregate: of the compiled kinds, with rows that are the values themselves.
template <class Aggregate, class V> class number_column final : public aggregate_column {
 public:
  number_column(const aggregate_call& c, Aggregate a, runtime::buffer_pool& pool)
      : call_(c), aggregate_(std::move(a)), states_(pool), any_(pool) {
    notes_any_ = !gives_optional && (c.nullable || c.source->type->k == ir::kind::optional);
  }
  void grow_to(std::size_t n) override {
    states_.grow_to(n);
    if (notes_any_) any_.grow_to(n);
  }
  void update(const aggregate_batch& b) override {
    if (call_.nullable || notes_any_) {
      for (std::size_t i = 0; i < b.n; ++i) {
        const void* const p = value_at(call_, b.arguments, i);
        if (!p) continue;
        step(b.group(i), p);
        if (notes_any_) any_[b.group(i)] = true;
      }
    } else if (b.groups) {
      for (std::size_t i = 0; i < b.n; ++i) step(b.groups[i], place(b.arguments, i, sizeof(V)));
    } else {
      for (std::size_t i = 0; i < b.n; ++i) step(0, place(b.arguments, i, sizeof(V)));
    }
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    auto& o = static_cast<number_column&>(from);
    for (std::size_t i = 0; i < of.n; ++i) {
      const std::size_t g = groups ? groups[i] : 0;
      if (notes_any_ && !o.any_[of[i]]) continue;
      Aggregate::merge(states_[g], o.states_[of[i]]);
      if (notes_any_) any_[g] = true;
    }
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override {
    const ir::type* t = call_.source->type;
    for (std::size_t i = 0; i < n; ++i) {
      const auto v = aggregate_.template value<V>(0, states_[first + i]);
      if constexpr (gives_optional)
        put_result(t, true, v.has_value(), v ? &*v : nullptr, sizeof *v, place(out, i, t->size));
      else
        put_result(t, t->k == ir::kind::optional, notes_any_ && any_[first + i], &v, sizeof v, place(out, i, t->size));
    }
  }
  std::size_t state_bytes() const override { return states_.state_bytes + (notes_any_ ? sizeof(std::uint64_t) : 0); }
  // Member by member: bytes between them are zero.
  void save(std::size_t i, std::byte* to) override {
    state& s = states_[i];
    std::memset(to, 0, state_bytes());
    if (notes_any_) any_.save(i, to + sizeof s);
    const auto put = [&](const auto& member) {
      const auto at = reinterpret_cast<const std::byte*>(&member) - reinterpret_cast<const std::byte*>(&s);
      std::memcpy(to + at, &member, sizeof member);
    };
    if constexpr (requires { s.any; }) {
      put(s.any);
      put(s.v);
    } else {
      put(s);  // words without bytes between them
    }
  }
  void load(std::size_t i, const std::byte* from) override {
    states_.load(i, from);
    if (notes_any_) any_.load(i, from + sizeof(state));
  }

 private:
  using state = typename Aggregate::template state<V>;
  static constexpr bool gives_optional =
      ir::is_optional_v<decltype(std::declval<const Aggregate&>().template value<V>(0, std::declval<state&>()))>;
  void step(std::size_t group, const void* value) {
    V v;
    std::memcpy(&v, value, sizeof v);
    aggregate_.step(states_[group], v);
  }
  aggregate_call call_;
  Aggregate aggregate_;
  state_array<state> states_;
  state_array<bool> any_;  // there was a value, if notes_any_: where the result does not tell
  bool notes_any_;
};

// Sums and means of arrays, element by element. W: what the sums are kept in.
template <class E, class W> class array_column final : public aggregate_column {
 public:
  array_column(const aggregate_call& c, runtime::buffer_pool& pool) : call_(c), length_(c.value->count), sums_(pool), n_(pool) {}
  void grow_to(std::size_t n) override {
    sums_.grow_to(n * length_);
    n_.grow_to(n);
  }
  void update(const aggregate_batch& b) override {
    for (std::size_t i = 0; i < b.n; ++i) {
      const void* p = value_at(call_, b.arguments, i);
      if (!p) continue;
      const std::size_t g = b.group(i);
      for (std::size_t e = 0; e < length_; ++e) {
        E v;
        std::memcpy(&v, place(p, e, sizeof v), sizeof v);
        agg::add(sums_[g * length_ + e], v);
      }
      ++n_[g];
    }
  }
  void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of, collections) override {
    auto& o = static_cast<array_column&>(from);
    for (std::size_t i = 0; i < of.n; ++i) {
      const std::size_t g = groups ? groups[i] : 0;
      for (std::size_t e = 0; e < length_; ++e) agg::add(sums_[g * length_ + e], o.sums_[of[i] * length_ + e]);
      n_[g] += o.n_[of[i]];
    }
  }
  void result(std::size_t first, std::size_t n, void* out, collections) override {
    const ir::type* t = call_.source->type;
    const bool optional = t->k == ir::kind::optional;
    for (std::size_t i = 0; i < n; ++i) {
      const W* s = &sums_[(first + i) * length_];
      void* to = place(out, i, t->size);
      if (call_.what == aggregate_kind::sum) {
        std::memcpy(to, s, length_ * sizeof(W));
        continue;
      }
      using R = std::conditional_t<std::is_same_v<E, float>, float, double>;
      const std::int64_t rows = n_[first + i];
      std::vector<R> mean(length_);
      for (std::size_t e = 0; e < length_; ++e) mean[e] = static_cast<R>(static_cast<double>(s[e]) / static_cast<double>(rows));
      put_result(t, optional, rows > 0, mean.data(), length_ * sizeof(R), to);
    }
  }
  std::size_t state_bytes() const override { return n_.state_bytes + length_ * sizeof(W); }
  void save(std::size_t i, std::byte* to) override {
    n_.save(i, to);
    std::memcpy(to + n_.state_bytes, &sums_[i * length_], length_ * sizeof(W));
  }
  void load(std::size_t i, const std::byte* from) override {
    n_.load(i, from);
    std::memcpy(&sums_[i * length_], from + n_.state_bytes, length_ * sizeof(W));
  }

 private:
  aggregate_call call_;
  std::size_t length_;
  state_array<W> sums_;
  state_array<std::int64_t> n_;
};

template <class V> column_pointer column_of(const aggregate_call& c, runtime::buffer_pool& pool) {
  using agg::itself;
  const auto make = [&]<class A>(A a) -> column_pointer { return std::make_unique<number_column<A, V>>(c, std::move(a), pool); };
  switch (c.what) {
    case aggregate_kind::sum: return make(agg::sum<itself>{});
    case aggregate_kind::mean: return make(agg::mean<itself>{});
    case aggregate_kind::min: return make(agg::extreme<false, itself>{});
    case aggregate_kind::max: return make(agg::extreme<true, itself>{});
    case aggregate_kind::variance: return make(agg::variance<false, itself>{});
    case aggregate_kind::stddev: return make(agg::variance<true, itself>{});
    case aggregate_kind::quantile: return make_quantile_column(c, pool);
    default: return nullptr;
  }
}

}  // namespace

column_pointer make_number_column(const aggregate_call& c, runtime::buffer_pool& pool) {
  switch (c.what) {
    case aggregate_kind::count: return std::make_unique<count_column>(pool);
    case aggregate_kind::count_if:
    case aggregate_kind::any:
    case aggregate_kind::all: return std::make_unique<truth_column>(c, pool);
    default: break;
  }
  if (c.value->k == ir::kind::array && (c.what == aggregate_kind::sum || c.what == aggregate_kind::mean))
    return interpreter::by_kind<column_pointer>(c.value->element->k, [&]<class E>(E) -> column_pointer {
      if (c.what == aggregate_kind::sum) return std::make_unique<array_column<E, agg::wide_t<E>>>(c, pool);
      return std::make_unique<array_column<E, agg::mean_sum_t<E>>>(c, pool);
    });
  return interpreter::by_kind<column_pointer>(c.value->k, [&]<class V>(V) { return column_of<V>(c, pool); });
}

}  // namespace query::cpu
