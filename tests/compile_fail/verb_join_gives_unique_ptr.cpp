// form: from_trades.join(from_stocks, symbol_of, symbol_of, [](auto, auto) { return std::make_unique<int>(3); }).to_vector()
// message: query: join: these rows cannot be copied, as a std::unique_ptr or what holds one, and queries copy rows
// expect: query: join: these rows cannot be copied, as a std::unique_ptr or what holds one, and queries copy rows
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>

void f() { (void)(from_trades.join(from_stocks, symbol_of, symbol_of, [](auto, auto) { return std::make_unique<int>(3); }).to_vector()); }
