// form: from_trips.over(name_of).order_by(at_of).select([](auto, auto w) { return w.range(std::chrono::nanoseconds(-1), std::chrono::nanoseconds(0)).sum(seats_of); }).count()
// message: query: over: range(from, to): a bound has a finer unit than the key of the order, or a fraction of it. Round it, std::chrono::floor<std::chrono::seconds>(bound)
// expect: query: over: range(from, to): a bound has a finer unit than the key of the order
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.over(name_of).order_by(at_of).select([](auto, auto w) { return w.range(std::chrono::nanoseconds(-1), std::chrono::nanoseconds(0)).sum(seats_of); }).count()); }
