// form: from_trades.asof_join(from_trades, signed_time, unsigned_time)
// message: query: asof_join: a std::uint64_t and a signed integer have no type that holds both
// expect: query: asof_join: a std::uint64_t and a signed integer have no type that holds both
// expect-at-most: 1
#include "verb_rows.hpp"

void f() {
  const auto unsigned_time = [](auto t) { return query::cast<std::uint64_t>(t.qty); };
  (void)(from_trades.asof_join(from_trades, symbol_of, unsigned_time).count());
}
