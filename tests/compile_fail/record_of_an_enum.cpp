// form: QUERY_RECORD(Side, buy, sell); of an enum
// message: QUERY_RECORD(Side): takes a struct. Numbers and enums need none
// expect: QUERY_RECORD(Side): takes a struct. Numbers and enums need none
// expect-at-most: 1
#include <query/query.hpp>

enum class Side { buy, sell };
QUERY_RECORD(Side, buy, sell);
