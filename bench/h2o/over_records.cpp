// The questions over vectors of records.
#include <deque>
#include <tuple>
#include <utility>

#include "h2o/questions_of_tables.hpp"

namespace h2o {

namespace {

template <class T> std::vector<T> records(query::columns_of<T>& table) {
  std::vector<T> rows;
  std::apply([&](auto&... field) {
    const std::size_t n = std::get<0>(table.fields).size();
    rows.reserve(n);
    for (std::size_t i = 0; i < n; ++i) rows.push_back(T{std::move(field[i])...});
    (std::remove_reference_t<decltype(field)>().swap(field), ...);
  }, table.fields);
  return rows;
}

}  // namespace

std::vector<question> over_records(tables& t) {
  struct vectors {
    std::vector<G> g;
    std::vector<X> x;
    std::vector<Small> small;
    std::vector<Medium> medium;
    std::vector<Big> big;
  };
  static std::deque<vectors> kept;  // queries read them where they lie
  const vectors& v = kept.emplace_back(vectors{records(t.g), records(t.x), records(t.small), records(t.medium), records(t.big)});
  return questions(query::from(v.g), query::from(v.x), query::from(v.small), query::from(v.medium), query::from(v.big));
}

}  // namespace h2o
