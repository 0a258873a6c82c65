// form: from_trips.select([](auto t) { return query::cast<std::string>(t.seats); }).to_vector()
// message: query: cast: a number does not become text by a cast. Write query::to_string(x)
// expect: query: cast: a number does not become text by a cast. Write query::to_string(x)
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.select([](auto t) { return query::cast<std::string>(t.seats); }).to_vector()); }
