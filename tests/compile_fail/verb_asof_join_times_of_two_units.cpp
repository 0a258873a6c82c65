// form: from_trades.asof_join(from_trades, in_seconds, in_days)
// message: query: asof_join: the times have different types
// expect: query: asof_join: the times have different types
// expect-at-most: 1
#include "verb_rows.hpp"

#include <chrono>

#include <query/times.hpp>

void f() {
  const auto in_seconds = [](auto t) { return query::make_time<std::chrono::sys_seconds>(2024, 1, t.qty); };
  const auto in_days = [](auto t) { return query::make_time<std::chrono::sys_days>(2024, 1, t.qty); };
  (void)(from_trades.asof_join(from_trades, in_seconds, in_days).count());
}
