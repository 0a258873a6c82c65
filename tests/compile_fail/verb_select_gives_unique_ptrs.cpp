// form: from_trades.select([](const Trade&) { return std::vector<std::unique_ptr<int>>(); }).order_by(symbol_of)
// message: query: select: these rows cannot be copied, as a std::unique_ptr or what holds one, and queries copy rows
// expect: query: select: these rows cannot be copied, as a std::unique_ptr or what holds one, and queries copy rows
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>

void f() { (void)(from_trades.select([](const Trade&) { return std::vector<std::unique_ptr<int>>(); }).order_by(symbol_of)); }
