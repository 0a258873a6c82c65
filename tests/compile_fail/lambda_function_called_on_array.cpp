// form: { return first(t.x); } with float first(const std::array<float, 8>&)
// message: the compiler: no conversion to std::array. Make the helper generic: auto first(const auto& a)
// expect-gcc: invalid initialization of reference of type
// expect-clang: no matching function for call to 'first'
#include "lambda_rows.hpp"

float first(const std::array<float, 8>& a) { return a[0]; }
void f() {
  take<Trade>([](auto t) { return first(t.x); });
}
