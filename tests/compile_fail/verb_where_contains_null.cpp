// form: from_trips.where([](auto t) { return query::contains(t.name, t.note); }).count()
// message: query: contains: the text is a std::optional. Give t.note.value_or(
// expect: query: contains: the text is a std::optional. Give t.note.value_or(
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.where([](auto t) { return query::contains(t.name, t.note); }).count()); }
