// form: from_trades.semi_join(read_once(), symbol_of, itself)
// message: query: semi_join: the other rows must be a query, or what query::from takes: a container, or a range that can be read again
// expect: query: semi_join: the other rows must be a query, or what query::from takes: a container, or a range that can be read again
// expect-at-most: 1
#include "verb_rows.hpp"

struct read_once {
  read_once() = default;
  read_once(const read_once&) = delete;
  int* begin();
  int* end();
};

void f() { (void)(from_trades.semi_join(read_once(), symbol_of, [](auto x) { return x; })); }
