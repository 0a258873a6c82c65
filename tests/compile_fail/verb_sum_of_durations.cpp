// form: from_trips.sum(delay_of)
// message: query: sum: these values are durations. Give their numbers: sum([](auto t) { return t.delay.count(); })
// expect: query: sum: these values are durations. Give their numbers: sum([](auto t) { return t.delay.count(); })
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.sum(delay_of)); }
