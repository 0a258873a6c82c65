// form: numbers.asof_join(numbers, wide, wide)
// message: query: asof_join: the times must be numbers
// expect: query: asof_join: the times must be numbers
// expect-at-most: 1
#include "verb_rows.hpp"

void f() {
  const auto wide = [](auto x) { return x * 2.0L; };
  (void)(numbers.asof_join(numbers, wide, wide).count());
}
