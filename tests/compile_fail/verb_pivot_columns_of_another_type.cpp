// form: from_trades.pivot(symbol, qty, std::array{"one"}, aggregate)
// message: query: pivot: the values of the columns do not have the type that the function of the column gives
// expect: query: pivot: the values of the columns do not have the type that the function of the column gives
// expect-at-most: 1
#include "verb_rows.hpp"
#include <array>

void f() {
  (void)(from_trades.pivot([](const auto& t) { return t.symbol; }, [](const auto& t) { return t.qty; }, std::array{"one"},
                           [](auto g) { return g.count(); }).count());
}
