// form: from_trades.write_csv()
// message: query: write_csv: the path of the file is missing: write_csv(path)
// expect: query: write_csv: the path of the file is missing: write_csv(path)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.write_csv()); }
