// form: from_trips.select([](auto t) { return query::trim(t.note); }).to_vector()
// message: query: trim: the text is a std::optional. Give t.note.value_or(
// expect: query: trim: the text is a std::optional. Give t.note.value_or(
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.select([](auto t) { return query::trim(t.note); }).to_vector()); }
