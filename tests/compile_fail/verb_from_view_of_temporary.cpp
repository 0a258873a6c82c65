// form: query::from(std::vector{1, 2} | std::views::filter(positive)).count()
// message: query: from: this range can be read only once, or only while it is not const and cannot be copied. Put its rows into a std::vector, or give a view of a container: from(rows | std::views::filter(f))
// expect: query: from: this range can be read only once, or only while it is not const and cannot be copied. Put its rows into a std::vector, or give a view of a container: from(rows | std::views::filter(f))
// expect-at-most: 1
#include "verb_rows.hpp"

// As a std::views::filter of a temporary is.
struct filtered_temporary {
  filtered_temporary() = default;
  filtered_temporary(filtered_temporary&&) = default;
  const int* begin() { return rows; }
  const int* end() { return rows + 2; }
  int rows[2] = {1, 2};
};

void f() { (void)(query::from(filtered_temporary()).count()); }
