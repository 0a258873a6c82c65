// form: from_trips.group_by(name_of).select([](auto g) { return g.sum(at_of); }).to_vector()
// message: query: sum: these values are times. Of times there are min, max, first and last; sum takes numbers
// expect: query: sum: these values are times. Of times there are min, max, first and last; sum takes numbers
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.group_by(name_of).select([](auto g) { return g.sum(at_of); }).to_vector()); }
