// form: numbers.sequence_equal(std::vector<int>(), [](int a) { return a; })
// message: query: sequence_equal: the equality must take two rows and give bool: sequence_equal(other, equal)
// expect: query: sequence_equal: the equality must take two rows and give bool: sequence_equal(other, equal)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.sequence_equal(std::vector<int>(), [](int a) { return a; })); }
