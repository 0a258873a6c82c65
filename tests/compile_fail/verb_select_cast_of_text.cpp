// form: from_trips.select([](auto t) { return query::cast<int>(t.name); }).to_vector()
// message: query: cast: text does not become a number by a cast. Write query::parse<int>(x).value_or(0)
// expect: query: cast: text does not become a number by a cast. Write query::parse<int>(x).value_or(0)
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.select([](auto t) { return query::cast<int>(t.name); }).to_vector()); }
