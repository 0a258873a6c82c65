// form: from_trips.where([](auto t) { return query::like(t.note, "a%"); }).count()
// message: query: like: the text is a std::optional. Give t.note.value_or(
// expect: query: like: the text is a std::optional. Give t.note.value_or(
// expect-at-most: 1
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.where([](auto t) { return query::like(t.note, "a%"); }).count()); }
