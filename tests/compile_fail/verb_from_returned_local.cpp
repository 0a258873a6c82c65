// A query over a container that ends with the function: clang sees it, where the query is returned as query::from gives it.
// expect-clang: address of stack memory associated with local variable 'rows' returned
// expect-gcc: g++ does not know what a result refers to
// expect-at-most: 1
#ifdef __clang__
#pragma clang diagnostic error "-Wreturn-stack-address"
#else
#error g++ does not know what a result refers to
#endif
#include "verb_rows.hpp"

query::Query<int> f() {
  std::vector<int> rows{1, 2};
  return query::from(rows);
}
