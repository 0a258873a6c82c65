// form: from_trips.over(name_of).order_by(at_of).select([](auto, auto w) { return w.sum(at_of); }).count()
// message: query: over: sums, means and the like take numbers, not times
// expect: query: over: sums, means and the like take numbers, not times
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.over(name_of).order_by(at_of).select([](auto, auto w) { return w.sum(at_of); }).count()); }
