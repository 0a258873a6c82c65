// form: { return std::bit_cast<std::uint64_t>(t.price); }
// message: the compiler: no matching function (a traced value has no bytes). Use query::opaque
// expect: no matching function for call to
#include "lambda_rows.hpp"

void f() {
  take<Trade>([](auto t) { return std::bit_cast<std::uint64_t>(t.price); });
}
