// report: the rows that each named filter of a query reads and keeps, as a table (a cut flow).
//
//   auto q = query::read_csv<Order>("orders.csv").where([](auto o) { return o.amount > 100; }).named("amount")
//                                                .where([](auto o) { return o.country == "NL"; }).named("country");
//   std::cout << query::report(q);
//
// Not part of query/query.hpp: include it where a program wants such a report. See docs/operators/report.md.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include <query/detail/plan.hpp>
#include <query/session.hpp>

namespace query {

struct filter_count {
  std::string name;              // as named() said
  std::string input;             // "input 2 of join": the rows of that input are filtered; empty: those that the query begins with
  std::int64_t rows_in = 0;      // that the filter was called for
  std::int64_t rows_passed = 0;  // for which it was true
  double percent = 0;            // rows_passed, of rows_in; 0 if there are none
  double cumulated = 0;          // rows_passed, of the rows that the first named filter of the same input read; 0 if there are none
};

struct filter_report {
  std::vector<filter_count> filters;  // from the source on; those of another input stand before the filters after its join, concat...
  // A table with a line for each filter.
  std::string to_string() const;
};
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& to, const filter_report& r) {
  return to << r.to_string();
}

namespace detail {
filter_report report_of(const pipe& p, const settings& s, call_site at);
}

// Runs the query and counts, for each filter with a name, the rows that it reads and those that it keeps. Filters are where(f), values()
// and of_type<U>(), if named() follows. A filter without a name filters and is left out, as are those of a loop's body and of captured
// queries.
//
// The counts are those of the query as it is written, whatever its plan is: those of count() before and after each filter. A verb after a
// filter does not change the filter's counts, so take(10) at the end of the query does not. All filters are counted in one run: files and
// generators are read once; sorts, groups and joins run once, and only if a named filter comes after them.
//
// Throws user_error for a query without a named filter, and for one whose named filter is compiled together with a function of row numbers
// before it (as_query() after that function helps); else what terminal verbs throw. O(rows) for each filter.
template <class Q>
  requires requires(const Q& q) { q.to_pipe(), q.run_settings(); }
filter_report report(const Q& q, detail::call_site at = detail::call_site::here()) {
  return detail::report_of(q.to_pipe(), q.run_settings(), at);
}

}  // namespace query
