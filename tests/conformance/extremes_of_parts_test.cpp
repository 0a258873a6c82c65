// The smallest and largest of pairs, tuples, arrays, lists and records: as sorts order them, NaNs and nulls among their parts too.
#include <algorithm>
#include <compare>
#include <limits>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"

namespace conformance {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct point {
  double x, y;
  auto operator<=>(const point&) const = default;
};
QUERY_RECORD(point, x, y);

// In all orders of the rows: the first of the sorts.
template <class T> void as_sorts(const engine_config& e, std::vector<T> rows) {
  std::vector<int> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const auto itself = [](auto r) { return r; };
  const T least = source(e, rows).order_by(itself).first(), most = source(e, rows).order_by_descending(itself).first();
  do {
    std::vector<T> shuffled;
    for (const int i : order) shuffled.push_back(rows[static_cast<std::size_t>(i)]);
    const auto q = source(e, shuffled);
    EXPECT_EQ(text(*q.min()), text(least));
    EXPECT_EQ(text(*q.max()), text(most));
    EXPECT_EQ(text(*q.min_by(itself)), text(least));
    EXPECT_EQ(text(*q.max_by(itself)), text(most));
    EXPECT_EQ(text(*q.reduce([](auto g) { return g.min(); })), text(least));
    const auto groups = q.group_by([](const T&) { return 1; }).select([=](auto g) { return std::pair(g.max(itself), g.arg_min(itself)); });
    EXPECT_EQ(text(groups.to_vector()), text(std::vector{std::pair(most, least)}));
    const auto whole = q.group_by([](const T&) { return 1; }).select([=](const query::Group<int, T>& g) { return g.min(itself); });
    EXPECT_EQ(text(whole.to_vector()), text(std::vector{least}));
  } while (std::next_permutation(order.begin(), order.end()));
}

CONFORMS(extremes_of_parts, are_the_first_of_sorts, "min", "max", "min_by", "max_by", "reduce", "group_by.select") {
  as_sorts<std::pair<double, int>>(e, {{nan, 1}, {1, 3}, {1, 2}, {nan, 0}});
  as_sorts<std::tuple<int, double, int>>(e, {{1, nan, 1}, {1, 5, 3}, {1, 5, 2}, {2, nan, 0}});
  as_sorts<std::array<double, 2>>(e, {{nan, 1}, {1, nan}, {1, 2}, {-1, nan}});
  as_sorts<std::pair<std::array<float, 2>, std::string>>(e, {{{1, static_cast<float>(nan)}, "a"}, {{1, 2}, "c"}, {{1, 2}, "b"}});
  as_sorts<std::pair<std::optional<double>, int>>(e, {{std::nullopt, 1}, {nan, 2}, {1, 3}, {2, 0}});
  as_sorts<std::pair<std::vector<double>, int>>(e, {{{1, nan}, 1}, {{1}, 2}, {{1, 0}, 3}, {{}, 0}});
  as_sorts<point>(e, {{nan, 1}, {1, nan}, {1, 2}, {0, nan}});
}

// Equal values: the first row, as ever.
CONFORMS(extremes_of_parts, of_equals_are_the_first, "min_by", "max_by") {
  using row = std::pair<int, double>;
  const std::vector<row> rows = {{1, nan}, {2, nan}, {3, 0.0}, {4, -0.0}};
  const auto key = [](auto r) { return std::pair(r.second, 1); };
  EXPECT_EQ(source(e, rows).min_by(key)->first, 3);
  EXPECT_EQ(source(e, rows).max_by(key)->first, 1);
}

}  // namespace
}  // namespace conformance
