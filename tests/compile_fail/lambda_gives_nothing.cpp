// form: { t.price * 2; }
// message: query: this function gives nothing. Return a value; for actions on rows there is for_each.
// expect: query: this function gives nothing
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { (void)(t.price * 2); });
}
