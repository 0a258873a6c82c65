// form: query::read_binary<Trade>("x.bin").to_vector()
// message: query: read_binary: such files hold rows as they lie in memory
// expect: query: read_binary: such files hold rows as they lie in memory
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::read_binary<Trade>("x.bin").to_vector()); }
