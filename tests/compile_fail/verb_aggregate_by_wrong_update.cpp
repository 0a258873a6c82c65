// form: from_trades.aggregate_by(symbol_of, 0, [](int s, std::string x) { return s + int(x.size()); }, [](int a, int b) { return a + b; }).to_vector()
// message: query: aggregate_by: update must take (state, row) and give the state's type
// expect: query: aggregate_by: update must take (state, row) and give the state's type
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.aggregate_by(symbol_of, 0, [](int s, std::string x) { return s + int(x.size()); }, [](int a, int b) { return a + b; }).to_vector()); }
