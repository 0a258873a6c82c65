// form: t.x + std::array<float, 3>{}
// message: query::operators: the arrays have different lengths
// expect: query::operators: the arrays have different lengths
#include "lambda_rows.hpp"

using namespace query::operators;
void f() {
  take<Trade>([](auto t) { return t.x + std::array<float, 3>{}; });
}
