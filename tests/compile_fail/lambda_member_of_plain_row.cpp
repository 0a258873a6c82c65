// form: { return t.box.inside(t.other); } with bool inside(const Box&) in QUERY_RECORD_MEMBERS
// message: the compiler: no conversion to const Box&. Take records as `const auto&`
// expect-gcc: cannot convert
// expect-clang: no viable conversion from
// expect-at-most: 1
#include "lambda_rows.hpp"
#include <query/members.hpp>

struct Box {
  double left, right;
  QUERY_RECORD_MEMBERS(Box, (left, right),
    bool inside(const Box& b) const { return b.left <= left && right <= b.right; }
  )
};
struct Parcel {
  Box box, other;
};
QUERY_RECORD(Parcel, box, other);
void f() {
  take<Parcel>([](auto p) { return p.box.inside(p.other); });
}
