// form: from_trips.over(name_of).order_by(seats_of).select([](auto, auto w) { return w.range(std::chrono::minutes(-1), std::chrono::minutes(0)).sum(seats_of); }).count()
// message: query: over: range(from, to) over an order by a number takes numbers, in its unit: w.range(-60, 0)
// expect: query: over: range(from, to) over an order by a number takes numbers, in its unit: w.range(-60, 0)
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.over(name_of).order_by(seats_of).select([](auto, auto w) { return w.range(std::chrono::minutes(-1), std::chrono::minutes(0)).sum(seats_of); }).count()); }
