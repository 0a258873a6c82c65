// form: from_trades.join_where(from_trades, condition, [](const Trade& l) { return l.qty; })
// message: query: join_where: the result function must take (left row, right row)
// expect: query: join_where: the result function must take (left row, right row)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() {
  const auto condition = [](const auto& l, const auto& r) { return l.qty < r.qty; };
  (void)(from_trades.join_where(from_trades, condition, [](const Trade& l) { return l.qty; }).count());
}
