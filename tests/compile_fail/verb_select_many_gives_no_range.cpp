// form: from_trades.select_many([](auto t) { return t.qty; }).to_vector()
// message: query: select_many: the function must give a range, such as a std::vector. For one row a row there is select
// expect: query: select_many: the function must give a range, such as a std::vector. For one row a row there is select
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.select_many([](auto t) { return t.qty; }).to_vector()); }
