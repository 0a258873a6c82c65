// form: from_trades.chunk(3, [](const Trade& t) { return t.qty; }).sum()
// message: query: chunk: the function must take a run of rows, std::span<const Row>
// expect: query: chunk: the function must take a run of rows, std::span<const Row>
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.chunk(3, [](const Trade& t) { return t.qty; }).sum()); }
