// form: query::read_json_lines<Plain>("x.jsonl").to_vector()
// message: query: read_json_lines: the row type, or one of its fields, has no description
// expect: query: read_json_lines: the row type, or one of its fields, has no description
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::read_json_lines<Plain>("x.jsonl").to_vector()); }
