// form: QUERY_RECORD(Row, x, name); where name is a const char*
// message: QUERY_RECORD(Row): field 'name' has a type that a record cannot hold. Text is a std::string; ...
// expect: QUERY_RECORD(Row): field 'name' has a type that a record cannot hold. Text is a std::string; other fields are
// expect-at-most: 1
#include <query/record.hpp>

struct Row {
  int x;
  const char* name;
};
QUERY_RECORD(Row, x, name);
