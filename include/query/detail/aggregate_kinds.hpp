// The incremental aggregates: each knows its state for rows of T, how a row changes it, how two states merge, and its value.
//
// Nulls (std::optional results of f) are passed over; min, max, mean... of an optional are optional and empty when every
// value was null. Sums are 64-bit integers or doubles; integer sums wrap, means do not.
//
//   sum<F>{f}.step(state, row); sum<F>::merge(a, b); sum<F>{f}.value(key, a)
#pragma once

#include <cmath>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <query/cpu/fold_loops.hpp>
#include <query/detail/call.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/growing_list.hpp>
#include <query/detail/moments.hpp>

namespace query::agg {

using cpu::mean_sum_t;
using cpu::plus;
using cpu::wide_t;
using detail::call;
using detail::seen_by;

// Base of everything that stands for an aggregate's value.
struct expression {
  // There is no value of no rows, though the type has no null: the smallest, the mean... (aggregates_of_all.hpp).
  template <class T> static constexpr bool needs_rows = false;
  // step() takes rows that own memory as views of their fields, and keeps none. own_state: a state of the user's own is among the states.
  template <class T> static constexpr bool by_field = false;
  static constexpr bool own_state = false;
  template <class B> requires std::is_same_v<B, bool> explicit operator B() const {
    static_assert(sizeof(B) == 0, "query: `if`, `?:`, `&&` on an aggregate are not possible here: the aggregates have no value yet. Use "
                                  "query::iff(cond, a, b), filter afterwards with .where(...), or take `const query::Group<K, T>& g`.");
    return false;
  }
};
template <class X> concept aggregate = std::derived_from<std::remove_cvref_t<X>, expression>;

struct itself {
  template <class T> QUERY_INLINE const T& operator()(const T& t) const { return t; }
};

// Of the key alone, or of the number of rows; of f(row).
struct without_rows : expression {
  template <class T> static constexpr bool by_field = true;
};
template <class F> struct of_values : expression {
  template <class T> static constexpr bool by_field = !std::is_same_v<F, itself> && detail::takes_views<F, T>;
};

template <class F, class T> using given = detail::result_of<F, T>;  // what f gives, nulls included
template <class V> struct unwrapped { using type = V; };
template <class V> struct unwrapped<std::optional<V>> { using type = V; };
template <class F, class T> using value_in = typename unwrapped<given<F, T>>::type;
template <class F, class T> inline constexpr bool nullable = ir::is_optional_v<given<F, T>>;
// R, or std::optional<R> where there may have been no value.
template <bool Nullable, class R> using perhaps = std::conditional_t<Nullable, std::optional<R>, R>;

// Calls g with f(row) unless that is null.
template <class F, class T, class G> QUERY_INLINE inline void with_value(const F& f, const T& row, G&& g) {
  auto&& seen = seen_by<F>(row);
  decltype(auto) v = call(f, seen);
  if constexpr (ir::is_optional_v<std::remove_cvref_t<decltype(v)>>) {
    if (v) g(*v);
  } else {
    g(v);
  }
}

template <class S, class V> QUERY_INLINE inline void add(S& s, const V& v) {
  if constexpr (ir::is_array_v<V>) {
    for (std::size_t i = 0; i < ir::array_traits<V>::count; ++i) s[i] = plus(s[i], static_cast<std::remove_cvref_t<decltype(s[i])>>(v[i]));
  } else {
    s = plus<S>(s, static_cast<S>(v));
  }
}
template <class V> struct sum_of { using type = wide_t<V>; };
template <class E, std::size_t N> struct sum_of<std::array<E, N>> { using type = std::array<wide_t<E>, N>; };
template <class V> using sum_t = typename sum_of<V>::type;
template <class V> struct sum_of_mean { using type = mean_sum_t<V>; };
template <class E, std::size_t N> struct sum_of_mean<std::array<E, N>> { using type = std::array<mean_sum_t<E>, N>; };
template <class V> struct mean_of { using type = double; };
template <class E, std::size_t N> struct mean_of<std::array<E, N>> {
  using type = std::array<std::conditional_t<std::is_same_v<E, float>, float, double>, N>;
};

struct nothing {};

struct key : without_rows {
  static constexpr const char* name = "key";
  template <class T> using state = nothing;
  template <class S, class T> void step(S&, const T&) const {}
  template <class S> static void merge(S&, S&) {}
  template <class T, class K, class S> auto value(const K& k, S&) const { return k; }
};
template <class V> struct constant : without_rows {
  V v;
  explicit constant(V x) : v(std::move(x)) {}
  template <class T> using state = nothing;
  template <class S, class T> void step(S&, const T&) const {}
  template <class S> static void merge(S&, S&) {}
  template <class T, class K, class S> auto value(const K&, S&) const { return v; }
};

struct count : without_rows {
  static constexpr const char* name = "count";
  template <class T> using state = std::int64_t;
  template <class T> QUERY_INLINE void step(std::int64_t& s, const T&) const { ++s; }
  static void merge(std::int64_t& a, std::int64_t b) { a += b; }
  template <class T, class K> auto value(const K&, std::int64_t s) const { return s; }
};
// Rows for which f is true, or not null.
template <class F> struct count_if : of_values<F> {
  static constexpr const char* name = "count_if";
  F f;
  template <class T> using state = std::int64_t;
  template <class T> QUERY_INLINE void step(std::int64_t& s, const T& t) const {
    if constexpr (nullable<F, T>) s += static_cast<bool>(call(f, seen_by<F>(t)).has_value());
    else s += static_cast<bool>(call(f, seen_by<F>(t)));
  }
  static void merge(std::int64_t& a, std::int64_t b) { a += b; }
  template <class T, class K> auto value(const K&, std::int64_t s) const { return s; }
};
template <class F> struct sum : of_values<F> {
  static constexpr const char* name = "sum";
  F f;
  template <class T> using state = sum_t<value_in<F, T>>;
  template <class S, class T> QUERY_INLINE void step(S& s, const T& t) const {
    with_value(f, t, [&](const auto& v) QUERY_INLINE { add(s, v); });
  }
  template <class S> static void merge(S& a, S& b) { add(a, b); }
  template <class T, class K, class S> auto value(const K&, S& s) const { return s; }
};
template <class F> struct mean : of_values<F> {
  static constexpr const char* name = "mean";
  F f;
  template <class V> struct totals {
    typename sum_of_mean<V>::type sum{};
    std::int64_t n = 0;
  };
  template <class T> static constexpr bool needs_rows = !nullable<F, T>;
  template <class T> using state = totals<value_in<F, T>>;
  template <class S, class T> QUERY_INLINE void step(S& s, const T& t) const {
    with_value(f, t, [&](const auto& v) QUERY_INLINE {
      add(s.sum, v);
      ++s.n;
    });
  }
  template <class S> static void merge(S& a, S& b) {
    add(a.sum, b.sum);
    a.n += b.n;
  }
  template <class T, class K, class S> auto value(const K&, S& s) const {
    using V = value_in<F, T>;
    using R = typename mean_of<V>::type;
    perhaps<nullable<F, T>, R> result{};
    if (nullable<F, T> && s.n == 0) return result;
    R r{};
    if constexpr (ir::is_array_v<V>) {
      for (std::size_t i = 0; i < r.size(); ++i)
        r[i] = static_cast<typename R::value_type>(static_cast<double>(s.sum[i]) / static_cast<double>(s.n));
    } else {
      r = static_cast<double>(s.sum) / static_cast<double>(s.n);
    }
    result = r;
    return result;
  }
};

// Where a sort puts a beside b: before (< 0), behind (> 0), or either (0). Pairs, tuples, arrays and lists go part by part, NaNs
// behind all numbers, nulls last in both directions (src/cpu_engine/order_keys.cpp). Other types have their own <; a record
// whose <=> finds no order goes field by field, as its NaNs demand.
template <bool Descending, class V> QUERY_INLINE inline int sorted(const V& a, const V& b) {
  if constexpr (ir::is_tuple_v<V>) {
    int c = 0;
    [&]<std::size_t... I>(std::index_sequence<I...>) QUERY_INLINE {
      (void)(((c = sorted<Descending>(std::get<I>(a), std::get<I>(b))) != 0) || ...);
    }(std::make_index_sequence<std::tuple_size_v<V>>{});
    return c;
  } else if constexpr (ir::is_array_v<V> || ir::is_list_v<V>) {
    const std::size_t m = std::size(a), n = std::size(b);
    for (std::size_t i = 0; i < m && i < n; ++i)
      if (const int c = sorted<Descending>(a[i], b[i])) return c;
    return m == n ? 0 : (m < n) != Descending ? -1 : 1;
  } else if constexpr (ir::is_optional_v<V>) {
    if (a && b) return sorted<Descending>(*a, *b);
    return a ? -1 : b ? 1 : 0;
  } else {
    if constexpr (std::is_floating_point_v<V>) {
      if (a != a || b != b) return (a != a) == (b != b) ? 0 : (a != a) == Descending ? -1 : 1;
    } else if constexpr (record<V>) {
      if constexpr (requires { { a <=> b } -> std::same_as<std::partial_ordering>; }) {
        if ((a <=> b) == std::partial_ordering::unordered) return sorted<Descending>(meta<V>::fields(a), meta<V>::fields(b));
      }
    }
    return a < b ? (Descending ? 1 : -1) : b < a ? (Descending ? -1 : 1) : 0;
  }
}
// Values that hold others: a NaN may be a part of them.
template <class V>
inline constexpr bool has_parts = ir::is_tuple_v<V> || ir::is_array_v<V> || ir::is_list_v<V> || ir::is_optional_v<V> || record<V>;

// The order of min, max, arg_min and arg_max: NaNs lose against numbers; values with parts are ordered as sorts order them.
template <bool Max, class V> QUERY_INLINE inline bool beats(const V& a, const V& b) {
  if constexpr (has_parts<V>) {
    return sorted<Max>(a, b) < 0;
  } else {
    if constexpr (std::is_floating_point_v<V>) {
      if (b != b) return a == a;
    }
    return Max ? b < a : a < b;
  }
}
// A value as its state keeps it: a view's characters, other values as they are.
template <class Kept, class V> QUERY_INLINE inline decltype(auto) as_kept(const V& v) {
  if constexpr (detail::stored_as_other<V>) return Kept(detail::as_stored<Kept>(v));
  else return static_cast<const V&>(v);
}
template <bool Max, class F> struct extreme : of_values<F> {
  static constexpr const char* name = Max ? "max" : "min";
  F f;
  template <class T> static constexpr bool needs_rows = !nullable<F, T>;
  template <class V> struct best {
    bool any = false;
    V v{};
  };
  template <class T> using state = best<value_in<F, T>>;
  template <class S, class V> QUERY_INLINE static void offer(S& s, V&& v) {
    const auto& x = as_kept<decltype(s.v)>(v);
    if (!s.any || beats<Max>(static_cast<const decltype(s.v)&>(x), s.v)) {
      s.v = x;
      s.any = true;
    }
  }
  template <class S, class T> QUERY_INLINE void step(S& s, const T& t) const {
    with_value(f, t, [&](const auto& v) QUERY_INLINE { offer(s, v); });
  }
  template <class S> static void merge(S& a, S& b) {
    if (b.any) offer(a, std::move(b.v));
  }
  template <class T, class K, class S> auto value(const K&, S& s) const {
    perhaps<nullable<F, T>, value_in<F, T>> r{};
    if (s.any || !nullable<F, T>) r = std::move(s.v);
    return r;
  }
};
// The row whose value is smallest or largest; the first of several.
template <bool Max, class F> struct arg_extreme : expression {
  static constexpr const char* name = Max ? "arg_max" : "arg_min";
  F f;
  template <class T> static constexpr bool needs_rows = !nullable<F, T>;
  template <class T, class Row> struct best {
    bool any = false;
    value_in<F, T> v{};
    Row row{};
  };
  template <class T> using state = best<T, T>;
  template <class S, class T> QUERY_INLINE void step(S& s, const T& t) const { step_part(s, t, itself{}); }
  // The same for a part of the row, which is all that is kept then (row_fields.hpp).
  template <class T, class Part> using state_of_part = best<T, Part>;
  template <class S, class T, class Part> QUERY_INLINE void step_part(S& s, const T& t, const Part& part) const {
    with_value(f, t, [&](const auto& given) QUERY_INLINE {
      const auto& v = as_kept<decltype(s.v)>(given);
      if (!s.any || beats<Max>(static_cast<const decltype(s.v)&>(v), s.v)) {
        s.any = true;
        s.v = v;
        s.row = part(t);
      }
    });
  }
  template <class S> static auto part(S& s) { return std::move(s.row); }
  template <class S> static void merge(S& a, S& b) {
    if (b.any && (!a.any || beats<Max>(b.v, a.v))) a = std::move(b);
  }
  template <class T, class K, class S> auto value(const K&, S& s) const {
    perhaps<nullable<F, T>, T> r{};
    if (s.any || !nullable<F, T>) r = std::move(s.row);
    return r;
  }
};
// The same by the user's own order of values; `less` is kept beside the state, as states merge by themselves.
template <class V, class T, class Less> struct own_best {
  std::optional<V> v;
  std::optional<T> row;  // of arg_min, arg_max
  const Less* less = nullptr;
};
template <bool Max, class Less, class V> bool beats_by(const Less& less, const V& a, const V& b) {
  return static_cast<bool>(Max ? less(b, a) : less(a, b));
}
template <bool Max, class F, class Less> struct extreme_by : expression {
  static constexpr const char* name = Max ? "max" : "min";
  F f;
  Less less;
  template <class T> static constexpr bool needs_rows = !nullable<F, T>;
  template <class T> using state = own_best<value_in<F, T>, nothing, Less>;
  template <class S, class T> void step(S& s, const T& t) const {
    with_value(f, t, [&](const auto& v) {
      const value_in<F, T> own(v);
      if (!s.v || beats_by<Max>(less, own, *s.v)) s = {own, {}, &less};
    });
  }
  template <class S> static void merge(S& a, S& b) {
    if (b.v && (!a.v || beats_by<Max>(*b.less, *b.v, *a.v))) a = std::move(b);
  }
  template <class T, class K, class S> auto value(const K&, S& s) const {
    perhaps<nullable<F, T>, value_in<F, T>> r{};
    if (s.v) r = std::move(*s.v);
    return r;
  }
};
template <bool Max, class F, class Less> struct arg_extreme_by : expression {
  static constexpr const char* name = Max ? "arg_max" : "arg_min";
  F f;
  Less less;
  template <class T> static constexpr bool needs_rows = !nullable<F, T>;
  template <class T> using state = own_best<value_in<F, T>, T, Less>;
  template <class S, class T> void step(S& s, const T& t) const { step_part(s, t, itself{}); }
  template <class T, class Part> using state_of_part = own_best<value_in<F, T>, Part, Less>;
  template <class S, class T, class Part> void step_part(S& s, const T& t, const Part& part) const {
    with_value(f, t, [&](const auto& v) {
      const value_in<F, T> own(v);
      if (!s.v || beats_by<Max>(less, own, *s.v)) s = {own, part(t), &less};
    });
  }
  template <class S> static auto part(S& s) { return s.row ? std::move(*s.row) : typename decltype(s.row)::value_type{}; }
  template <class S> static void merge(S& a, S& b) { extreme_by<Max, F, Less>::merge(a, b); }
  template <class T, class K, class S> auto value(const K&, S& s) const {
    perhaps<nullable<F, T>, T> r{};
    if (s.row) r = std::move(*s.row);
    return r;
  }
};
// Sample variance (n - 1), or its root.
template <bool Root, class F> struct variance : of_values<F> {
  static constexpr const char* name = Root ? "stddev" : "variance";
  F f;
  template <class T> using state = moments;
  template <class T> QUERY_INLINE void step(moments& s, const T& t) const {
    with_value(f, t, [&](const auto& v) QUERY_INLINE { s.add(static_cast<double>(v)); });
  }
  static void merge(moments& a, moments& b) { a.merge(b); }
  template <class T, class K> auto value(const K&, moments& s) const {
    std::optional<double> r;  // of one value there is no variance
    if (s.n > 1) {
      const double v = s.squares / static_cast<double>(s.n - 1);
      r = Root ? std::sqrt(v) : v;
    }
    return r;
  }
};
template <bool Last, class F> struct edge : expression {
  static constexpr const char* name = Last ? "last" : "first";
  F f;
  template <class T> using state = std::optional<given<F, T>>;
  template <class S, class T> QUERY_INLINE void step(S& s, const T& t) const {
    if (Last || !s) s.emplace(detail::as_stored<given<F, T>>(call(f, seen_by<F>(t))));
  }
  template <class T, class Part> using state_of_part = std::optional<Part>;
  template <class S, class T, class Part> QUERY_INLINE void step_part(S& s, const T& t, const Part& part) const {
    if (!Last && s) return;
    if constexpr (std::is_same_v<F, itself>) s.emplace(part(t));
    else s.emplace(part(detail::as_stored<given<F, T>>(call(f, seen_by<F>(t)))));
  }
  template <class S> static void merge(S& a, S& b) {
    if (b && (Last || !a)) a = std::move(b);
  }
  template <class S> static auto part(S& s) {
    if (!s) detail::no_row_at_edge(name);
    return std::move(*s);
  }
  template <class T, class K, class S> auto value(const K&, S& s) const { return part(s); }
};
template <bool All, class F> struct decided : of_values<F> {
  static constexpr const char* name = All ? "all" : "any";
  F f;
  struct flag {
    bool v = All;
  };
  template <class T> using state = flag;
  template <class T> QUERY_INLINE void step(flag& s, const T& t) const {
    const bool b = static_cast<bool>(call(f, seen_by<F>(t)));
    if (All ? !b : b) s.v = !All;
  }
  static void merge(flag& a, flag& b) {
    if (All ? !b.v : b.v) a.v = !All;
  }
  template <class T, class K> auto value(const K&, flag& s) const { return s.v; }
};
template <class F> struct collect : expression {
  static constexpr const char* name = "collect";
  F f;
  template <class T> using state = detail::growing_list<given<F, T>>;
  template <class S, class T> void step(S& s, const T& t) const { s.emplace_back(detail::as_stored<given<F, T>>(call(f, seen_by<F>(t)))); }
  template <class S> static void merge(S& a, S& b) { a.append(b); }
  template <class T, class K, class S> auto value(const K&, S& s) const { return s.take(); }
};

// Out of line, for any order (src/cpu_engine/quantile.cpp): the value at rank q * (n - 1), interpolated linearly.
double quantile_of(double* values, std::size_t n, double q);

template <class F> struct quantile : expression {
  static constexpr const char* name = "quantile";
  F f;
  double q = 0.5;
  template <class T> static constexpr bool needs_rows = !nullable<F, T>;
  template <class T> using state = std::vector<double>;
  template <class T> void step(std::vector<double>& s, const T& t) const {
    with_value(f, t, [&](const auto& v) { s.push_back(static_cast<double>(v)); });
  }
  static void merge(std::vector<double>& a, std::vector<double>& b) { a.insert(a.end(), b.begin(), b.end()); }
  template <class T, class K> auto value(const K&, std::vector<double>& s) const {
    perhaps<nullable<F, T>, double> r{};
    if (!s.empty()) r = quantile_of(s.data(), s.size(), q);
    else if constexpr (!nullable<F, T>) r = std::numeric_limits<double>::quiet_NaN();
    return r;
  }
};

// Distinct values, by the library's own idea of equality or the user's (src/cpu_engine/value_aggregates.cpp).
class value_set {
 public:
  explicit value_set(const ir::type* t) : type_(t) {}
  void insert(const void* value);
  void insert(const void* value, const detail::key_calls& own);  // the same functions at each call
  void merge(const value_set& other);
  std::size_t size() const;

