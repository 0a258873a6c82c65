// form: from_trades.select([](auto t) { return std::make_unique<double>(t.price); }).to_vector()
// message: query: select: these rows cannot be copied, as a std::unique_ptr or what holds one, and queries copy rows
// expect: query: select: these rows cannot be copied, as a std::unique_ptr or what holds one, and queries copy rows
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>

void f() { (void)(from_trades.select([](auto t) { return std::make_unique<double>(t.price); }).to_vector()); }
