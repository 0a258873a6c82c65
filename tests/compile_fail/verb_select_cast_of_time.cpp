// form: from_trips.select([](auto t) { return query::cast<int>(t.at); }).to_vector()
// message: query: cast: a time does not become a number by a cast. Write t.at.time_since_epoch().count()
// expect: query: cast: a time does not become a number by a cast. Write t.at.time_since_epoch().count()
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.select([](auto t) { return query::cast<int>(t.at); }).to_vector()); }
