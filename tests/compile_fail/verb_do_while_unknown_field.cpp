// form: numbers.do_while([](auto q) { return q.prize; }, query::times(2)).to_vector()
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.do_while([](auto q) { return q.prize; }, query::times(2)).to_vector()); }
