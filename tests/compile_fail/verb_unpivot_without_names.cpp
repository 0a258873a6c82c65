// form: from_trades.unpivot(symbol, [](const auto& t) { return t.qty; })
// message: query: unpivot: the fields have no names
// expect: query: unpivot: the fields have no names
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.unpivot([](const auto& t) { return t.symbol; }, [](const auto& t) { return t.qty; }).count()); }