 private:
  const ir::type* type_;
  std::shared_ptr<struct value_set_impl> impl_;
};
template <class F> struct count_distinct : expression {
  static constexpr const char* name = "count_distinct";
  F f;
  template <class V> struct values : value_set {
    values() : value_set(ir::describe<V>()) {}
  };
  template <class T> using state = values<value_in<F, T>>;
  template <class S, class T> void step(S& s, const T& t) const {
    with_value(f, t, [&](const auto& v) {
      const value_in<F, T> own(v);
      s.insert(&own);
    });
  }
  template <class S> static void merge(S& a, S& b) { a.value_set::merge(b); }
  template <class T, class K, class S> auto value(const K&, S& s) const { return static_cast<std::int64_t>(s.size()); }
};

// The same by the user's own equality and hash of values, of any type.
template <class F> struct count_distinct_by : expression {
  static constexpr const char* name = "count_distinct";
  F f;
  detail::key_calls own;
  template <class T> using state = typename count_distinct<F>::template state<T>;
  template <class S, class T> void step(S& s, const T& t) const {
    with_value(f, t, [&](const auto& v) {
      const value_in<F, T> one(v);
      s.insert(&one, own);
    });
  }
  template <class S> static void merge(S& a, S& b) { a.value_set::merge(b); }
  template <class T, class K, class S> auto value(const K&, S& s) const { return static_cast<std::int64_t>(s.size()); }
};

}  // namespace query::agg
