// form: from_trips.over(name_of).order_by(at_of).select([](auto, auto w) { return w.range(-60, 0).count(); }).count()
// message: query: over: range(from, to) takes numbers, not times or durations. Order by the time's number
// expect: query: over: range(from, to) takes numbers, not times or durations. Order by the time's number
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.over(name_of).order_by(at_of).select([](auto, auto w) { return w.range(-60, 0).count(); }).count()); }
