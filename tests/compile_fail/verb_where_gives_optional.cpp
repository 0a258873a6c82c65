// form: from_trades.where([](auto t) { return t.qty > 3 ? std::optional(t.price > 2) : std::nullopt; }).count()
// message: query: where: the predicate gives a std::optional and must give bool. Say what a null means: `t.flag.value_or(false)`
// expect: query: where: the predicate gives a std::optional and must give bool. Say what a null means: `t.flag.value_or(false)`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.where([](auto t) { return t.qty > 3 ? std::optional(t.price > 2) : std::nullopt; }).count()); }
