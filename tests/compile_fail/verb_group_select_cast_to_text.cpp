// form: from_trips.group_by(name_of).select([](auto g) { return query::cast<std::string>(g.count()); }).to_vector()
// message: query: cast: a number does not become text by a cast. Write query::to_string(x)
// expect: query: cast: a number does not become text by a cast. Write query::to_string(x)
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.group_by(name_of).select([](auto g) { return query::cast<std::string>(g.count()); }).to_vector()); }
