// Aggregates of one's own whose state is a fixed array, or a record that holds one: a histogram of 16 bins and the three largest values.
// Seed, update, combine and finish trace, so that they run where the rows are; runs_there() says if they did not.
#include <algorithm>
#include <array>
#include <random>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

namespace by = query::aggregates;
using namespace query::operators;

struct sample {
  std::int32_t key;
  std::int32_t level;  // 0 to 255
  std::int64_t at;
  std::optional<std::int32_t> lot;
};
QUERY_RECORD(sample, key, level, at, lot);

using counts = std::array<std::int64_t, 16>;
struct histogram {
  counts bins;
  std::int32_t rows;
};
QUERY_RECORD(histogram, bins, rows);

using largest = std::array<std::int64_t, 3>;
constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
struct podium {
  largest places;
  std::array<std::int32_t, 3> keys;  // of the rows that hold them
};
QUERY_RECORD(podium, places, keys);

std::vector<sample> samples(std::size_t n, std::int32_t groups) {
  std::mt19937_64 random(seed() + n);
  std::vector<sample> rows(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = random();
    rows[i] = {static_cast<std::int32_t>(x % static_cast<std::uint64_t>(groups)), static_cast<std::int32_t>(x >> 40 & 0xff),
               static_cast<std::int64_t>(x >> 20 & 0xfffff) - 0x80000, std::nullopt};
    if (x >> 62 & 1) rows[i].lot = static_cast<std::int32_t>(x >> 50 & 0xf);
  }
  return rows;
}
const std::vector<data_set<sample>>& all_samples() {
  static const std::vector<data_set<sample>> all = {{"none", {}},
                                                    {"one row", samples(1, 1)},
                                                    {"one group", samples(20001, 1)},
                                                    {"few groups", samples(70000, 7)},
                                                    {"at the borders of pieces", samples(33, 2)},
                                                    {"many groups", samples(30000, 9000)}};
  return all;
}
void runs_there(const engine_config& e, const std::string& plan) {
  if (!e.accelerate) return;
  EXPECT_TRUE(planned_there(plan));
  EXPECT_EQ(plan.find("went to the cpu"), std::string::npos) << plan;
}

const auto key_of = [](auto t) { return t.key; };

// The state is the array itself.
const auto count_level = [](auto s, auto t) {
  for (int i = 0; i < 16; ++i) s[i] += query::iff(query::lazy(t.level) / 16 == i, std::int64_t{1}, std::int64_t{0});
  return s;
};
const auto add_counts = [](auto a, auto b) { return a + b; };
counts counts_of(const std::vector<sample>& rows) {
  counts all{};
  for (const sample& t : rows) ++all[static_cast<std::size_t>(t.level / 16)];
  return all;
}

// The three largest, in falling order: not what adding up could do, and combine is a merge.
const auto insert_largest = [](auto s, auto x) {
  auto r = s;
  auto left = x;
  for (int i = 0; i < 3; ++i) {
    auto larger = query::max(r[i], left);
    left = query::min(r[i], left);
    r[i] = larger;
  }
  return r;
};
const auto keep_largest = [](auto s, auto t) { return insert_largest(s, t.at); };
const auto merge_largest = [](auto a, auto b) {
  auto r = a;
  for (int i = 0; i < 3; ++i) r = insert_largest(r, b[i]);
  return r;
};
largest largest_of(const std::vector<sample>& rows) {
  std::vector<std::int64_t> all = selected(rows, [](const sample& t) { return t.at; });
  all.resize(std::max<std::size_t>(all.size(), 3), none);
  std::partial_sort(all.begin(), all.begin() + 3, all.end(), std::greater<>());
  return {all[0], all[1], all[2]};
}

template <class T, class F> std::vector<std::pair<std::int32_t, T>> by_key(const std::vector<sample>& rows, F f) {
  std::vector<std::pair<std::int32_t, T>> all;
  for (const auto& [k, own] : grouped(rows, [](const sample& t) { return t.key; })) all.emplace_back(k, f(own));
  return all;
}
template <class Rows> auto pairs_of(const Rows& rows) {
  using T = std::decay_t<decltype(std::get<1>(rows.front()))>;
  std::vector<std::pair<std::int32_t, T>> all;
  for (const auto& r : rows) all.emplace_back(std::get<0>(r), std::get<1>(r));
  return all;
}

CONFORMS(array_states, an_array_of_counts_by_key, "aggregate_by") {
  for (const auto& d : all_samples()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows).aggregate_by(key_of, counts{}, count_level, add_counts);
    runs_there(e, q.explain());
    EXPECT_EQ(pairs_of(q.as_ordered().to_vector()), by_key<counts>(d.rows, counts_of));
    runs_there(e, q.explain());
  }
}

CONFORMS(array_states, the_largest_by_key, "aggregate_by") {
  for (const auto& d : all_samples()) {
    SCOPED_TRACE(d.name);
    const auto some = source(e, d.rows).where([](auto t) { return t.level % 5 != 0; });
    const auto q = some.aggregate_by(key_of, largest{none, none, none}, keep_largest, merge_largest);
    runs_there(e, q.explain());
    const auto rows = kept(d.rows, [](const sample& t) { return t.level % 5 != 0; });
    EXPECT_EQ(pairs_of(q.as_ordered().to_vector()), by_key<largest>(rows, largest_of));
    runs_there(e, q.explain());
  }
}

