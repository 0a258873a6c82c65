// unpivot, pivot and to_pivot: fields become rows, and rows become fields. They are made of select_many and group_by.
//
//   sales.pivot(city, month, std::array{1, 2, 3}, [](auto g) { return g.sum(amount); })
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <query/aggregates.hpp>
#include <query/functions.hpp>
#include <query/reshaped.hpp>
#include <query/verbs/breaker.hpp>

namespace query {

namespace detail {

// The type in which the values of fields meet; void: there is none.
template <class A, class... More> struct common_value { using type = A; };
template <class A, class B, class... More> struct common_value<A, B, More...> { using type = void; };
template <class A, class B, class... More> requires requires { typename common<A, B>::type; }
struct common_value<A, B, More...> : common_value<typename common<A, B>::type, More...> {};

// The fields of a row as an array of rows.
template <class Out, class Id, class N, class... F> struct fields_of_row {
  Id id;
  std::array<N, sizeof...(F)> names;
  std::tuple<F...> values;

  template <class R> requires(is_callable<const Id&, const R&> && (is_callable<const F&, const R&> && ...))
  auto operator()(const R& row) const { return all(id(row), row, std::index_sequence_for<F...>{}); }

 private:
  template <class I, class R, std::size_t... At> auto all(const I& known_by, const R& row, std::index_sequence<At...>) const {
    return std::array{made(known_by, names[At], std::get<At>(values)(row))...};
  }
  template <class I, class X> static auto made(const I& known_by, const N& name, const X& value) {
    if constexpr (record<Out>) return query::make<Out>(known_by, name, value);
    else return Out{as_stored<decltype(Out::id)>(known_by), name, value_of_type<decltype(Out::value)>(value)};
  }
};

// The key of a cell, and the position of its column in the list of known columns; N if the list does not contain it.
template <class K, class F, class C, std::size_t N> struct cell_of_row {
  K key;
  F column;
  std::array<C, N> columns;

  template <class R> requires(is_callable<const K&, const R&> && is_callable<const F&, const R&>)
  auto operator()(const R& row) const { return std::pair(key(row), number(column(row))); }

 private:
  template <class X> auto number(const X& x) const {
    if constexpr (symbolic<X>) {
      expr<std::int32_t> n(static_cast<std::int32_t>(N));
      for (std::size_t i = N; i-- > 0;) n = query::iff(query::lazy(x) == columns[i], static_cast<std::int32_t>(i), n);
      return n;
    } else if constexpr (is_twin_v<X>) {
      for (std::size_t i = 0; i < N; ++i)
        if (x == columns[i]) return expr<std::int32_t>(static_cast<std::int32_t>(i));
      return expr<std::int32_t>(static_cast<std::int32_t>(N));
    } else {
      std::int32_t n = 0;
      while (n < static_cast<std::int32_t>(N) && !(x == columns[static_cast<std::size_t>(n)])) ++n;
      return n;
    }
  }
};

// Whether a number is one of another type, too; NaNs are one.
template <class T, class V> constexpr bool is_one_of(V v) {
  constexpr auto beyond = [](auto digits) { return static_cast<long double>(std::uint64_t{1} << (digits - 1)) * 2; };
  if constexpr (std::is_integral_v<T> && std::is_integral_v<V>) {
    return fits<T>(v);
  } else if constexpr (std::is_integral_v<T>) {
    if (!(v < beyond(std::numeric_limits<T>::digits) && v >= static_cast<V>(std::numeric_limits<T>::min()))) return false;
    return static_cast<V>(static_cast<T>(v)) == v;
  } else if constexpr (std::is_integral_v<V>) {
    const T t = static_cast<T>(v);
    return t < beyond(std::numeric_limits<V>::digits) && static_cast<V>(t) == v;
  } else {
    return static_cast<V>(static_cast<T>(v)) == v || v != v;
  }
}
struct fitting_number {
  bool& fit;
  template <class T, class V> T operator()(std::type_identity<T>, V v) const {
    if constexpr (std::is_arithmetic_v<V>) fit = fit && is_one_of<T>(v);
    return fit ? static_cast<T>(v) : T{};
  }
};

// The key of a group beside what the user computes of it.
template <class A> struct keyed_value {
  A of;
  template <class G> requires is_callable<const A&, const G&> auto operator()(const G& g) const { return std::pair(g.key(), of(g)); }
};

// pivot's cells, one for each row and column, put together: those of one row.
template <class K, class V> struct cells_of_key {
  using cell = std::pair<std::pair<K, std::int32_t>, V>;
  template <std::size_t N> struct put {
    using value = typename check::without_null_t<V>;
    using values = std::array<std::optional<value>, N>;
    values operator()(values v, const cell& c) const {
      if (const auto at = static_cast<std::size_t>(c.first.second); at < N) v[at] = c.second;
      return v;
    }
  };
};

}  // namespace detail

namespace verbs {

template <class X> inline constexpr bool is_field = false;
template <class N, class F> inline constexpr bool is_field<unpivoted_field<N, F>> = true;

template <class Derived, class T> class reshaping {
 public:
  // Each field of each row as a row of its own, query::unpivoted<Id, Name, Value>{id(row), name, value}: row by row, and the fields of
  // a row in the order in which they are named. Names have one type, text, numbers or others; values of numbers meet in their common
  // type, and in a std::optional where one of them is one. Nulls are rows, too; SQL's UNPIVOT leaves them out, as
  // .where([](auto r) { return r.value.has_value(); }) does. O(rows * fields). Keeps the order of rows. Like Polars' unpivot.
  template <class Id, class... N, class... F> requires(sizeof...(F) > 0)
  auto unpivot(Id id, unpivoted_field<N, F>... fields) const {
    if constexpr (!check::unpivot::value<Id, T>() || (!check::unpivot::value<F, T>() || ...)) {
      return check::after_error{};
    } else {
      using V = typename detail::common_value<detail::result_of<F, T>...>::type;
      using Name = std::tuple_element_t<0, std::tuple<N...>>;
      if constexpr (!check::unpivot::one_type<V>() || !check::unpivot::one_name<(std::is_same_v<N, Name> && ...)>()) {
        return check::after_error{};
      } else {
        using Out = unpivoted<detail::result_of<Id, T>, Name, V>;
        const call_site at = first_place(fields...);
        return self().select_many(
            detail::fields_of_row<Out, Id, Name, F...>{std::move(id), {std::move(fields.name)...}, {std::move(fields.value)...}}, at,
            "unpivot");
      }
    }
  }
  template <class Id, class... X> requires(sizeof...(X) > 0 && !(is_field<X> && ...))
  check::after_error unpivot(const Id&, const X&...) const {
    static_assert(sizeof(Id) == 0, "query: unpivot: the fields have no names: unpivot([](auto t) { return t.city; }, query::field(\"jan\", "
                                   "[](auto t) { return t.jan; }), ...)");
    return {};
  }
  // Rows become the columns of a row: for each key(row), query::pivoted<K, V, N>{key, values}, where values[i] is what `aggregate` gives
  // of the rows whose column(row) is columns[i], and empty where there are none. Other rows have no column; their key has a row.
  // `aggregate` is a function of a group, [](auto g) { return g.sum(f); }, or sum(f) of query::aggregates. Rows come in any order, or with
  // as_ordered() in that in which their keys first appear. Throws user_error where two columns are equal, or no value of column's type.
  // O(rows) time, O(keys * columns) memory. Like SQL Server's PIVOT.
  template <class K, class F, class C, std::size_t N, class A>
  auto pivot(K key, F column, const std::array<C, N>& columns, A aggregate, call_site at = call_site::here()) const {
    if constexpr (!check::pivot::key<K, T>() || !check::pivot::key<F, T>()) {
      return check::after_error{};
    } else {
      using key_of = detail::result_of<K, T>;
      using column_of = detail::result_of<F, T>;
      if constexpr (!check::pivot::columns<detail::storable<C, column_of, false>(), column_of>()) {
        return check::after_error{};
      } else {
        const auto cells = self().group_by(detail::cell_of_row<K, F, column_of, N>{std::move(key), std::move(column),
                                                                                   as_columns<column_of>(columns, at)}, at, "pivot")
                               .as_ordered().select(detail::keyed_value<A>{std::move(aggregate)}, at);
        if constexpr (std::is_same_v<std::remove_const_t<decltype(cells)>, check::after_error>) return cells;
        else return put_together<key_of, N>(cells, at);
      }
    }
  }
  // The columns in braces: pivot(city, month, {1, 2, 3}, aggregate).
  template <class K, class F, class C, std::size_t N, class A>
  auto pivot(K key, F column, const C (&columns)[N], A aggregate, call_site at = call_site::here()) const {
    return pivot(std::move(key), std::move(column), std::to_array(columns), std::move(aggregate), at);
  }
  template <class K, class F, class G, class C, std::size_t N, class A> requires(!std::is_same_v<A, call_site>)
  check::after_error pivot(const K&, const F&, const G&, const std::array<C, N>&, const A&) const {
    static_assert(sizeof(K) == 0, "query: pivot: " QUERY_DETAIL_TAKES_ONE_KEY);
    return {};
  }
  template <class K, class F, class Columns, class A> requires(!ir::is_array_v<Columns>)
  check::after_error pivot(const K&, const F&, const Columns&, const A&) const {
    static_assert(sizeof(K) == 0, "query: pivot: the values of the columns are a std::array, whose size is known, or a list in braces: "
                                  "pivot(city, month, {1, 2, 3}, aggregate). Columns that are not known: to_pivot(city, month, aggregate)");
    return {};
  }
  // The same where the columns are those that the rows have: runs the query and gives a query::pivot_table<K, C, V>, with columns()
  // sorted and a line for each key in the order of first appearance. O(rows) time, O(keys * columns) memory. Like Polars' pivot.
  template <class K, class F, class A> auto to_pivot(K key, F column, A aggregate, call_site at = call_site::here()) const {
    if constexpr (!check::to_pivot::key<K, T>() || !check::to_pivot::key<F, T>()) {
      return check::after_error{};
    } else {
      const auto cells = self().group_by(detail::key_and_value<K, F>{std::move(key), std::move(column)}, at, "to_pivot")
                             .as_ordered().select(detail::keyed_value<A>{std::move(aggregate)}, at);
      if constexpr (std::is_same_v<std::remove_const_t<decltype(cells)>, check::after_error>) {
        return cells;
      } else {
        using V = check::without_null_t<typename decltype(cells)::row::second_type>;
        return pivot_table<detail::result_of<K, T>, detail::result_of<F, T>, V>(cells.to_vector());
      }
    }
  }
  QUERY_DETAIL_ONE_KEY(to_pivot, 2)
  QUERY_DETAIL_NEEDS(unpivot, 2, "takes what a row is known by, and the fields: unpivot([](auto t) { return t.city; }, "
                                 "query::field(\"jan\", [](auto t) { return t.jan; }), ...)")
  QUERY_DETAIL_NEEDS(pivot, 4, "takes the key of a row, its column, the columns' values and an aggregate: pivot(city, month, "
                               "std::array{1, 2, 3}, [](auto g) { return g.sum(amount); }). Columns that are not known: to_pivot(city, "
                               "month, aggregate)")
  QUERY_DETAIL_NEEDS(to_pivot, 3, "takes the key of a row, its column and an aggregate: to_pivot(city, month, "
                                  "[](auto g) { return g.sum(amount); })")

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
  template <class First, class... More> static call_site first_place(const First& first, const More&...) { return first.where; }

  template <class Column, class C, std::size_t N>
  static std::array<Column, N> as_columns(const std::array<C, N>& given, call_site at) {
    std::array<Column, N> columns{};
    for (std::size_t i = 0; i < N; ++i) {
      bool fits = true;
      columns[i] = detail::value_of_type<Column>(given[i], detail::fitting_number{fits});
      if (!fits)
        detail::fail("pivot", "column " + std::to_string(i) + " is no value of the type that the function of the column gives", at);
      for (std::size_t k = 0; k < i; ++k)
        if (columns[k] == columns[i])
          detail::fail("pivot", "columns " + std::to_string(k) + " and " + std::to_string(i) + " are equal", at);
    }
    return columns;
  }
  template <class K, std::size_t N, class Q> static auto put_together(const Q& cells, call_site at) {
    using V = typename Q::row::second_type;
    if constexpr (!check::pivot::described<V>()) {
      return check::after_error{};
    } else {
      using put = typename detail::cells_of_key<K, V>::template put<N>;
      using values = typename put::values;
      const auto both = [](values a, const values& b) {
        for (std::size_t i = 0; i < N; ++i)
          if (b[i]) a[i] = b[i];
        return a;
      };
      return cells.group_by([](const auto& c) { return c.first.first; }, at, "pivot").select([both](auto g) {
        return query::make<pivoted<K, typename put::value, N>>(g.key(), g.aggregate(values{}, put{}, both));
      }, at);
    }
  }
};

}  // namespace verbs
}  // namespace query
