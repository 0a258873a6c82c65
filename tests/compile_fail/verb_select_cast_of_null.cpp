// form: from_trips.select([](auto t) { return query::cast<int>(t.note); }).to_vector()
// message: query: cast: the value is a std::optional. Say what a null means: query::cast<T>(x.value_or(0))
// expect: query: cast: the value is a std::optional. Say what a null means: query::cast<T>(x.value_or(0))
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.select([](auto t) { return query::cast<int>(t.note); }).to_vector()); }
