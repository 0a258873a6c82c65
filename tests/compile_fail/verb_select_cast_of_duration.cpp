// form: from_trips.select([](auto t) { return query::cast<int>(t.delay); }).to_vector()
// message: query: cast: a duration does not become a number by a cast. Write t.delay.count()
// expect: query: cast: a duration does not become a number by a cast. Write t.delay.count()
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.select([](auto t) { return query::cast<int>(t.delay); }).to_vector()); }
