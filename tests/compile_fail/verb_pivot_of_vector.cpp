// form: from_trades.pivot(symbol, qty, std::vector{1, 2}, aggregate)
// message: query: pivot: the values of the columns are a std::array
// expect: query: pivot: the values of the columns are a std::array
// expect-at-most: 1
#include "verb_rows.hpp"

void f() {
  (void)(from_trades.pivot([](const auto& t) { return t.symbol; }, [](const auto& t) { return t.qty; }, std::vector{1, 2},
                           [](auto g) { return g.count(); }).count());
}
