// form: from_trips.sum(at_of)
// message: query: sum: these values are times. Of times there are min, max, first and last; sum takes numbers
// expect: query: sum: these values are times. Of times there are min, max, first and last; sum takes numbers
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.sum(at_of)); }
