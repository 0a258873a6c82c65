// form: from_trips.mean(at_of)
// message: query: mean: these values are times. Of times there are min, max, first and last; mean takes numbers
// expect: query: mean: these values are times. Of times there are min, max, first and last; mean takes numbers
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.mean(at_of)); }
