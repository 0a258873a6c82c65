// What a verb gives after its error, so that one mistake is one error.
//
//   if constexpr (!check::where::tests<F, T>()) return check::after_error{};
#pragma once

#include <type_traits>

namespace query {

struct csv_options;
struct json_options;

namespace check {

// What a verb gives after its error: it has every verb and becomes whatever it is assigned to.
struct after_error {
  // Defined, all of it: g++ complains of what is used with a lambda's type and never defined.
  template <class X> operator X() const { __builtin_unreachable(); }  // NOLINT: implicit, it has to fit everywhere
#define QUERY_DETAIL_VERB(name) template <class... A> after_error name(const A&...) const { return {}; }
  QUERY_DETAIL_VERB(where) QUERY_DETAIL_VERB(select) QUERY_DETAIL_VERB(select_many) QUERY_DETAIL_VERB(group_by)
  QUERY_DETAIL_VERB(aggregate) QUERY_DETAIL_VERB(count_by) QUERY_DETAIL_VERB(join) QUERY_DETAIL_VERB(left_join)
  QUERY_DETAIL_VERB(order_by) QUERY_DETAIL_VERB(order_by_descending) QUERY_DETAIL_VERB(then_by) QUERY_DETAIL_VERB(then_by_descending)
  QUERY_DETAIL_VERB(take) QUERY_DETAIL_VERB(skip) QUERY_DETAIL_VERB(distinct) QUERY_DETAIL_VERB(values) QUERY_DETAIL_VERB(groups)
  QUERY_DETAIL_VERB(keys) QUERY_DETAIL_VERB(as_ordered) QUERY_DETAIL_VERB(as_query) QUERY_DETAIL_VERB(to_vector)
  QUERY_DETAIL_VERB(for_each) QUERY_DETAIL_VERB(count) QUERY_DETAIL_VERB(sum) QUERY_DETAIL_VERB(min) QUERY_DETAIL_VERB(max)
  QUERY_DETAIL_VERB(average) QUERY_DETAIL_VERB(mean) QUERY_DETAIL_VERB(first) QUERY_DETAIL_VERB(first_or_none)
  QUERY_DETAIL_VERB(single) QUERY_DETAIL_VERB(any) QUERY_DETAIL_VERB(print) QUERY_DETAIL_VERB(explain)
  QUERY_DETAIL_VERB(to_map) QUERY_DETAIL_VERB(to_lookup) QUERY_DETAIL_VERB(at) QUERY_DETAIL_VERB(size) QUERY_DETAIL_VERB(contains)
  QUERY_DETAIL_VERB(find) QUERY_DETAIL_VERB(zip) QUERY_DETAIL_VERB(concat) QUERY_DETAIL_VERB(append) QUERY_DETAIL_VERB(prepend)
  QUERY_DETAIL_VERB(chunk) QUERY_DETAIL_VERB(window) QUERY_DETAIL_VERB(reverse) QUERY_DETAIL_VERB(top) QUERY_DETAIL_VERB(in)
  QUERY_DETAIL_VERB(verify) QUERY_DETAIL_VERB(named) QUERY_DETAIL_VERB(cached) QUERY_DETAIL_VERB(do_while) QUERY_DETAIL_VERB(reduce)
  QUERY_DETAIL_VERB(to_columns) QUERY_DETAIL_VERB(last) QUERY_DETAIL_VERB(last_or_none) QUERY_DETAIL_VERB(all) QUERY_DETAIL_VERB(min_by)
  QUERY_DETAIL_VERB(max_by) QUERY_DETAIL_VERB(semi_join) QUERY_DETAIL_VERB(anti_join) QUERY_DETAIL_VERB(right_join)
  QUERY_DETAIL_VERB(full_join) QUERY_DETAIL_VERB(group_join) QUERY_DETAIL_VERB(cross_join) QUERY_DETAIL_VERB(union_with)
  QUERY_DETAIL_VERB(intersect) QUERY_DETAIL_VERB(except) QUERY_DETAIL_VERB(distinct_by) QUERY_DETAIL_VERB(element_at)
  QUERY_DETAIL_VERB(describe) QUERY_DETAIL_VERB(table) QUERY_DETAIL_VERB(timeout) QUERY_DETAIL_VERB(stop_on) QUERY_DETAIL_VERB(on_progress)
  QUERY_DETAIL_VERB(as_accelerated) QUERY_DETAIL_VERB(take_while) QUERY_DETAIL_VERB(skip_while) QUERY_DETAIL_VERB(take_last)
  QUERY_DETAIL_VERB(skip_last) QUERY_DETAIL_VERB(index) QUERY_DETAIL_VERB(apply) QUERY_DETAIL_VERB(order) QUERY_DETAIL_VERB(aggregate_by)
  QUERY_DETAIL_VERB(first_or_default) QUERY_DETAIL_VERB(last_or_default) QUERY_DETAIL_VERB(single_or_default) QUERY_DETAIL_VERB(stddev)
  QUERY_DETAIL_VERB(element_at_or_default) QUERY_DETAIL_VERB(variance) QUERY_DETAIL_VERB(median) QUERY_DETAIL_VERB(quantile)
  QUERY_DETAIL_VERB(collect) QUERY_DETAIL_VERB(count_distinct) QUERY_DETAIL_VERB(arg_min) QUERY_DETAIL_VERB(arg_max) QUERY_DETAIL_VERB(key)
  QUERY_DETAIL_VERB(union_with_by) QUERY_DETAIL_VERB(intersect_by) QUERY_DETAIL_VERB(except_by) QUERY_DETAIL_VERB(sequence_equal)
  QUERY_DETAIL_VERB(as_type) QUERY_DETAIL_VERB(sample) QUERY_DETAIL_VERB(default_if_empty) QUERY_DETAIL_VERB(order_descending)
  QUERY_DETAIL_VERB(require_gpu) QUERY_DETAIL_VERB(on) QUERY_DETAIL_VERB(fork) QUERY_DETAIL_VERB(apply_all) QUERY_DETAIL_VERB(partitioned)
  QUERY_DETAIL_VERB(hash_partitioned_by) QUERY_DETAIL_VERB(range_partitioned_by) QUERY_DETAIL_VERB(explain_dot) QUERY_DETAIL_VERB(get)
  QUERY_DETAIL_VERB(fast_math) QUERY_DETAIL_VERB(to_vectors) QUERY_DETAIL_VERB(has_value) QUERY_DETAIL_VERB(value)
  QUERY_DETAIL_VERB(value_or) QUERY_DETAIL_VERB(explain_json) QUERY_DETAIL_VERB(write_binary) QUERY_DETAIL_VERB(over)
  QUERY_DETAIL_VERB(slice) QUERY_DETAIL_VERB(shuffle) QUERY_DETAIL_VERB(of_type) QUERY_DETAIL_VERB(to_set) QUERY_DETAIL_VERB(try_count)
  QUERY_DETAIL_VERB(elements) QUERY_DETAIL_VERB(asof_join) QUERY_DETAIL_VERB(join_where) QUERY_DETAIL_VERB(approx_count_distinct)
  QUERY_DETAIL_VERB(approx_quantile) QUERY_DETAIL_VERB(top_k_frequent) QUERY_DETAIL_VERB(unpivot) QUERY_DETAIL_VERB(pivot)
  QUERY_DETAIL_VERB(to_pivot) QUERY_DETAIL_VERB(columns)
#undef QUERY_DETAIL_VERB
  // Of options in braces no type is deduced.
  template <class Path, class Options = csv_options> after_error write_csv(const Path&, const Options&) const { return {}; }
  template <class Path, class Options = json_options> after_error write_json_lines(const Path&, const Options&) const { return {}; }
  const after_error& operator*() const { return *this; }
  const after_error* operator->() const { return this; }
  const after_error* begin() const { return this; }
  const after_error* end() const { return this; }
  // Else what it converts to makes every << of a stream ambiguous.
  template <class S> friend S& operator<<(S& to, const after_error&) { return to; }
  // As an operand it would convert to too many types, and each operator of these would be an error.
#define QUERY_DETAIL_OPERATOR(op)                                                                                                         \
  template <class X> friend after_error operator op(const after_error&, const X&) { return {}; }                                          \
  template <class X> requires(!std::is_same_v<X, after_error>) friend after_error operator op(const X&, const after_error&) { return {}; }
  QUERY_DETAIL_OPERATOR(+) QUERY_DETAIL_OPERATOR(-) QUERY_DETAIL_OPERATOR(*) QUERY_DETAIL_OPERATOR(/) QUERY_DETAIL_OPERATOR(%)
  QUERY_DETAIL_OPERATOR(<) QUERY_DETAIL_OPERATOR(>) QUERY_DETAIL_OPERATOR(<=) QUERY_DETAIL_OPERATOR(>=) QUERY_DETAIL_OPERATOR(==)
  QUERY_DETAIL_OPERATOR(!=)
#undef QUERY_DETAIL_OPERATOR
};

}  // namespace check
}  // namespace query
