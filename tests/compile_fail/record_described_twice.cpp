// form: QUERY_RECORD(Row, x, y); of a struct with QUERY_RECORD_MEMBERS
// message: the compiler: query_meta is declared twice
// expect: query_meta
#include <query/query.hpp>

struct Row {
  int x;
  double y;
  QUERY_RECORD_MEMBERS(Row, (x, y),
    auto sum() const { return x + y; }
  )
};
QUERY_RECORD(Row, x, y);
