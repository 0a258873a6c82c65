// The questions over Arrow streams, as other libraries hand them over.
#include <query/arrow.hpp>

#include "h2o/questions_of_tables.hpp"

namespace h2o {

namespace {

template <class T> auto arrow(const query::columns_of<T>& table) {
  ArrowArrayStream stream{};
  query::to_arrow(query::from(query::columns(table)), &stream);
  return query::from_arrow<T>(&stream);
}

}  // namespace

std::vector<question> over_arrow(const tables& t) {
  return questions(arrow(t.g), arrow(t.x), arrow(t.small), arrow(t.medium), arrow(t.big));
}

}  // namespace h2o
