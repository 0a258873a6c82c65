// form: from_trips.over(name_of).order_by(seats_of).select([](auto, auto w) { return w.range(std::chrono::minutes(-1), std::chrono::minutes(0)).sum(seats_of); }).count()
// message: query: over: range(from, to) takes numbers, not times or durations. Order by the time's number
// expect: query: over: range(from, to) takes numbers, not times or durations. Order by the time's number
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.over(name_of).order_by(seats_of).select([](auto, auto w) { return w.range(std::chrono::minutes(-1), std::chrono::minutes(0)).sum(seats_of); }).count()); }
