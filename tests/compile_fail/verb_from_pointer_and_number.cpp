// form: query::from(trades.data(), 3).count()
// message: query: from: takes one range. Of two iterators: from(std::span(first, last))
// expect: query: from: takes one range. Of two iterators: from(std::span(first, last))
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::from(trades.data(), 3).count()); }
