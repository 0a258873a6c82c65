// form: { auto h = [](std::floating_point auto v) { return v * 2; }; return h(t.price); }
// message: the compiler: constraints not satisfied. Leave the constraint out, or use query::opaque
// expect-gcc: no match for call to
// expect-clang: no matching function for call to object of type
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { auto h = [](std::floating_point auto v) { return v * 2; }; return h(t.price); });
}
