// form: query::from(trades.begin(), trades.end())
// message: query: from: takes one range. Of two iterators: from(std::span(first, last))
// expect: query: from: takes one range. Of two iterators: from(std::span(first, last))
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::from(trades.begin(), trades.end())); }
