// Groups with their rows, query::Group: made by every engine, and rows of the verbs behind.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

template <class K, class T> using flat = std::vector<std::pair<K, std::vector<T>>>;
template <class K, class T> flat<K, T> flattened(const std::vector<query::Group<K, T>>& groups) {
  flat<K, T> all;
  for (const auto& g : groups) all.emplace_back(g.key(), g.rows());
  return all;
}
void expect_there(const engine_config& e, const std::string& plan) {
  if (!e.accelerate) return;
  EXPECT_TRUE(planned_there(plan));
}

CONFORMS(whole_groups, hold_their_rows_in_order, "group_by.groups", "as_ordered") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto by_key = source(e, d.rows).group_by([](auto t) { return t.key; }).groups().as_ordered();
    expect_there(e, by_key.explain());
    EXPECT_ROWS(flattened(by_key.to_vector()), grouped(d.rows, [](const trade& t) { return t.key; }));
    const auto by_lot = source(e, d.rows).group_by([](auto t) { return t.lot; }).groups().as_ordered();
    EXPECT_ROWS(flattened(by_lot.to_vector()), grouped(d.rows, [](const trade& t) { return t.lot; }));
    const auto by_name = source(e, d.rows).group_by([](auto t) { return std::make_pair(t.name, t.hot); }).groups().as_ordered();
    EXPECT_ROWS(flattened(by_name.to_vector()), grouped(d.rows, [](const trade& t) { return std::pair(t.name, t.hot); }));
  }
}

CONFORMS(whole_groups, of_many_rows, "group_by.groups", "as_ordered") {
  const auto& rows = many_ticks();
  const auto groups = source(e, rows).where([](auto t) { return t.amount > 0; }).group_by([](auto t) { return t.key; }).groups();
  expect_there(e, groups.explain());
  const auto wanted = grouped(kept(rows, [](const tick& t) { return t.amount > 0; }), [](const tick& t) { return t.key; });
  EXPECT_ROWS(flattened(groups.as_ordered().to_vector()), wanted);
  EXPECT_EQ(groups.count(), static_cast<std::int64_t>(wanted.size()));
}

CONFORMS(whole_groups, are_rows_of_verbs_behind, "group_by.groups", "take", "skip", "reverse", "concat", "as_ordered") {
  const auto& rows = few_trades();
  const auto wanted = grouped(rows, [](const trade& t) { return t.key; });
  const auto groups = source(e, rows).group_by([](auto t) { return t.key; }).groups().as_ordered();
  const auto part = [&](std::size_t from, std::size_t n) {
    return flat<std::int32_t, trade>(wanted.begin() + std::min(from, wanted.size()), wanted.begin() + std::min(from + n, wanted.size()));
  };
  expect_there(e, groups.skip(2).explain());
  EXPECT_ROWS(flattened(groups.take(3).to_vector()), part(0, 3));
  EXPECT_ROWS(flattened(groups.skip(2).to_vector()), part(2, wanted.size()));
  auto backwards = wanted;
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_ROWS(flattened(groups.reverse().to_vector()), backwards);
  auto twice = wanted;
  twice.insert(twice.end(), wanted.begin(), wanted.end());
  EXPECT_ROWS(flattened(groups.concat(groups).to_vector()), twice);
  EXPECT_EQ(groups.count(), static_cast<std::int64_t>(wanted.size()));
  // Tested where the device made them, and then fetched.
  std::vector<std::size_t> sizes, wanted_sizes;
  const auto large = groups.where([](const auto& g) { return g.count() > 2; });
  expect_there(e, large.explain());
  for (const auto& g : large.to_vector()) sizes.push_back(g.size());
  for (const auto& [key, own] : wanted)
    if (own.size() > 2) wanted_sizes.push_back(own.size());
  EXPECT_EQ(sizes, wanted_sizes);
}

}  // namespace
}  // namespace conformance
