// Joins, pairs and sets whose results hold strings: an engine that claims them must not hand them to another one.
#include <map>
#include <set>
#include <string_view>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

using named = std::tuple<std::string, std::string, std::int64_t>;

template <class Q> auto rows_of(const engine_config& e, const Q& q) {
  if (e.accelerate) {
    EXPECT_TRUE(planned_there(q.explain()));
  }
  return q.to_vector();
}

CONFORMS(owning_results, of_joins, "join", "semi_join", "anti_join", "cross_join", "as_ordered") {
  const auto& left = few_trades();
  for (const auto& d : rates()) {
    SCOPED_TRACE(d.name);
    std::vector<named> inner, pairs;
    std::vector<trade> with, without;
    for (const trade& t : left) {
      bool met = false;
      for (const rate& r : d.rows)
        if (r.key == t.key) {
          met = true;
          inner.emplace_back(t.name, r.name, r.factor);
        }
      (met ? with : without).push_back(t);
      if (t.id < 40)
        for (const rate& r : d.rows) pairs.emplace_back(t.name, r.name, r.factor);
    }
    const auto a = source(e, left);
    const auto b = a.where([](auto t) { return t.id < 40; });
    const auto r = source(e, d.rows);
    const auto key = [](auto t) { return t.key; };
    const auto both = [](auto t, auto s) { return std::make_tuple(t.name, s.name, s.factor); };
    EXPECT_ROWS(rows_of(e, a.join(r, key, key, both).as_ordered()), inner);
    EXPECT_ROWS(rows_of(e, a.semi_join(r, key, key).as_ordered()), with);
    EXPECT_ROWS(rows_of(e, a.anti_join(r, key, key).as_ordered()), without);
    EXPECT_ROWS(rows_of(e, b.cross_join(r, both)), pairs);
  }
}

// A view among a container's template arguments is not one among its values.
CONFORMS(owning_results, of_containers_with_an_order_of_views, "select") {
  using counts = std::map<std::string, std::int32_t, std::less<std::string_view>>;
  const auto of = [](const trade& t) { return counts{{t.name, t.key}}; };
  std::vector<counts> wanted;
  for (const trade& t : few_trades()) wanted.push_back(of(t));
  EXPECT_TRUE(source(e, few_trades()).select(of).to_vector() == wanted);
}

CONFORMS(owning_results, of_sets, "distinct_by", "union_with_by", "except_by", "as_ordered") {
  const auto& rows = few_trades();
  const auto name = [](auto t) { return t.name; };
  const auto small = kept(rows, [](const trade& t) { return t.id % 5 == 0; });
  std::vector<trade> firsts, others;
  std::set<std::string> seen, in_small;
  for (const trade& t : small) in_small.insert(t.name);
  for (const trade& t : rows)
    if (seen.insert(t.name).second) {
      firsts.push_back(t);
      if (!in_small.contains(t.name)) others.push_back(t);
    }
  EXPECT_ROWS(rows_of(e, source(e, rows).distinct_by(name).as_ordered()), firsts);
  EXPECT_ROWS(rows_of(e, source(e, rows).union_with_by(source(e, small), name).as_ordered()), firsts);
  EXPECT_ROWS(rows_of(e, source(e, rows).except_by(source(e, small), name).as_ordered()), others);
}

}  // namespace
}  // namespace conformance
