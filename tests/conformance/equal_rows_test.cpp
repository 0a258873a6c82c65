// Rows that are equal, though their bits differ: the first to appear stands for them, behind verbs that arrange rows, too.
#include <algorithm>
#include <bit>
#include <cmath>

#include "conformance/engines.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

using zeros = std::vector<double>;

// 0.0, -0.0, 1.0, 0.0, -0.0... of a few and of many rows.
std::vector<zeros> all_zeros() {
  std::vector<zeros> sets = {{0.0, -0.0}, {-0.0, 0.0}, {1, 0.0, -0.0, 0.0, 1}};
  zeros many(50'001);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = i % 3 == 0 ? static_cast<double>(i % 4) : i % 3 == 1 ? -0.0 : 0.0;
  sets.push_back(many);
  return sets;
}
zeros reversed(zeros v) {
  std::reverse(v.begin(), v.end());
  return v;
}
zeros firsts(const zeros& v) {
  zeros r;
  for (const double x : v)
    if (std::find(r.begin(), r.end(), x) == r.end()) r.push_back(x);
  return r;
}
// Bits in an order of their own.
std::vector<std::uint64_t> bits(const zeros& v) {
  std::vector<std::uint64_t> r;
  for (const double x : v) r.push_back(std::bit_cast<std::uint64_t>(x));
  std::sort(r.begin(), r.end());
  return r;
}
#define EXPECT_BITS(got, wanted) EXPECT_EQ(bits(got), bits(wanted))

CONFORMS(equal_rows, the_first_stays_behind_reverse, "distinct", "reverse", "union_with", "intersect", "except") {
  for (const zeros& v : all_zeros()) {
    const auto q = source(e, v).reverse();
    const zeros wanted = firsts(reversed(v));
    EXPECT_BITS(q.distinct().to_vector(), wanted);
    EXPECT_BITS(q.union_with(source(e, zeros{5})).to_vector(), [&] { zeros w = wanted; w.push_back(5); return w; }());
    EXPECT_BITS(source(e, zeros{5}).union_with(q).to_vector(), [&] { zeros w = wanted; w.push_back(5); return w; }());
    EXPECT_BITS(q.intersect(source(e, v)).to_vector(), wanted);
    EXPECT_BITS(q.except(source(e, zeros{5})).to_vector(), wanted);
    // What is only looked up may come in any order.
    EXPECT_BITS(source(e, v).intersect(q).to_vector(), firsts(v));
  }
}

CONFORMS(equal_rows, the_first_stays_behind_sorts, "distinct", "order_by", "union_with") {
  using row = std::tuple<std::int32_t, double>;
  std::vector<row> rows;
  for (std::int32_t i = 0; i < 1000; ++i) rows.emplace_back(0, i % 2 ? 0.0 : -0.0);
  const zeros v = {0.0, -0.0};  // 1 / -0.0 is less
  const auto sorted = source(e, v).order_by([](auto x) { return 1 / x; });
  EXPECT_BITS(sorted.distinct().to_vector(), zeros{-0.0});
  EXPECT_BITS(sorted.union_with(source(e, zeros{1})).to_vector(), (zeros{-0.0, 1}));
  EXPECT_BITS(source(e, v).order_by_descending([](auto x) { return 1 / x; }).distinct().to_vector(), zeros{0.0});
  // Inside of records.
  const auto first = source(e, rows).reverse().distinct().first();
  EXPECT_FALSE(std::signbit(std::get<1>(first)));
}

// The key of a group is the key of its first row. (The GPU packs keys, and has one zero.)
CONFORMS(equal_rows, the_first_is_the_key_of_its_group, "group_by", "group_by.select", "count_by", "reverse") {
  if (e.accelerate) return;
  for (const zeros& v : all_zeros()) {
    const auto itself = [](auto x) { return x; };
    const auto q = source(e, v).reverse();
    EXPECT_BITS(q.group_by(itself).keys().to_vector(), firsts(reversed(v)));
    const auto counted = q.group_by(itself).select([](auto g) { return std::pair(g.key(), g.count()); });
    EXPECT_BITS(counted.select([](auto p) { return p.first; }).to_vector(), firsts(reversed(v)));
  }
}

CONFORMS(equal_rows, stay_in_windows_and_beside_each_other, "over", "group_by.top", "join_where", "slice", "shuffle") {
  const auto itself = [](auto x) { return x; };
  for (const zeros& v : all_zeros()) {
    const auto q = source(e, v).reverse();
    const zeros wanted = firsts(reversed(v));
    EXPECT_BITS(q.over(itself).take(1).to_vector(), wanted);
    EXPECT_BITS(q.group_by(itself).top(1, [](auto) { return 1; }).to_vector(), wanted);
    EXPECT_BITS(q.slice(1, -1).distinct().to_vector(), firsts(v.size() < 3 ? zeros() : zeros(v.rbegin() + 1, v.rend() - 1)));
    EXPECT_BITS(q.shuffle(5).distinct().to_vector(), firsts(q.shuffle(5).to_vector()));
    zeros of_first;
    for (const double x : reversed(v)) of_first.push_back(*std::find(wanted.begin(), wanted.end(), x));
    EXPECT_BITS(q.over(itself).select([=](auto, auto w) { return w.first(itself); }).to_vector(), of_first);
  }
  const zeros v = {0.0, -0.0, 1};
  const auto pairs = source(e, v).join_where(v, [](auto a, auto b) { return a == b; }, [](auto, auto b) { return b; });
  EXPECT_BITS(pairs.to_vector(), (zeros{0.0, -0.0, 0.0, -0.0, 1}));
}

}  // namespace
}  // namespace conformance
