// form: numbers.zip(owners)
// message: query: zip: these rows cannot be copied, as a std::unique_ptr or what holds one
// expect: query: zip: these rows cannot be copied, as a std::unique_ptr or what holds one
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>
inline const std::vector<std::unique_ptr<int>> owners;
inline const auto number = [](int x) { return x; };
inline const auto owned = [](const std::unique_ptr<int>& x) { return *x; };

void f() { (void)(numbers.zip(owners)); }
