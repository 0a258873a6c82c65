// form: from_trips.where([](auto t) -> bool { return t.at > "2024-01-01"; }).count()
// message: the compiler: no match for the operator, of the plain row; query: a time is compared with what is none. Give the time
// expect: query: a time is compared with what is none. Give the time: t.at > query::make_time<std::chrono::sys_seconds>(2024, 1, 1)
// expect-at-most: 2
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.where([](auto t) -> bool { return t.at > "2024-01-01"; }).count()); }
