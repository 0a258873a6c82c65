// What verbs ask of functions, keys and rows at compile time. One mistake is one error, "query: <verb>: what is wrong. The fix":
// a check says whether all is well, and the verb leaves the rest of its body uninstantiated where it is not.
//
//   if constexpr (!check::where::tests<F, T>()) return check::after_error{};
//   else ...
//
// docs/errors.md shows the errors; tests/compile_fail has a file for each.
#pragma once

#include <query/detail/check_row_wise.hpp>

namespace query::check {

struct on_progress {
  template <class F> static constexpr bool takes_fraction() {
    constexpr bool ok = std::is_invocable_v<const F&, double>;
    static_assert(ok, "query: on_progress: the function must take a double (the fraction that is done) and not be `mutable`");
    return ok;
  }
};
struct stop_on {
  template <class Token> static constexpr bool token() {
    constexpr bool ok = requires(const Token& t) { { t.stop_requested() } -> std::convertible_to<bool>; };
    static_assert(ok, "query: stop_on: takes a stop token: std::stop_token, or what has `bool stop_requested() const`");
    return ok;
  }
};

struct group_by { QUERY_DETAIL_HAVE_KEY(group_by, QUERY_DETAIL_OR_EQUAL) QUERY_DETAIL_HAVE_CUSTOM_GROUP_KEY(group_by, "key, ") };
struct count_by { QUERY_DETAIL_HAVE_KEY(count_by, QUERY_DETAIL_OR_EQUAL) QUERY_DETAIL_HAVE_CUSTOM_GROUP_KEY(count_by, "key, ") };
struct aggregate_by {
  QUERY_DETAIL_HAVE_KEY(aggregate_by, "")
  QUERY_DETAIL_HAVE_CUSTOM_GROUP_KEY(aggregate_by, "key, seed, update, combine, ")
  QUERY_DETAIL_HAVE_SEED(aggregate_by)
  template <class S, class K> static constexpr bool seed_function() {
    static_assert(gives_value<S, K>() || fails_inside<S, K>, "query: aggregate_by: the seed function must take a key and give a state");
    return gives_value<S, K>();
  }
};
struct aggregate {
  QUERY_DETAIL_HAVE_SEED(aggregate)
  // aggregate(seed, update), as LINQ has it
  template <class Seed> static constexpr bool no_combine() {
    static_assert(sizeof(Seed) == 0, "query: aggregate: the third argument, combine, is missing. Parts of the rows are folded at the same "
                                     "time, and combine(state, state) puts two of their states together: aggregate(0, [](int s, auto t) "
                                     "{ return s + t.qty; }, [](int a, int b) { return a + b; }), where combine(seed, x) must be x");
    return false;
  }
};

#define QUERY_DETAIL_JOIN(verb, form, rows, more)                                                                                         \
  struct verb {                                                                                                                           \
    QUERY_DETAIL_HAVE_TWO_KEYS(verb, "right, left key, right key, " form)                                                                 \
    QUERY_DETAIL_HAVE_PAIR_OR_EQUAL(verb, rows, more)                                                                                     \
  };
QUERY_DETAIL_JOIN(join, "", "(left row, right row)", "")
QUERY_DETAIL_JOIN(left_join, "", "(left row, std::optional<right row>)", ": a left row may have no match")
QUERY_DETAIL_JOIN(right_join, "", "(std::optional<left row>, right row)", ": a right row may have no match")
QUERY_DETAIL_JOIN(full_join, "", "(std::optional<left row>, std::optional<right row>)", ": either side may have no match")
QUERY_DETAIL_JOIN(semi_join, "", "", "")
QUERY_DETAIL_JOIN(anti_join, "", "", "")
#undef QUERY_DETAIL_JOIN
struct group_join {
  QUERY_DETAIL_HAVE_TWO_KEYS(group_join, "right, left key, right key, result, ")
  QUERY_DETAIL_HAVE_PAIR_OR_EQUAL(group_join, "(left row, const std::vector<right row>&)", "")
  template <class Q> static constexpr bool no_result() {
    static_assert(sizeof(Q) == 0, "query: group_join: the result function is missing: group_join(right, left key, right key, "
                                  "[](const auto& row, const auto& matches) { ... }), where matches is a std::vector of right rows");
    return false;
  }
};
struct asof_join_keys {
  QUERY_DETAIL_HAVE_TWO_KEYS(asof_join, "right, left key, right key, left time, right time, ")
  QUERY_DETAIL_HAVE_PAIR(asof_join, "(left row, std::optional<right row>)", ": a left row may have no match")
};
#define QUERY_DETAIL_PAIRS(verb, rows)                                                                                                    \
  struct verb {                                                                                                                           \
    QUERY_DETAIL_HAVE_OTHER(verb)                                                                                                         \
    QUERY_DETAIL_HAVE_PAIR(verb, rows, "")                                                                                                \
    template <class Q, class F, class L, class R> static constexpr bool pairs() {                                                         \
      if constexpr (!other<Q>()) return false;                                                                                            \
      else return pair<F, L, R>();                                                                                                        \
    }                                                                                                                                     \
  };
QUERY_DETAIL_PAIRS(cross_join, "(left row, right row)")
QUERY_DETAIL_PAIRS(zip, "(this query's row, the other's row)")
#undef QUERY_DETAIL_PAIRS
struct join_where {
  QUERY_DETAIL_HAVE_OTHER(join_where)
  QUERY_DETAIL_HAVE_PAIR(join_where, "(left row, right row)", "")
  QUERY_DETAIL_HAVE_PREDICATE(join_where)
  template <class, class F, class L, class R> static constexpr bool pairs() { return pair<F, L, R>(); }
  template <class Q, class C, class L> static constexpr bool decides_on() {
    if constexpr (!other<Q>()) return false;
    else return decided<C, L, typename Q::row>();
  }
  template <class C, class L, class R> static constexpr bool decided() {
    constexpr bool taken = can_call<C, L, R> || fails_inside<C, L, R>;
    static_assert(taken, "query: join_where: the condition must take (left row, right row). The arguments are join_where(right, "
                         "condition, result); joins by keys are join(right, left key, right key, result)");
    if constexpr (!taken) return false;
    else return predicate<C, L, R>();
  }
};

#define QUERY_DETAIL_SORT(verb, form)                                                                                                     \
  struct verb { QUERY_DETAIL_HAVE_ORDER(verb, ", or give an order: " #verb "(" form "less)") QUERY_DETAIL_HAVE_CUSTOM_ORDER(verb, form) };
QUERY_DETAIL_SORT(order_by, "key, ") QUERY_DETAIL_SORT(order_by_descending, "key, ")
QUERY_DETAIL_SORT(order, "") QUERY_DETAIL_SORT(order_descending, "")
#undef QUERY_DETAIL_SORT
#define QUERY_DETAIL_REFINE(verb)                                                                                                         \
  struct verb {                                                                                                                           \
    QUERY_DETAIL_HAVE_ORDER(verb, "") QUERY_DETAIL_HAVE_CUSTOM_ORDER(verb, "key, ")                                                       \
    template <class D> static constexpr bool after_order() {                                                                              \
      static_assert(sizeof(D) == 0, "query: " #verb ": there is no order to refine. Write order_by(key)." #verb "(key), next to "  \
                                    "each other, or keep auto sorted = q.order_by(key): a query::Query<Row> has lost its order");         \
      return false;                                                                                                                       \
    }                                                                                                                                     \
  };
QUERY_DETAIL_REFINE(then_by)
QUERY_DETAIL_REFINE(then_by_descending)
#undef QUERY_DETAIL_REFINE
struct top {
  QUERY_DETAIL_HAVE_ORDER(top, "")
  QUERY_DETAIL_HAVE_CUSTOM_ORDER(top, "n, key, ")
  QUERY_DETAIL_HAVE_COUNT(top, " and then the key: top(10, key)")
  template <class T> static constexpr bool own_key() {
    constexpr bool ok = ir::described_v<T> && !record<T>;
    static_assert(ok, "query: top: the key is missing. Say by which field rows are compared: top(10, [](auto t) { return t.price; })");
    return ok;
  }
};

struct distinct { QUERY_DETAIL_HAVE_KEY(distinct, ", or distinct_by(key)") QUERY_DETAIL_HAVE_CUSTOM_KEY(distinct, "") };
struct distinct_by { QUERY_DETAIL_HAVE_KEY(distinct_by, QUERY_DETAIL_OR_EQUAL) QUERY_DETAIL_HAVE_CUSTOM_KEY(distinct_by, "key, ") };
#define QUERY_DETAIL_SET(verb, form)                                                                                                      \
  struct verb { QUERY_DETAIL_HAVE_KEY(verb, "") QUERY_DETAIL_HAVE_CUSTOM_KEY(verb, form) QUERY_DETAIL_HAVE_SAME_ROW(verb) };
QUERY_DETAIL_SET(union_with, "other, ") QUERY_DETAIL_SET(intersect, "other, ") QUERY_DETAIL_SET(except, "other, ")
QUERY_DETAIL_SET(union_with_by, "other, key, ") QUERY_DETAIL_SET(intersect_by, "other, key, ") QUERY_DETAIL_SET(except_by, "other, key, ")
#undef QUERY_DETAIL_SET
struct concat { QUERY_DETAIL_HAVE_SAME_ROW(concat) };

struct take { QUERY_DETAIL_HAVE_COUNT(take, QUERY_DETAIL_NO_FRACTION) };
struct skip { QUERY_DETAIL_HAVE_COUNT(skip, QUERY_DETAIL_NO_FRACTION) };
struct take_last { QUERY_DETAIL_HAVE_COUNT(take_last, QUERY_DETAIL_NO_FRACTION) };
struct skip_last { QUERY_DETAIL_HAVE_COUNT(skip_last, QUERY_DETAIL_NO_FRACTION) };
struct sample { QUERY_DETAIL_HAVE_COUNT(sample, QUERY_DETAIL_NO_FRACTION) };
struct repeat { QUERY_DETAIL_HAVE_COUNT(repeat, ": repeat(value, 10)") QUERY_DETAIL_HAVE_COPIES(repeat) };
struct element_at { QUERY_DETAIL_HAVE_COUNT(element_at, " that lie before the wanted one, from 0") };
struct element_at_or_default { QUERY_DETAIL_HAVE_COUNT(element_at_or_default, " that lie before the wanted one, from 0") };
struct partitioned { QUERY_DETAIL_HAVE_COUNT(partitioned, ": how many partitions, from 1") };
#define QUERY_DETAIL_HAVE_KEY_FIRST(verb)                                                                                                 \
  template <class N> static constexpr bool key_first() {                                                                                  \
    static_assert(sizeof(N) == 0, "query: " #verb ": takes the key and then how many partitions: " #verb "(key, 4)");                     \
    return false;                                                                                                                         \
  }
struct hash_partitioned_by {
  QUERY_DETAIL_HAVE_KEY(hash_partitioned_by, QUERY_DETAIL_OR_EQUAL)
  QUERY_DETAIL_HAVE_CUSTOM_KEY(hash_partitioned_by, "key, n, ")
  QUERY_DETAIL_HAVE_COUNT(hash_partitioned_by, ": how many partitions")
  QUERY_DETAIL_HAVE_KEY_FIRST(hash_partitioned_by)
};
struct range_partitioned_by {
  QUERY_DETAIL_HAVE_ORDER(range_partitioned_by, ", or give an order: range_partitioned_by(key, n, less)")
  QUERY_DETAIL_HAVE_CUSTOM_ORDER(range_partitioned_by, "key, n, ")
  QUERY_DETAIL_HAVE_COUNT(range_partitioned_by, ": how many partitions")
  QUERY_DETAIL_HAVE_KEY_FIRST(range_partitioned_by)
};
#undef QUERY_DETAIL_HAVE_KEY_FIRST
struct chunk { QUERY_DETAIL_HAVE_RUN(chunk) QUERY_DETAIL_HAVE_COUNT(chunk, ", from 1") };
struct window { QUERY_DETAIL_HAVE_RUN(window) QUERY_DETAIL_HAVE_COUNT(window, ", from 1") };
struct over {
  QUERY_DETAIL_HAVE_KEY(over, "")
  QUERY_DETAIL_HAVE_COPIES(over)
  template <class F, class T, class W> static constexpr bool function() {
    constexpr bool taken = fits<F, T, W> || can_call<F, T, W>;
    static_assert(taken, "query: over: the function takes a row and its window: over(key).select([](auto t, auto w) { return "
                         "std::pair(t.id, w.row_number()); })");
    if constexpr (!taken) return false;
    else return value<F, T, W>();
  }
};
struct apply { QUERY_DETAIL_HAVE_RUN(apply) };
struct apply_all { QUERY_DETAIL_HAVE_RUN(apply_all) };
struct take_while { QUERY_DETAIL_HAVE_NUMBERED_PREDICATE(take_while) };
struct skip_while { QUERY_DETAIL_HAVE_NUMBERED_PREDICATE(skip_while) };
struct slice { QUERY_DETAIL_HAVE_COUNT(slice, ": the number of the first, and of the one after the last; -1 is that of the last row") };
struct unpivot {
  QUERY_DETAIL_HAVE_CALL(unpivot)
  template <class V> static constexpr bool one_type() {
    static_assert(!std::is_void_v<V>, "query: unpivot: the fields have no common type, and their values become one column. Convert them: "
                                      "query::field(\"jan\", [](auto t) { return query::cast<double>(t.jan); })");
    return !std::is_void_v<V>;
  }
  template <bool Same> static constexpr bool one_name() {
    static_assert(Same, "query: unpivot: the names of the fields must have one type: all of them text, or all of them numbers of a type");
    return Same;
  }
};
struct pivot {
  QUERY_DETAIL_HAVE_KEY(pivot, "")
  template <bool Stored, class Column> static constexpr bool columns() {
    constexpr bool compared = requires(const Column& a) { a == a; };
    static_assert(Stored, "query: pivot: the values of the columns do not have the type that the function of the column gives: "
                          "pivot(city, month, std::array{1, 2, 3}, aggregate)");
    static_assert(compared || !Stored, "query: pivot: the columns' type has no ==. Give the record "
                                       "`bool operator==(const Row&) const = default`");
    return Stored && compared;
  }
  template <class V> static constexpr bool described() {
    static_assert(ir::described_v<V>, "query: pivot: the aggregate gives a type without a description. Let it give numbers, strings, "
                                      "optionals, arrays, tuples or a QUERY_RECORD");
    return ir::described_v<V>;
  }
};
struct to_pivot { QUERY_DETAIL_HAVE_KEY(to_pivot, "") };
struct append { QUERY_DETAIL_HAVE_ROW(append, ". For more rows there is concat(rows)") };
struct prepend { QUERY_DETAIL_HAVE_ROW(prepend, ". For more rows there is concat(rows)") };
struct default_if_empty { QUERY_DETAIL_HAVE_ROW(default_if_empty, "") };

// B: the loop's body; C: its condition; Rows: Query<T>; Truth: Value<bool>.
struct do_while {
  template <class B, class Rows> static constexpr bool body() {
    constexpr bool taken = invocable_then<fits<B, Rows>, B&, Rows>;
    if constexpr (!taken)
      static_assert(fails_inside<B, Rows>, "query: do_while: the body must take query::Query<Row> (or `auto`): the rows of the round");
    if constexpr (taken) {
      constexpr bool given = std::is_convertible_v<std::invoke_result_t<B&, Rows>, Rows>;
      static_assert(given, "query: do_while: the body must give a query with the loop's own row type. Use .select(...) at its end, and no "
                           "terminal verb inside");
      return given;
    } else return false;
  }
  template <class C, class T, class Rows, class Truth> static constexpr bool condition() {
    if constexpr (invocable_then<fits<C, Rows, Rows>, C&, Rows, Rows>) {
      using R = std::remove_cvref_t<std::invoke_result_t<C&, Rows, Rows>>;
      constexpr bool ok = std::is_same_v<R, Truth>;
      static_assert(ok || std::is_same_v<R, after_error>,
                    "query: do_while: the condition must give query::Value<bool>, such as query::value_of(next).sum() > 10");
      return ok;
    } else if constexpr (fits<C, Rows, Rows>) {
      return false;
    } else {
      using rows = std::span<const T>;
      constexpr bool ok = gives<bool, C, rows, rows>();
      static_assert(ok || fails_inside<C, rows, rows>,
                    "query: do_while: the condition must be (Query<Row> previous, Query<Row> next) -> Value<bool>, "
                    "(std::span<const Row>, std::span<const Row>) -> bool, or query::times(n)");
      return ok;
    }
  }
};
struct value_of {
  template <class Q> static constexpr bool query() {
    static_assert(is_query_v<Q>, "query: value_of: takes a query, or what query::from takes: a container, or a range that can be read "
                                 "again");
    return is_query_v<Q>;
  }
};
struct fork {
  template <class F, class Q> static constexpr bool branch() {
    constexpr bool ok = gives_value<F, Q>();
    if constexpr (!ok)
      static_assert(fails_inside<F, Q>, "query: fork: each function must take a query (`auto q`) and give what becomes of it");
    return ok;
  }
};

// The function of groups. R: what it gives for `auto g`; ok: whether that is an expression of aggregates.
struct groups {
  QUERY_DETAIL_HAVE_COPIES(group_by(...).select)
  template <class F, class G> static constexpr bool takes_rows() {
    constexpr bool ok = can_call<F, G>;
    if constexpr (!ok)
      static_assert(fails_inside<F, G>, "query: group_by(...).select: the function must take `auto g` (aggregates, kept up row by row) or "
                                     "`const query::Group<Key, Row>& g` (the rows; check Key and Row)");
    return ok;
  }
  // G: the group with its rows. A function that names it does not compile if it gets here: its body has an error, and so no type.
  template <class F, class Recorder, class G> static constexpr bool taken() {
    constexpr bool ok = can_call<F, Recorder>;
    if constexpr (!ok && !fits<F, Recorder>)
      static_assert(fails_inside<F, G>,
                    "query: group_by(...).select, aggregate, reduce: the function must take the group, `auto g`, and not be `mutable`");
    static_assert(std::is_copy_constructible_v<F>, QUERY_DETAIL_IS_COPIED(group_by(...).select));
    return ok && std::is_copy_constructible_v<F>;
  }
  template <bool Ok> static constexpr bool expression() {
    static_assert(Ok, "query: group_by(...).select, aggregate, reduce: the function must give g.key(), an aggregate such as g.sum(f), "
                      "arithmetic on them, a tuple of them or query::make<Out>(...)");
    return Ok;
  }
  template <class R> static constexpr bool value() {
    static_assert(!std::is_void_v<R>, "query: group_by(...).select, aggregate, reduce: the function gives nothing. Return g.key(), an "
                                      "aggregate such as g.sum(f), a tuple of them or query::make<Out>(...)" QUERY_DETAIL_OR_ERROR);
    return !std::is_void_v<R>;
  }
};

struct to_map {
  QUERY_DETAIL_HAVE_KEY(to_map, QUERY_DETAIL_OR_EQUAL)
  QUERY_DETAIL_HAVE_CUSTOM_KEY(to_map, "key, value, ")
  // The map takes what a function makes; of what it refers to, such as the row, it keeps a copy.
  template <class Key, class Value, class Row> static constexpr bool entries() {
    constexpr bool key = kept_part<Key, Row>(), value = kept_part<Value, Row>();
    static_assert(key, "query: to_map: the key cannot be copied, as a std::unique_ptr, and the map keeps a copy of what the function "
                       "refers to. Give what the map can own: a number, a string, a pointer: s.get()");
    static_assert(value || !key, "query: to_map: the value, the row if no function gives it, cannot be copied, as a std::unique_ptr, and "
                                 "the map keeps a copy. Give a function of the value: to_map(key, [](const auto& s) { return s.get(); })");
    return key && value;
  }
  template <class F, class Row> static constexpr bool kept_part() {
    using given = detail::given_by<F, Row>;
    return !std::is_lvalue_reference_v<given> || ir::copies_v<detail::stored_t<given>>;
  }
  // Of to_map(key, x): is x an equality of keys whose hash is missing, instead of a function of the value?
  template <class F, class X, class Row> static constexpr bool equality_for_value() {
    if constexpr (can_call<X, Row> || !gives_value<F, Row>()) return false;
    else if constexpr (compares<X, detail::result_of<F, Row>>) return !no_hash<X>();
    else return false;
  }
};
struct to_lookup {
  QUERY_DETAIL_HAVE_KEY(to_lookup, "")
  QUERY_DETAIL_HAVE_CUSTOM_GROUP_KEY(to_lookup, "key, ")
  // As to_map's.
  template <class F, class X, class Row> static constexpr bool equality_for_value() {
    if constexpr (can_call<X, Row> || !gives_value<F, Row>()) return false;
    else if constexpr (compares<X, detail::result_of<F, Row>>) return !no_hash<X>();
    else return false;
  }
};
struct to_set { QUERY_DETAIL_HAVE_KEY(to_set, "") };
struct elements { QUERY_DETAIL_HAVE_CALL(elements) };
struct first { QUERY_DETAIL_HAVE_PREDICATE(first) };
struct first_or_none { QUERY_DETAIL_HAVE_PREDICATE(first_or_none) };
struct first_or_default { QUERY_DETAIL_HAVE_PREDICATE(first_or_default) };
struct last_or_none { QUERY_DETAIL_HAVE_PREDICATE(last_or_none) };
struct last_or_default { QUERY_DETAIL_HAVE_PREDICATE(last_or_default) };
struct single_or_default { QUERY_DETAIL_HAVE_PREDICATE(single_or_default) };
struct last { QUERY_DETAIL_HAVE_PREDICATE(last) };
struct single { QUERY_DETAIL_HAVE_PREDICATE(single) };
struct any { QUERY_DETAIL_HAVE_PREDICATE(any) };
struct all { QUERY_DETAIL_HAVE_PREDICATE(all) };
struct count {
  QUERY_DETAIL_HAVE_PREDICATE(count)
  // g.count(f) counts values of optionals, too.
  template <class F, class T> static constexpr bool counts() {
    if constexpr (!value<F, T>()) return false;
    else if constexpr (ir::is_optional_v<detail::result_of<F, T>>) return true;
    else return predicate<F, T>();
  }
};
struct collect { QUERY_DETAIL_HAVE_CALL(collect) };
struct sum { QUERY_DETAIL_HAVE_NUMBER(sum) };
struct average { QUERY_DETAIL_HAVE_NUMBER(average) };
struct mean { QUERY_DETAIL_HAVE_NUMBER(mean) };
struct variance { QUERY_DETAIL_HAVE_NUMBER(variance) };
struct stddev { QUERY_DETAIL_HAVE_NUMBER(stddev) };
struct median { QUERY_DETAIL_HAVE_NUMBER(median) };
struct quantile { QUERY_DETAIL_HAVE_NUMBER(quantile) };
struct approx_count_distinct { QUERY_DETAIL_HAVE_KEY(approx_count_distinct, "") };
struct approx_quantile { QUERY_DETAIL_HAVE_NUMBER(approx_quantile) };
struct top_k_frequent {
  QUERY_DETAIL_HAVE_KEY(top_k_frequent, "")
  template <class F, class N, class T> static constexpr bool counted() {
    static_assert(std::is_integral_v<N>, "query: top_k_frequent: takes the function and then how many values: top_k_frequent([](auto t) "
                                         "{ return t.symbol; }, 10)");
    if constexpr (!std::is_integral_v<N>) return false;
    else return key<F, T>();
  }
};
struct count_distinct {
  QUERY_DETAIL_HAVE_KEY(count_distinct, ", or give an equality and a hash: count_distinct(f, equal, hash)")
  QUERY_DETAIL_HAVE_OWN_KEYS(count_distinct, "f, ")
  // Nulls are passed over: the functions see the values of optionals.
  template <class F, class Row, class Equal, class Hash> static constexpr bool custom_key() {
    if constexpr (!value<F, Row>()) return false;
    else return own_keys<without_null_t<detail::result_of<F, Row>>, Equal, Hash>();
  }
};
struct min { QUERY_DETAIL_HAVE_LESS(min) QUERY_DETAIL_HAVE_CUSTOM_ORDER(min, "f, ") };
struct max { QUERY_DETAIL_HAVE_LESS(max) QUERY_DETAIL_HAVE_CUSTOM_ORDER(max, "f, ") };
struct min_by { QUERY_DETAIL_HAVE_LESS(min_by) QUERY_DETAIL_HAVE_CUSTOM_ORDER(min_by, "f, ") };
struct max_by { QUERY_DETAIL_HAVE_LESS(max_by) QUERY_DETAIL_HAVE_CUSTOM_ORDER(max_by, "f, ") };
struct arg_min { QUERY_DETAIL_HAVE_LESS(arg_min) QUERY_DETAIL_HAVE_CUSTOM_ORDER(arg_min, "f, ") };
struct arg_max { QUERY_DETAIL_HAVE_LESS(arg_max) QUERY_DETAIL_HAVE_CUSTOM_ORDER(arg_max, "f, ") };
struct contains {
  QUERY_DETAIL_HAVE_EQUAL(contains, ", or use any(predicate)")
  QUERY_DETAIL_HAVE_CUSTOM_EQUAL(contains, "value, ")
  QUERY_DETAIL_HAVE_ROW(contains, ". For a part of the row use any(predicate)")
};
struct broadcast { QUERY_DETAIL_HAVE_COPIES(broadcast) };
struct sequence_equal {
  QUERY_DETAIL_HAVE_EQUAL(sequence_equal, "")
  QUERY_DETAIL_HAVE_CUSTOM_EQUAL(sequence_equal, "other, ")
  QUERY_DETAIL_HAVE_SAME_ROW(sequence_equal)
  template <class R> static constexpr bool range() {
    static_assert(row_range<const R>, "query: sequence_equal: takes another query, or a range with begin() and end()");
    return row_range<const R>;
  }
  template <class R, class T> static constexpr bool range_of() {
    if constexpr (range<R>()) {
      constexpr bool ok = requires(const T& a, const R& r) { static_cast<bool>(a == *r.begin()); };
      static_assert(ok, "query: sequence_equal: these rows have no == with the elements of that range. Use .select(...) first, or give the "
                        "record `bool operator==(const Row&) const = default`");
      return ok;
    } else return false;
  }
};
struct for_each {
  template <class F, class T> static constexpr bool callable() {
    constexpr bool ok = invocable_then<fits<F, T>, F&, const T&>;
    if constexpr (changes<F, T>)
      static_assert(sizeof(F) == 0, "query: for_each: the function takes the row by a reference to change it by, and rows are read-only. "
                                    "Take it as `const Row& t` or `auto t`; select gives new rows");
    else if constexpr (!ok)
      static_assert(fails_inside<F, T>, "query: for_each: the function cannot be called with a row of this query. Take the row as "
                                     "`const auto& t` or `const Row& t`");
    return ok;
  }
};
struct to_columns {
  template <class T> static constexpr bool of_record() {
    static_assert(record<T> || detail::has_meta<T>,
                  "query: to_columns: the rows must be records. Write QUERY_RECORD(Row, field, ...); after the struct");
    return record<T>;
  }
};
struct to_vectors {
  template <class T> static constexpr bool of_record() {
    static_assert(record<T> || detail::has_meta<T>,
                  "query: to_vectors: the rows must be records. Write QUERY_RECORD(Row, field, ...); after the struct");
    return record<T>;
  }
};
struct table { QUERY_DETAIL_HAVE_DESCRIBED(table) };
struct print { QUERY_DETAIL_HAVE_DESCRIBED(print) };
struct describe { QUERY_DETAIL_HAVE_DESCRIBED(describe) };
struct write_csv { QUERY_DETAIL_HAVE_DESCRIBED(write_csv) };
struct write_json_lines { QUERY_DETAIL_HAVE_DESCRIBED(write_json_lines) };
#define QUERY_DETAIL_HAVE_FIXED_WIDTH(verb)                                                                                               \
  template <class T> static constexpr bool fixed_width() {                                                                                \
    constexpr bool fixed = std::is_trivially_copyable_v<T> && ir::described_v<T>;                                                         \
    static_assert(fixed, "query: " #verb ": such files hold rows as they lie in memory, so each field must be a number, an "              \
                         "enum, an array of these, or a described struct of these. For others there is CSV");                             \
    return fixed;                                                                                                                         \
  }
struct write_binary { QUERY_DETAIL_HAVE_FIXED_WIDTH(write_binary) };
// The arguments of from(...) that nothing else takes.
struct from {
  QUERY_DETAIL_HAVE_COPIES(from)
  template <class X> static constexpr bool rows() {
    static_assert(!is_query_v<X>, "query: from: this is a query already. Use it as it is");
    constexpr bool traced = !is_query_v<X> && requires(const X& x) { requires std::is_class_v<decltype(x.size())>; };
    static_assert(!traced, "query: from: these rows are an expression: `auto` made the function one that is traced. Name the type of its "
                           "parameter: [](const query::Group<Key, Row>& g) { ... query::from(g.rows()) ... }, or [](const Row& t) { ... }");
    constexpr bool once = !is_query_v<X> && !traced && requires(X& x) { x.begin(); x.end(); };
    static_assert(!once, "query: from: this range can be read only once, or only while it is not const and cannot be copied. Put its rows "
                         "into a std::vector, or give a view of a container: from(rows | std::views::filter(f))");
    static_assert(is_query_v<X> || traced || once, "query: from: takes a std::vector, std::array, std::span, a range with begin() and "
                                                   "end(), or query::columns<Row>(...)");
    return false;
  }
  template <class I> static constexpr bool two_parts() {
    static_assert(sizeof(I) == 0, "query: from: takes one range. Of two iterators: from(std::span(first, last)) where the rows lie side by "
                                  "side, from(std::ranges::subrange(first, last)) otherwise; of a pointer: from(std::span(rows, n))");
    return false;
  }
};
struct generate {
  QUERY_DETAIL_HAVE_COPIES(generate)
  template <class F> static constexpr bool gives_optional() {
    constexpr bool called = std::is_invocable_v<F&>;
    static_assert(called, "query: generate: the function must take nothing and give std::optional<Row>, empty at the end");
    if constexpr (called) {
      constexpr bool ok = ir::is_optional_v<std::invoke_result_t<F&>>;
      static_assert(ok, "query: generate: the function must give std::optional<Row>, empty at the end");
      if constexpr (ok) {
        using Row = typename std::invoke_result_t<F&>::value_type;
        constexpr bool views = keeps_views<detail::stored_t<Row>>();
        static_assert(!views, "query: generate: the rows hold containers or a std::variant of views (std::string_view, std::span), which "
                              "would look at things that are gone. Give what owns its values: std::string, std::vector");
        if constexpr (views) return false;
        else return copied<std::invoke_result_t<F&>>();
      } else return false;
    } else return false;
  }
};
struct range {
  template <class T, class N> static constexpr bool numbers() {
    constexpr bool ok = std::is_arithmetic_v<T> && std::is_integral_v<N>;
    static_assert(ok, "query: range: takes the first number and how many there are: range(0, 10)");
    return ok;
  }
};
struct sequence {
  template <class T, class L, class S> static constexpr bool numbers() {
    constexpr bool ok = std::is_arithmetic_v<T> && std::is_arithmetic_v<L> && std::is_arithmetic_v<S> && !std::is_same_v<T, bool>;
    static_assert(ok, "query: sequence: takes the first number, the last one, and the step between two: sequence(0, 10, 2)");
    return ok;
  }
};
struct columns {
  template <class T, class... C> static constexpr bool fit() {
    static_assert(record<T>, "query: columns: the row type must be a record. Write QUERY_RECORD(Row, field, ...); after the struct");
    if constexpr (record<T>) {
      constexpr bool many = sizeof...(C) == meta<T>::size;
      static_assert(many, "query: columns: one vector for each field of Row, in the order of QUERY_RECORD");
      if constexpr (many) {
        constexpr bool ok = []<std::size_t... I>(std::index_sequence<I...>) {
          return (std::is_same_v<C, std::conditional_t<std::is_same_v<field_t<T, I>, bool>, std::uint8_t, field_t<T, I>>> && ...);
        }(field_indices<T>{});
        static_assert(ok, "query: columns: each vector must have its field's type (std::uint8_t for bool), in the order of QUERY_RECORD");
        return ok;
      } else return false;
    } else return false;
  }
};

struct read_csv { QUERY_DETAIL_HAVE_DESCRIBED(read_csv) };
struct read_json_lines { QUERY_DETAIL_HAVE_DESCRIBED(read_json_lines) };
struct read_binary { QUERY_DETAIL_HAVE_FIXED_WIDTH(read_binary) };
#undef QUERY_DETAIL_HAVE_FIXED_WIDTH

#undef QUERY_DETAIL_HAVE_CALL
#undef QUERY_DETAIL_HAVE_COPIES
#undef QUERY_DETAIL_HAVE_PREDICATE
#undef QUERY_DETAIL_HAVE_NUMBERED_PREDICATE
#undef QUERY_DETAIL_HAVE_KEY
#undef QUERY_DETAIL_HAVE_OWN_KEYS
#undef QUERY_DETAIL_HAVE_CUSTOM_KEY
#undef QUERY_DETAIL_HAVE_CUSTOM_GROUP_KEY
#undef QUERY_DETAIL_HAVE_CUSTOM_EQUAL
#undef QUERY_DETAIL_HAVE_CUSTOM_ORDER
#undef QUERY_DETAIL_HAVE_ORDER
#undef QUERY_DETAIL_HAVE_LESS
#undef QUERY_DETAIL_IS_COPIED
#undef QUERY_DETAIL_POINTS
#undef QUERY_DETAIL_OR_ERROR
#undef QUERY_DETAIL_HAVE_NUMBER
#undef QUERY_DETAIL_HAVE_COUNT
#undef QUERY_DETAIL_HAVE_OTHER
#undef QUERY_DETAIL_HAVE_SAME_ROW
#undef QUERY_DETAIL_HAVE_ROW
#undef QUERY_DETAIL_HAVE_TWO_KEYS
#undef QUERY_DETAIL_APART
#undef QUERY_DETAIL_HAVE_PAIR
#undef QUERY_DETAIL_HAVE_PAIR_OR_EQUAL
#undef QUERY_DETAIL_HAVE_RUN
#undef QUERY_DETAIL_HAVE_DESCRIBED
#undef QUERY_DETAIL_HAVE_EQUAL
#undef QUERY_DETAIL_HAVE_SEED
#undef QUERY_DETAIL_OR_EQUAL
#undef QUERY_DETAIL_KEY_OF_GROUP
#undef QUERY_DETAIL_NO_FRACTION

}  // namespace query::check
