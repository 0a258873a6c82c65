// form: from_trips.over(name_of).order_by(at_of).select([](auto, auto w) { return w.rolling(3).mean(delay_of); }).count()
// message: query: over: means and the like take numbers, not durations
// expect: query: over: means and the like take numbers, not durations
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.over(name_of).order_by(at_of).select([](auto, auto w) { return w.rolling(3).mean(delay_of); }).count()); }
