// form: from_trades.apply([](const Trade& t) { return t.qty; }).count()
// message: query: apply: the function must take a run of rows, std::span<const Row>
// expect: query: apply: the function must take a run of rows, std::span<const Row>
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.apply([](const Trade& t) { return t.qty; }).count()); }
