// form: QUERY_RECORD(Row, x, prices); where prices is a std::map
// message: QUERY_RECORD(Row): field 'prices' has a type that a record cannot hold. ...
// expect: QUERY_RECORD(Row): field 'prices' has a type that a record cannot hold
// expect-at-most: 1
#include <map>
#include <query/record.hpp>

struct Row {
  int x;
  std::map<int, double> prices;
};
QUERY_RECORD(Row, x, prices);
