// form: from_trades.contains(Trade{})
// message: query: contains: rows of this type have no ==. Give the record `bool operator==(const Row&) const = default`, or use any(predicate)
// expect: query: contains: rows of this type have no ==. Give the record `bool operator==(const Row&) const = default`, or use any(predicate)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.contains(Trade{})); }
