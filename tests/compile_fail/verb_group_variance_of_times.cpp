// form: from_trips.group_by(name_of).select([](auto g) { return g.variance(at_of); }).to_vector()
// message: query: variance: these values are times. Of times there are min, max, first and last; variance takes numbers
// expect: query: variance: these values are times. Of times there are min, max, first and last; variance takes numbers
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.group_by(name_of).select([](auto g) { return g.variance(at_of); }).to_vector()); }
