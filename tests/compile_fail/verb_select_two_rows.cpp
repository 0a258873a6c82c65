// form: from_trades.select([](auto a, auto b) { return a.qty + b.qty; }).sum()
// message: the compiler: 'b' is no record: the second argument is the row's number, a std::int64_t
// expect-gcc: request for member
// expect-clang: member reference base type
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.select([](auto a, auto b) { return a.qty + b.qty; }).sum()); }
