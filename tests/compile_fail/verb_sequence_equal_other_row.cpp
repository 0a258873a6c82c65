// form: numbers.sequence_equal(from_trades)
// message: query: sequence_equal: both queries must have the same row type
// expect: query: sequence_equal: both queries must have the same row type
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.sequence_equal(from_trades)); }
