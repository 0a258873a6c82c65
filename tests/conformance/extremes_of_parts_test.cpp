// The smallest and largest of pairs, tuples, arrays, lists and records: as sorts order them, NaNs and nulls among their parts too.
#include <algorithm>
#include <array>
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

const auto itself = [](auto r) { return r; };

// In all orders of the rows: the first of the sorts.
template <class T, class More> void as_sorts(const engine_config& e, std::vector<T> rows, const More& more) {
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const T least = source(e, rows).order_by(itself).first(), most = source(e, rows).order_by_descending(itself).first();
  do {
    std::vector<T> shuffled;
    for (const std::size_t i : order) shuffled.push_back(rows[i]);
    const auto q = source(e, shuffled);
    EXPECT_EQ(text(*q.min()), text(least));
    EXPECT_EQ(text(*q.max()), text(most));
    EXPECT_EQ(text(*q.max_by(itself)), text(most));
    more(q, least, most);
  } while (std::next_permutation(order.begin(), order.end()));
}
template <class T> void as_sorts(const engine_config& e, std::vector<T> rows) {
  as_sorts(e, std::move(rows), [](const auto&, const T&, const T&) {});
}

CONFORMS(extremes_of_parts, are_the_first_of_sorts, "min", "max", "max_by") {
  as_sorts<std::tuple<int, double, int>>(e, {{1, nan, 1}, {1, 5, 3}, {1, 5, 2}, {2, nan, 0}});
  as_sorts<std::array<float, 2>>(e, {{static_cast<float>(nan), 1}, {1, static_cast<float>(nan)}, {1, 2}});
  as_sorts<std::pair<std::optional<double>, std::vector<double>>>(
      e, {{std::nullopt, {nan}}, {nan, {}}, {2, {1, nan}}, {2, {1}}, {1, {nan, 1}}, {1, {0}}});
  as_sorts<point>(e, {{nan, 1}, {1, nan}, {1, 2}, {0, nan}});
}

CONFORMS(extremes_of_parts, are_the_same_in_groups, "min_by", "reduce", "group_by.select") {
  using pair = std::pair<double, int>;
  as_sorts<pair>(e, {{nan, 1}, {1, 3}, {1, 2}, {nan, 0}}, [](const auto& q, const pair& least, const pair& most) {
    EXPECT_EQ(text(*q.min_by(itself)), text(least));
    EXPECT_EQ(text(*q.reduce([](auto g) { return g.min(); })), text(least));
    const auto best = [](auto g) { return std::pair(g.max(itself), g.arg_min(itself)); };
    const auto groups = q.group_by([](const pair&) { return 1; }).select(best);
    EXPECT_EQ(text(groups.to_vector()), text(std::vector{std::pair(most, least)}));
    const auto whole = q.group_by([](const pair&) { return 1; }).select([](const query::Group<int, pair>& g) { return g.min(itself); });
    EXPECT_EQ(text(whole.to_vector()), text(std::vector{least}));
  });
}

CONFORMS(extremes_of_parts, are_the_same_in_windows, "over", "group_by.top") {
  using pair = std::pair<double, int>;
  as_sorts<pair>(e, {{nan, 1}, {1, 3}, {2, 9}, {nan, 0}}, [](const auto& q, const pair& least, const pair& most) {
    const auto best = [](auto, auto w) { return std::array{w.min(itself), w.arg_min(itself), w.max(itself)}; };
    EXPECT_EQ(text(q.over().select(best).first()), text(std::array{least, least, most}));
    const auto so_far = [](auto, auto w) { return std::array{w.cum_min(itself), w.cum_max(itself)}; };
    EXPECT_EQ(text(q.over().select(so_far).last()), text(std::array{least, most}));
    const auto near = [](auto, auto w) { return std::array{*w.rows(-9, 9).min(itself), *w.rows(-9, 9).max(itself)}; };
    EXPECT_EQ(text(q.over().select(near).first()), text(std::array{least, most}));
    EXPECT_EQ(text(q.over().select([](auto, auto w) { return w.rolling(4).max(itself); }).last()), text(most));
    EXPECT_EQ(text(q.group_by([](auto) { return 1; }).top(1, itself).to_vector()), text(std::vector{most}));
    const auto traced = q.over().order_by(itself).select([](auto, auto w) { return w.rank(); });
    const auto named = q.over().order_by([](const pair& p) { return p; }).select([](auto, auto w) { return w.rank(); });
    EXPECT_EQ(traced.to_vector(), named.to_vector());
  });
}

// Equal values: the first row, as ever.
CONFORMS(extremes_of_parts, of_equals_are_the_first, "min_by", "max_by") {
  using row = std::pair<int, double>;
  const std::vector<row> rows = {{1, nan}, {2, nan}, {3, 0.0}, {4, -0.0}};
  const auto key = [](auto r) { return std::pair(r.second, 1); };
  EXPECT_EQ(source(e, rows).min_by(key)->first, 3);
  EXPECT_EQ(source(e, rows).max_by(key)->first, 1);
}

// In a function, they compare as in C++: a NaN part is neither less nor greater nor equal.
CONFORMS(extremes_of_parts, compare_as_in_cpp, "select") {
  using pair = std::pair<double, double>;
  const std::vector<pair> values{{1, 3}, {nan, 1}, {1, nan}, {1, 2}, {-0.0, 1}, {0.0, 2}};
  std::vector<std::pair<pair, pair>> rows;
  for (const pair& a : values)
    for (const pair& b : values) rows.emplace_back(a, b);
  const auto compared = [](auto r) {
    return std::array<bool, 4>{r.first < r.second, r.first <= r.second, r.first > r.second, r.first >= r.second};
  };
  std::vector<std::array<bool, 4>> expected;
  for (const auto& r : rows) expected.push_back(compared(r));
  EXPECT_EQ(source(e, rows).select(compared).to_vector(), expected);
  for (const std::vector<pair>& some : {std::vector<pair>{{1, 3}, {nan, 1}}, std::vector<pair>{{nan, 1}, {1, 3}}}) {
    const auto all = query::broadcast(some);
    const auto element = [](auto, auto v) { return v; };
    const std::vector<std::int64_t> one{7};
    const auto q = source(e, one);
    EXPECT_EQ(q.select([=](auto x) { return all.arg_min(x, element); }).first(), 0);
    EXPECT_EQ(q.select([=](auto x) { return all.arg_max(x, element); }).first(), 0);
  }
}

}  // namespace
}  // namespace conformance
