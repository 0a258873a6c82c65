// The queries that count the rows of named filters (query/report.hpp).
//
// Filters and projections that follow each other, and all of which trace, are one expression: the number of filters that a row passes. A
// query groups rows by that number, so one pass over the rows counts for all of these filters. After any other verb, and after a function
// that does not trace, a new such query begins with the rows as they are there. The queries run together, so they share what lies below.
//
//   where(a).named("a"), select(f), where(b), where(opaque).named("c"), where(d).named("d")
//     part 0: rows of the source by a ? (b(f) ? 2 : 1) : 0      the rows of "a", and those that "c" reads
//     part 1: rows after where(opaque) by d ? 1 : 0             the rows that "c" keeps, and those of "d"
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <query/detail/together.hpp>

namespace query::planner {

// Rows of a part that passed at least so many of its filters.
struct counted_rows {
  std::size_t part = 0, filters = 0;
};
struct counted_filter {
  std::string name, input;
  counted_rows in, passed;
  std::size_t first = 0;  // the first filter of the same input
};
struct filter_counts {
  using row = std::pair<std::int32_t, std::int64_t>;  // filters passed, rows
  std::vector<detail::part_of_run> parts;             // each gives such rows
  std::vector<counted_filter> filters;
};

// Throws user_error if there is no named filter, or one whose rows nothing can count.
filter_counts count_filters(const detail::pipe& rows, const detail::settings& s, detail::call_site at);

}  // namespace query::planner
