// form: { return is_large(t); } with bool is_large(const Trade&)
// message: the compiler: no conversion to const Trade&. Take the row as `const Trade& t`, or make the helper generic: bool is_large(const auto& t)
// expect-gcc: invalid initialization of reference of type
// expect-clang: no matching function for call to 'is_large'
#include "lambda_rows.hpp"

bool is_large(const Trade& t) { return t.qty > 3; }
void f() {
  take<Trade>([](auto t) { return is_large(t); });
}
