// One error says so, not the hundreds of a header that an older standard cannot read.
// expect-flag: -std=c++17
// expect: query: this is C++20: compile with -std=c++20
// expect-at-most: 1
#include <query/query.hpp>
