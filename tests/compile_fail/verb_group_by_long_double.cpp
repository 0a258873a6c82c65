// form: numbers.group_by([](int x) { return static_cast<long double>(x); }).count()
// message: query: group_by: this key type has no description to compare and hash by. Use numbers of up to 64 bits, strings
// expect: query: group_by: this key type has no description to compare and hash by. Use numbers of up to 64 bits, strings
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.group_by([](int x) { return static_cast<long double>(x); }).count()); }
