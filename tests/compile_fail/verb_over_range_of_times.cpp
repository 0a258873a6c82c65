// form: from_trips.over(name_of).order_by(at_of).select([](auto, auto w) { return w.range(-60, 0).count(); }).count()
// message: query: over: range(from, to) over an order by times or durations takes durations: w.range(-std::chrono::minutes(5), std::chrono::minutes(0))
// expect: query: over: range(from, to) over an order by times or durations takes durations
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.over(name_of).order_by(at_of).select([](auto, auto w) { return w.range(-60, 0).count(); }).count()); }
