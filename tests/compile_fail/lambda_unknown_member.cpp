// form: { return t.box.width(); } with a member function of a record without QUERY_RECORD_MEMBERS
// message: the compiler: no member named 'width' in the fields of a traced Box. Describe the record by QUERY_RECORD_MEMBERS, with the member
// expect-gcc: query_record_Box<Box>::query_fields<query::detail::to_twin>
// expect-gcc: has no member named
// expect-clang: no member named 'width' in 'query_record_Box<Box>::query_fields<query::detail::to_twin>'
// expect-at-most: 1
#include "lambda_rows.hpp"

struct Box {
  double left, right;
  double width() const { return right - left; }
};
QUERY_RECORD(Box, left, right);
struct Parcel {
  int id;
  Box box;
};
QUERY_RECORD(Parcel, id, box);
void f() {
  take<Parcel>([](auto t) { return t.box.width(); });
}
