// The verbs of a query whose rows cannot be copied, such as std::unique_ptr: row-wise ones, and terminal ones that give no row. The
// others keep rows in tables or hand them out, and say so.
//
//   query::from(shapes).where([](const auto& s) { return s->visible(); }).sum([](const auto& s) { return s->area(); });
#pragma once

#include <query/verbs/terminals.hpp>

namespace query::verbs {

template <class Derived, class T> class uncopied : public terminals<Derived, T> {
 public:
#define QUERY_DETAIL_COPIES(verb)                                                                                                       \
  template <class... A> check::after_error verb(A&&...) const {                                                                         \
    static_assert(sizeof...(A) > 99, "query: " #verb ": copies rows, and rows of this type cannot be copied, as a std::unique_ptr. "    \
                                     "Give what is asked of them by select first, or rows that are pointers: "                          \
                                     "from(rows | std::views::transform([](const auto& r) { return r.get(); }))");                      \
    return {};                                                                                                                          \
  }
  QUERY_DETAIL_COPIES(group_by) QUERY_DETAIL_COPIES(count_by) QUERY_DETAIL_COPIES(aggregate_by) QUERY_DETAIL_COPIES(aggregate)
  QUERY_DETAIL_COPIES(reduce) QUERY_DETAIL_COPIES(join) QUERY_DETAIL_COPIES(left_join) QUERY_DETAIL_COPIES(right_join)
  QUERY_DETAIL_COPIES(full_join) QUERY_DETAIL_COPIES(semi_join) QUERY_DETAIL_COPIES(anti_join) QUERY_DETAIL_COPIES(group_join)
  QUERY_DETAIL_COPIES(cross_join) QUERY_DETAIL_COPIES(zip) QUERY_DETAIL_COPIES(order_by) QUERY_DETAIL_COPIES(order_by_descending)
  QUERY_DETAIL_COPIES(order) QUERY_DETAIL_COPIES(order_descending) QUERY_DETAIL_COPIES(then_by) QUERY_DETAIL_COPIES(then_by_descending)
  QUERY_DETAIL_COPIES(top) QUERY_DETAIL_COPIES(reverse) QUERY_DETAIL_COPIES(distinct) QUERY_DETAIL_COPIES(distinct_by)
  QUERY_DETAIL_COPIES(union_with) QUERY_DETAIL_COPIES(union_with_by) QUERY_DETAIL_COPIES(intersect) QUERY_DETAIL_COPIES(intersect_by)
  QUERY_DETAIL_COPIES(except) QUERY_DETAIL_COPIES(except_by) QUERY_DETAIL_COPIES(concat) QUERY_DETAIL_COPIES(append)
  QUERY_DETAIL_COPIES(prepend) QUERY_DETAIL_COPIES(take) QUERY_DETAIL_COPIES(skip) QUERY_DETAIL_COPIES(take_last)
  QUERY_DETAIL_COPIES(skip_last) QUERY_DETAIL_COPIES(take_while) QUERY_DETAIL_COPIES(skip_while) QUERY_DETAIL_COPIES(sample)
  QUERY_DETAIL_COPIES(default_if_empty) QUERY_DETAIL_COPIES(index) QUERY_DETAIL_COPIES(chunk) QUERY_DETAIL_COPIES(window)
  QUERY_DETAIL_COPIES(partitioned) QUERY_DETAIL_COPIES(hash_partitioned_by) QUERY_DETAIL_COPIES(range_partitioned_by)
  QUERY_DETAIL_COPIES(apply) QUERY_DETAIL_COPIES(apply_all) QUERY_DETAIL_COPIES(do_while) QUERY_DETAIL_COPIES(cached)
  QUERY_DETAIL_COPIES(checkpoint)
  QUERY_DETAIL_COPIES(fork) QUERY_DETAIL_COPIES(to_vector) QUERY_DETAIL_COPIES(to_lookup) QUERY_DETAIL_COPIES(first)
  QUERY_DETAIL_COPIES(first_or_none) QUERY_DETAIL_COPIES(first_or_default) QUERY_DETAIL_COPIES(last) QUERY_DETAIL_COPIES(last_or_none)
  QUERY_DETAIL_COPIES(last_or_default) QUERY_DETAIL_COPIES(single) QUERY_DETAIL_COPIES(single_or_default) QUERY_DETAIL_COPIES(element_at)
  QUERY_DETAIL_COPIES(element_at_or_default) QUERY_DETAIL_COPIES(min_by) QUERY_DETAIL_COPIES(max_by) QUERY_DETAIL_COPIES(asof_join)
  QUERY_DETAIL_COPIES(over) QUERY_DETAIL_COPIES(slice) QUERY_DETAIL_COPIES(shuffle) QUERY_DETAIL_COPIES(to_set)
  QUERY_DETAIL_COPIES(join_where) QUERY_DETAIL_COPIES(approx_count_distinct) QUERY_DETAIL_COPIES(approx_quantile)
  QUERY_DETAIL_COPIES(top_k_frequent) QUERY_DETAIL_COPIES(unpivot) QUERY_DETAIL_COPIES(pivot) QUERY_DETAIL_COPIES(to_pivot)
#undef QUERY_DETAIL_COPIES
  template <class F> bool any(F f, call_site at = call_site::here()) const {
    if constexpr (!check::any::predicate<F, T>()) return check::after_error{};
    else return static_cast<const Derived&>(*this).where(f, at, "any").select([](const T&) { return true; }, at, "any").any();
  }
  template <class F> bool all(F f, call_site at = call_site::here()) const {
    if constexpr (!check::all::predicate<F, T>()) return check::after_error{};
    else return static_cast<const Derived&>(*this).select(f, at, "all").all([](bool holds) { return holds; });
  }
  bool any() const { return this->count() > 0; }
};

}  // namespace query::verbs
