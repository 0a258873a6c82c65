// Verbs by the names that other libraries have for them: they do not compile, and say what they are called here.
//
//   trades.filter(f)   ->   error: query: filter: is called where: where([](auto t) { return t.qty > 100; })
#pragma once

#include <query/detail/after_error.hpp>

namespace query::verbs {

// A base of every query: no template, so that it is read once. Its members are templates, whose text is looked at where they are called.
class names_elsewhere {
 public:
#define QUERY_DETAIL_CALLED(name, text)                             \
  template <class... A> check::after_error name(const A&...) const { \
    static_assert(sizeof...(A) > 99, "query: " #name ": " text);    \
    return {};                                                      \
  }
#define QUERY_DETAIL_MORE_FIELDS \
  "rows get more fields by select: select([](auto t) { return query::make<Out>(t.id, t.price * t.qty); })"
  QUERY_DETAIL_CALLED(filter, "is called where: where([](auto t) { return t.qty > 100; })")
  QUERY_DETAIL_CALLED(map, "is called select: select([](auto t) { return t.price; })")
  QUERY_DETAIL_CALLED(transform, "is called select: select([](auto t) { return t.price; })")
  QUERY_DETAIL_CALLED(flat_map, "is called select_many: select_many([](const auto& t) { return t.items; })")
  QUERY_DETAIL_CALLED(sort, "is called order_by: order_by([](auto t) { return t.price; }); of values: order()")
  QUERY_DETAIL_CALLED(sort_by, "is called order_by: order_by([](auto t) { return t.price; })")
  QUERY_DETAIL_CALLED(fold, "is called aggregate: aggregate(seed, update, combine)")
  QUERY_DETAIL_CALLED(limit, "is called take: take(10)")
  QUERY_DETAIL_CALLED(head, "is called take: take(10)")
  QUERY_DETAIL_CALLED(tail, "is called take_last: take_last(10)")
  QUERY_DETAIL_CALLED(agg, "is called aggregate: aggregate([](auto g) { return g.sum([](auto t) { return t.price; }); }); of each group: "
                           "group_by(key).select([](auto g) { ... })")
  QUERY_DETAIL_CALLED(with_columns, QUERY_DETAIL_MORE_FIELDS)
  QUERY_DETAIL_CALLED(assign, QUERY_DETAIL_MORE_FIELDS)
  QUERY_DETAIL_CALLED(mutate, QUERY_DETAIL_MORE_FIELDS)
  QUERY_DETAIL_CALLED(collect, "is called to_vector: to_vector(), or to_columns() for a vector of each field")
  QUERY_DETAIL_CALLED(to_list, "is called to_vector: to_vector()")
  QUERY_DETAIL_CALLED(drop, "is called skip: skip(10)")
  QUERY_DETAIL_CALLED(unique, "is called distinct: distinct(), or distinct_by([](auto t) { return t.symbol; })")
  QUERY_DETAIL_CALLED(reduce_by, "is called aggregate_by: aggregate_by(key, sum(f), count()), or group_by(key).select([](auto g) { "
                                 "return std::pair(g.key(), g.sum(f)); })")
  QUERY_DETAIL_CALLED(size, "a query does not know how many rows it gives before it runs. Write count(), which runs it, or "
                            "to_vector().size()")
  QUERY_DETAIL_CALLED(empty, "a query does not know whether it gives rows before it runs. Write !q.any(), which runs it")
#undef QUERY_DETAIL_MORE_FIELDS
#undef QUERY_DETAIL_CALLED
  template <class I> check::after_error operator[](const I&) const {
    static_assert(sizeof(I) == 0, "query: operator[]: a query has no rows before it runs. Write element_at(i), which runs it for one row, "
                                  "or to_vector() for all of them");
    return {};
  }
};

}  // namespace query::verbs
