// form: from_plains.write_json_lines("x.jsonl")
// message: query: write_json_lines: the row type, or one of its fields, has no description
// expect: query: write_json_lines: the row type, or one of its fields, has no description
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_plains.write_json_lines("x.jsonl")); }
