// form: [](const Order& o) { return o.id; } over Trade
// message: query: this function cannot be called with `const Row&`. Take the row as `auto t`, `const auto& t` or `const Row& t`.
// expect: query: this function cannot be called with `const Row&`. Take the row as `auto t`
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](const Order& o) { return o.id; });
}
