// Aggregates by name, for aggregate(...) forms: each is a function of a group.
//
//   using namespace query::aggregates;
//   trades.group_by(symbol).aggregate(sum([](auto t) { return t.qty; }), count(), max([](auto t) { return t.price; }))
//
// gives std::tuple<Key, std::int64_t, std::int64_t, double>. The same calls exist as members of `auto g` (query/group.hpp).
#pragma once

#include <utility>

namespace query::aggregates {

inline auto count() {
  return [](auto g) { return g.count(); };
}
#define QUERY_DETAIL_AGGREGATE(name)                   \
  template <class F> auto name(F f) {                  \
    return [f](auto g) { return g.name(f); };          \
  }
QUERY_DETAIL_AGGREGATE(sum)
QUERY_DETAIL_AGGREGATE(min)
QUERY_DETAIL_AGGREGATE(max)
QUERY_DETAIL_AGGREGATE(mean)
QUERY_DETAIL_AGGREGATE(variance)
QUERY_DETAIL_AGGREGATE(stddev)
QUERY_DETAIL_AGGREGATE(first)
QUERY_DETAIL_AGGREGATE(last)
QUERY_DETAIL_AGGREGATE(arg_min)
QUERY_DETAIL_AGGREGATE(arg_max)
QUERY_DETAIL_AGGREGATE(any)
QUERY_DETAIL_AGGREGATE(all)
QUERY_DETAIL_AGGREGATE(count_distinct)
QUERY_DETAIL_AGGREGATE(median)
QUERY_DETAIL_AGGREGATE(collect)
#undef QUERY_DETAIL_AGGREGATE
template <class F> auto count_if(F f) {
  return [f](auto g) { return g.count(f); };
}
template <class F, class Equal, class Hash> auto count_distinct(F f, Equal equal, Hash hash) {
  return [f, equal, hash](auto g) { return g.count_distinct(f, equal, hash); };
}
template <class F> auto quantile(F f, double q) {
  return [f, q](auto g) { return g.quantile(f, q); };
}

}  // namespace query::aggregates
