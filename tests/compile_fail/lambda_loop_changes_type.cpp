// form: query::loop(t.qty, c, [](auto i) { return i * 0.5; })
// message: query::loop(state, condition, step): step must give the type of the state; begin with a state of the type that step gives
// expect: query::loop(state, condition, step): step must give the type of the state
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return query::loop(t.qty, [](auto i) { return i > 1; }, [](auto i) { return i * 0.5; }); });
}
