// form: from_trades.write_json_lines()
// message: query: write_json_lines: the path of the file is missing: write_json_lines(path)
// expect: query: write_json_lines: the path of the file is missing: write_json_lines(path)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.write_json_lines()); }
