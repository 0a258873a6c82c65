// form: from_trades.apply_all([](std::span<const Trade>) {}).count()
// message: query: apply_all: the function gives nothing
// expect: query: apply_all: the function gives nothing
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.apply_all([](std::span<const Trade>) {}).count()); }
