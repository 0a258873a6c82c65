// form: from_trips.group_by(name_of).select([](auto g) { return *g.mean(seats_of); }).to_vector()
// message: query: an aggregate of a group takes no `*`: leave it out
// expect: query: an aggregate of a group takes no `*`: leave it out
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.group_by(name_of).select([](auto g) { return *g.mean(seats_of); }).to_vector()); }
