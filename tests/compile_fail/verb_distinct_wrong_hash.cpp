// form: numbers.distinct([](int a, int b) { return a == b; }, [](int) { return std::string(); }).to_vector()
// message: query: distinct: the hash must take a key and give std::size_t: distinct(equal, hash)
// expect: query: distinct: the hash must take a key and give std::size_t: distinct(equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.distinct([](int a, int b) { return a == b; }, [](int) { return std::string(); }).to_vector()); }
