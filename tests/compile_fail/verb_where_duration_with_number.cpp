// form: from_trips.where([](auto t) -> bool { return t.delay == 5; }).count()
// message: the compiler: no match for the operator, of the plain row; query: a duration is compared with what is none. Give its unit
// expect: query: a duration is compared with what is none. Give its unit: t.delay > std::chrono::minutes(5)
// expect-at-most: 2
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.where([](auto t) -> bool { return t.delay == 5; }).count()); }
