// The work of sequence_equal: two queries, or a query and a range, row by row, until they differ.
#pragma once

#include <cstddef>

#include <query/detail/visit_rows.hpp>
#include <query/session.hpp>

namespace query::detail {

template <class T, class Left, class Right, class Equal>
bool same_rows(const Left& left, const Right& right, const Equal& equal, const reading_verb& verb) {
  const division_scope checks(checks_functions(left.run_settings()));
  auto a = open_cursor(left.to_pipe(), stopped_by_both(left.run_settings(), right.run_settings()), verb.name, verb.at);
  auto b = open_cursor(right.to_pipe(), stopped_by_both(right.run_settings(), left.run_settings()), verb.name, verb.at);
  row_block x, y;
  std::size_t i = 0, j = 0;
  bool same = true, more = true;
  while (same && more) {
    bool more_x = true, more_y = true;
    while (i == x.n && (more_x = a->next(x))) i = 0;
    while (j == y.n && (more_y = b->next(y))) j = 0;
    more = i < x.n && j < y.n;
    if (!more) same = i == x.n && j == y.n && !more_x && !more_y;
    verb.placed([&] {
      const division_watch watch;
      for (; same && i < x.n && j < y.n; ++i, ++j) same = equal(static_cast<const T*>(x.rows)[i], static_cast<const T*>(y.rows)[j]);
      watch.check();
    });
  }
  a->finished();
  b->finished();
  return same;
}

template <class T, class Query, class Range, class Equal>
bool same_rows_as_range(const Query& q, const Range& range, const Equal& equal, const reading_verb& verb) {
  const division_scope checks(checks_functions(q.run_settings()));
  auto it = range.begin();
  auto c = open_cursor(q.to_pipe(), q.run_settings(), verb.name, verb.at);
  row_block b;
  bool same = true;
  while (same && c->next(b))
    verb.placed([&] {
      const division_watch watch;
      for (std::size_t i = 0; same && i < b.n; ++i) same = it != range.end() && equal(static_cast<const T*>(b.rows)[i], *it++);
      watch.check();
    });
  c->finished();
  return same && it == range.end();
}

}  // namespace query::detail
