// form: { return distance(t.pos, Vec3{1, 2, 3}); } with template <class P> distance(const P&, const P&)
// message: the compiler: conflicting types deduced. Give the helper two template parameters, or use query::squared_distance
// expect: no matching function for call to
#include "lambda_rows.hpp"

template <class P> auto distance_of(const P& a, const P& b) { return a.x - b.x; }
void f() {
  take<Trade>([](auto t) { return distance_of(t.pos, Vec3{1, 2, 3}); });
}