// A record with an array and a number beside it, in group_by among other aggregates; what it ends with is a number, a record, an array.
auto levels() {
  return by::aggregate(
      histogram{},
      [](auto s, auto t) {
        return query::make<histogram>(count_level(s.bins, t), s.rows + 1);
      },
      [](auto a, auto b) { return query::make<histogram>(a.bins + b.bins, a.rows + b.rows); });
}
auto fullest_bin() {
  return by::aggregate(
      histogram{},
      [](auto s, auto t) {
        return query::make<histogram>(count_level(s.bins, t), s.rows + 1);
      },
      [](auto a, auto b) { return query::make<histogram>(a.bins + b.bins, a.rows + b.rows); },
      [](auto s) {
        auto most = s.bins[0];
        for (int i = 1; i < 16; ++i) most = query::max(most, s.bins[i]);
        return most * 1000000 + s.rows;
      });
}
std::int64_t fullest_bin_of(const std::vector<sample>& rows) {
  const counts all = counts_of(rows);
  return *std::max_element(all.begin(), all.end()) * 1000000 + static_cast<std::int64_t>(rows.size());
}

CONFORMS(array_states, a_record_that_holds_an_array, "group_by.select", "aggregate_by") {
  for (const auto& d : all_samples()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows).group_by(key_of);
    const auto among = q.select([own = fullest_bin()](auto g) {
      return std::make_tuple(g.key(), own(g), g.count(), g.max([](auto t) { return t.at; }));
    });
    runs_there(e, among.explain());
    std::vector<std::tuple<std::int32_t, std::int64_t, std::int64_t, std::int64_t>> wanted;
    for (const auto& [k, own] : grouped(d.rows, [](const sample& t) { return t.key; }))
      wanted.emplace_back(k, fullest_bin_of(own), static_cast<std::int64_t>(own.size()), largest_of(own)[0]);
    EXPECT_ROWS(among.as_ordered().to_vector(), wanted);
    runs_there(e, among.explain());
    const auto states = source(e, d.rows).aggregate_by(key_of, levels());
    runs_there(e, states.explain());
    const auto got = states.as_ordered().to_vector();
    const auto bins = by_key<counts>(d.rows, counts_of);
    ASSERT_EQ(got.size(), bins.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(std::get<0>(got[i]), bins[i].first);
      EXPECT_EQ(std::get<1>(got[i]).bins, bins[i].second);
      EXPECT_EQ(std::get<1>(got[i]).rows, std::get<2>(wanted[i]));
    }
  }
}

// Two arrays that are kept in step: a row moves in both or in neither.
CONFORMS(array_states, arrays_that_move_together, "aggregate_by") {
  for (const auto& d : all_samples()) {
    SCOPED_TRACE(d.name);
    const auto insert = [](auto places, auto keys, auto x, auto k) {
      auto at = x;
      auto of = k;
      for (int i = 0; i < 3; ++i) {
        const auto better = query::lazy(at) > places[i];
        const auto place = places[i];
        const auto key = keys[i];
        places[i] = query::iff(better, at, place);
        keys[i] = query::iff(better, of, key);
        at = query::iff(better, place, at);
        of = query::iff(better, key, of);
      }
      return query::make<podium>(places, keys);
    };
    const auto q = source(e, d.rows).aggregate_by(
        [](auto t) { return t.level % 3; }, podium{{none, none, none}, {-1, -1, -1}},
        [insert](auto s, auto t) { return insert(s.places, s.keys, t.at * 100000 + t.key, t.key); },
        [insert](auto a, auto b) {
          auto r = a;
          for (int i = 0; i < 3; ++i) r = insert(r.places, r.keys, b.places[i], b.keys[i]);
          return r;
        });
    runs_there(e, q.explain());
    const auto got = q.as_ordered().to_vector();
    runs_there(e, q.explain());
    const auto groups = grouped(d.rows, [](const sample& t) { return t.level % 3; });
    ASSERT_EQ(got.size(), groups.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      std::vector<std::pair<std::int64_t, std::int32_t>> all;
      for (const sample& t : groups[i].second) all.emplace_back(t.at * 100000 + t.key, t.key);
      all.resize(std::max<std::size_t>(all.size(), 3), {none, -1});
      std::sort(all.begin(), all.end(), std::greater<>());
      EXPECT_EQ(std::get<0>(got[i]), groups[i].first);
      for (std::size_t p = 0; p < 3; ++p) {
        EXPECT_EQ(std::get<1>(got[i]).places[p], all[p].first);
        EXPECT_EQ(std::get<1>(got[i]).keys[p], all[p].second);
      }
    }
  }
}

// Of all rows: one state, whose pieces are merged.
CONFORMS(array_states, of_all_rows, "aggregate", "reduce") {
  for (const auto& d : all_samples()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    const auto top = by::aggregate(largest{none, none, none}, keep_largest, merge_largest);
    const auto bins = by::aggregate(counts{}, count_level, add_counts);
    EXPECT_EQ(q.reduce(top), largest_of(d.rows));
    EXPECT_EQ(q.reduce(bins), counts_of(d.rows));
    EXPECT_EQ(q.reduce(fullest_bin()), fullest_bin_of(d.rows));
    const auto all = q.aggregate([top, bins](auto g) { return std::make_tuple(top(g), bins(g), g.count()); });
    runs_there(e, all.explain());
    EXPECT_EQ(all.to_vector(), (std::vector{std::make_tuple(largest_of(d.rows), counts_of(d.rows), std::ssize(d.rows))}));
    runs_there(e, all.explain());
  }
}

}  // namespace
}  // namespace conformance
