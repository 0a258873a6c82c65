// Results so large that they are written past the cache: the same values as those of few rows.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

namespace query::tests {

struct wide_item {
  std::int32_t id;
  std::string name;
  double weight;
  std::int16_t kind;
  std::optional<std::int32_t> shelf;
  std::optional<std::string> remark;
  std::array<double, 64> measured;
};
QUERY_RECORD(wide_item, id, name, weight, kind, shelf, remark, measured);
struct item_place {
  std::int32_t id;
  std::string place;
  std::int64_t since;
  std::array<std::int32_t, 3> small;
};
QUERY_RECORD(item_place, id, place, since, small);
struct placed_item {
  std::int32_t id;
  std::string name;
  double weight;
  std::int16_t kind;
  std::optional<std::int32_t> shelf;
  std::string place;
  std::optional<std::int64_t> since;
  std::optional<std::string> remark, at;
  std::array<double, 64> measured;
  std::array<std::int32_t, 3> small;
};
QUERY_RECORD(placed_item, id, name, weight, kind, shelf, place, since, remark, at, measured, small);

namespace {

constexpr std::int32_t n = 150'000;  // of more than 500 bytes each

std::string name_of(std::int32_t i) {
  std::string name = std::string("a name of twenty-one").substr(0, static_cast<std::size_t>(i % 21)) + static_cast<char>('a' + i % 26);
  if (i % 5 == 0) name.reserve(100);  // short, but not in the object
  return name;
}

std::vector<wide_item> items() {
  std::vector<wide_item> all(n);
  for (std::int32_t i = 0; i < n; ++i) {
    wide_item& t = all[static_cast<std::size_t>(i)];
    t.id = i;
    t.name = name_of(i);
    t.weight = i / 7.0;
    t.kind = static_cast<std::int16_t>(i % 1000);
    if (i % 3) t.shelf = -i;
    if (i % 6) t.remark = name_of(i + 2);
    t.measured.fill(i);
  }
  return all;
}

// The ids that are wanted, in order, from first on.
template <class Wanted> void check(const column_chunks<placed_item>& result, Wanted wanted) {
  std::int32_t i = 0;
  for (const auto& chunk : result) {
    for (std::size_t row = 0; row < chunk.size(); ++row, ++i) {
      while (!wanted(i)) ++i;
      const bool placed = i % 4 == 1;
      ASSERT_EQ(chunk.get<0>()[row], i);
      ASSERT_EQ(chunk.get<1>()[row].view(), name_of(i));
      ASSERT_EQ(chunk.get<2>()[row], i / 7.0);
      ASSERT_EQ(chunk.get<3>()[row], i % 1000);
      ASSERT_EQ(chunk.get<4>()[row], i % 3 ? std::optional(-i) : std::nullopt);
      ASSERT_EQ(chunk.get<5>()[row].view(), placed ? name_of(i + 1) : "nowhere");
      ASSERT_EQ(chunk.get<6>()[row], placed ? std::optional(std::int64_t{i} << 32) : std::nullopt);
      ASSERT_EQ(chunk.get<7>()[row], i % 6 ? std::optional(name_of(i + 2)) : std::nullopt);
      ASSERT_EQ(chunk.get<8>()[row], placed ? std::optional(name_of(i + 1)) : std::nullopt);
      ASSERT_EQ(chunk.get<9>()[row][63], i);
      ASSERT_EQ(chunk.get<10>()[row], (placed ? std::array<std::int32_t, 3>{i, 0, -i} : std::array<std::int32_t, 3>{}));
    }
  }
}

TEST(large_results, have_the_values_of_small_ones) {
  const std::vector<wide_item> rows = items();
  std::vector<item_place> places;
  for (std::int32_t i = 1; i < n; i += 4) places.push_back({i, name_of(i + 1), std::int64_t{i} << 32, {i, 0, -i}});
  const auto id = [](auto r) { return r.id; };
  for (const int threads : {1, 2, 7, 16}) {
    const auto joined = from(rows).in(Session({.threads = threads, .gpu = gpu_use::off})).left_join(places, id, id, [](auto t, auto p) {
      if (!p)
        return make<placed_item>(t.id, t.name, t.weight, t.kind, t.shelf, "nowhere", std::nullopt, t.remark, std::nullopt, t.measured,
                                 std::array<std::int32_t, 3>{});
      return make<placed_item>(t.id, t.name, t.weight, t.kind, t.shelf, p->place, p->since, t.remark, p->place, t.measured, p->small);
    });
    const auto all = joined.to_columns();
    ASSERT_EQ(all.size(), n);
    check(all, [](std::int32_t) { return true; });
    const auto some = joined.where([](auto r) { return r.kind < 800; }).to_columns();
    ASSERT_EQ(some.size(), n / 1000 * 800);
    check(some, [](std::int32_t i) { return i % 1000 < 800; });
  }
}

}  // namespace
}  // namespace query::tests
