// Joins with a build side so large that a GPU scatters its rows before it builds a table of them: more than 2^20 rows with keys of eight
// bytes, 2^21 with keys of four (gpu_engine/operators/scattered_build.hpp). Other engines are left out, as joins_test.cpp has them.
#include <limits>
#include <string_view>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"

namespace conformance {
namespace {

struct entry {
  std::int64_t key;
  double value;
  std::int32_t id;
  std::optional<std::int32_t> lot;
};
QUERY_RECORD(entry, key, value, id, lot);
struct asked {
  std::int64_t key;
  std::int32_t id;
  std::optional<std::int32_t> lot;
};
QUERY_RECORD(asked, key, id, lot);
struct short_entry {
  std::int32_t key;
  float value;
  std::int64_t id;
};
QUERY_RECORD(short_entry, key, value, id);
// Of several words: a GPU writes such rows by warps.
struct found {
  std::int64_t key;
  double value;
  std::int32_t asked_by;
};
QUERY_RECORD(found, key, value, asked_by);

constexpr std::int32_t n = 1'100'000, probes = 30'000;
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

// Distinct keys that hash into an eighth or two of the table, as the GPU hashes: most parts of it get no row at all. mix64 of
// gpu_primitives/hash_keys.cuh backwards.
std::int64_t crowded_key(std::int32_t i) {
  static_assert(0xc4ceb9fe1a85ec53u * 0x9cb4b2f8129337dbu == 1 && 0xff51afd7ed558ccdu * 0x4f74430c22a54005u == 1);
  std::uint64_t h = static_cast<std::uint64_t>(i) << 42;
  h ^= h >> 33;
  h *= 0x9cb4b2f8129337dbu;
  h ^= h >> 33;
  h *= 0x4f74430c22a54005u;
  h ^= h >> 33;
  return static_cast<std::int64_t>(h);
}
// Row number i has another place in the side.
std::size_t place_of(std::int32_t i) { return static_cast<std::size_t>(static_cast<std::int64_t>(i) * 700'001 % n); }
double value_of(std::int32_t i) { return i * 0.5 - 3; }

// Row 1 has the key whose bits mark an empty slot, row 2 the least one.
std::int64_t key_of(std::int32_t i) { return i == 1 ? -1 : i == 2 ? least : crowded_key(i); }

const std::vector<entry>& entries() {
  static const std::vector<entry> rows = [] {
    std::vector<entry> r(n);
    for (std::int32_t i = 0; i < n; ++i)
      r[place_of(i)] = {key_of(i), value_of(i), i, i % 5 == 0 ? std::nullopt : std::optional<std::int32_t>(i - 7)};
    return r;
  }();
  return rows;
}
// Half of them ask for what there is.
std::int32_t asked_for(std::int32_t i) { return i < 4 ? i : static_cast<std::int32_t>(std::int64_t{i} * 1'299'709 % (2 * n)); }
const std::vector<asked>& questions() {
  static const std::vector<asked> rows = [] {
    std::vector<asked> r(probes);
    for (std::int32_t i = 0; i < probes; ++i) {
      const std::int32_t id = asked_for(i);
      r[static_cast<std::size_t>(i)] = {key_of(id), i, id % 5 == 0 ? std::nullopt : std::optional<std::int32_t>(id - 7)};
    }
    return r;
  }();
  return rows;
}

bool concerns(const engine_config& e) { return std::string_view(e.column) == "gpu"; }

CONFORMS(large_joins, by_a_word, "join", "left_join") {
  if (!concerns(e)) return;
  const auto a = source(e, questions());
  const auto b = source(e, entries());
  std::vector<found> inner, left;
  std::vector<double> values;
  for (const asked& q : questions()) {
    const std::int32_t id = asked_for(q.id);
    if (id < n) inner.push_back({q.key, value_of(id), q.id}), values.push_back(value_of(id) * 2);
    left.push_back({q.key, id < n ? value_of(id) : -1.0, q.id});
  }
  const auto key = [](auto row) { return row.key; };
  EXPECT_ROWS(a.join(b, key, key, [](auto q, auto r) { return query::make<found>(q.key, r.value, q.id); }).as_ordered().to_vector(), inner);
  EXPECT_ROWS(a.join(b, key, key, [](auto q, auto r) { return query::make<found>(r.key, r.value, q.id); }).as_ordered().to_vector(), inner);
  EXPECT_ROWS(a.join(b, key, key, [](auto, auto r) { return r.value * 2; }).as_ordered().to_vector(), values);
  EXPECT_ROWS(a.left_join(b, key, key, [](auto q, auto r) {
    return query::make<found>(q.key, query::iff(r.has_value(), r->value, -1.0), q.id);
  }).as_ordered().to_vector(), left);
}

// The smaller side is the build side where the result has no order.
CONFORMS(large_joins, built_on_the_left, "join") {
  if (!concerns(e)) return;
  std::vector<asked> many(n + 100'000);
  for (std::int32_t i = 0; i < n + 100'000; ++i) many[static_cast<std::size_t>(i)] = {key_of(i), i, {}};
  const auto key = [](auto row) { return row.key; };
  const auto rows = source(e, entries()).join(source(e, many), key, key, [](auto r, auto q) {
    return query::make<found>(r.key, r.value, q.id);
  });
  EXPECT_EQ(rows.count(), n);
  EXPECT_EQ(rows.where([](auto f) { return f.value != query::cast<double>(f.asked_by) * 0.5 - 3; }).count(), 0);
}

CONFORMS(large_joins, nulls_match_nothing, "join", "right_join", "full_join", "semi_join", "anti_join") {
  if (!concerns(e)) return;
  const auto a = source(e, questions());
  const auto b = source(e, entries());
  const auto lot = [](auto row) { return row.lot; };
  std::vector<found> inner;
  std::vector<bool> taken(n);
  std::int64_t alone = 0;
  for (const asked& q : questions()) {
    const std::int32_t id = asked_for(q.id);
    if (id < n && q.lot) inner.push_back({q.key, value_of(id), q.id}), taken[static_cast<std::size_t>(id)] = true;
  }
  for (const bool t : taken) alone += !t;
  const auto pairs = a.join(b, lot, lot, [](auto q, auto r) { return query::make<found>(q.key, r.value, q.id); });
  EXPECT_ROWS(pairs.as_ordered().to_vector(), inner);
  const auto right = a.right_join(b, lot, lot, [](auto q, auto r) {
    return query::make<found>(r.key, r.value, query::iff(q.has_value(), q->id, std::int32_t{-1}));
  });
  EXPECT_SAME_ROWS(right.where([](auto f) { return f.asked_by >= 0; }).to_vector(), inner);
  EXPECT_EQ(right.where([](auto f) { return f.asked_by < 0; }).count(), alone);
  const auto full = a.full_join(b, lot, lot, [](auto q, auto r) {
    return std::make_pair(query::iff(q.has_value(), q->id, std::int32_t{-1}), query::iff(r.has_value(), r->id, std::int32_t{-1}));
  });
  EXPECT_EQ(full.count(), alone + probes);
  EXPECT_EQ(full.where([](auto p) { return p.first >= 0 && p.second >= 0; }).count(), static_cast<std::int64_t>(inner.size()));
  EXPECT_EQ(a.semi_join(b, lot, lot).count(), static_cast<std::int64_t>(inner.size()));
  EXPECT_EQ(a.anti_join(b, lot, lot).count(), static_cast<std::int64_t>(probes - static_cast<std::int32_t>(inner.size())));
}

CONFORMS(large_joins, by_half_a_word, "join", "left_join") {
  if (!concerns(e)) return;
  constexpr std::int32_t many = 2'200'000;
  const auto scattered = [](std::int32_t i) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(i) * 0x9E3779B1u); };
  std::vector<short_entry> rows(many);
  for (std::int32_t i = 0; i < many; ++i)
    rows[static_cast<std::size_t>(i)] = {scattered(i), static_cast<float>(i % 1000), std::int64_t{i} << 20};
  std::vector<std::int32_t> wanted;
  std::vector<std::pair<std::int32_t, float>> inner;
  std::vector<std::pair<std::int32_t, std::int64_t>> left;
  for (std::int32_t i = 0; i < probes; ++i) {
    const std::int32_t id = static_cast<std::int32_t>(std::int64_t{i} * 1'299'709 % (2 * std::int64_t{many}));
    const std::int32_t key = scattered(id);
    wanted.push_back(key);
    if (id < many) inner.emplace_back(key, static_cast<float>(id % 1000));
    left.emplace_back(key, id < many ? std::int64_t{id} << 20 : -1);
  }
  const auto a = source(e, wanted);
  const auto b = source(e, rows);
  const auto itself = [](auto k) { return k; };
  const auto key = [](auto r) { return r.key; };
  EXPECT_ROWS(a.join(b, itself, key, [](auto k, auto r) { return std::make_pair(k, r.value); }).as_ordered().to_vector(), inner);
  EXPECT_ROWS(a.left_join(b, itself, key, [](auto k, auto r) {
    return std::make_pair(k, query::iff(r.has_value(), r->id, std::int64_t{-1}));
  }).as_ordered().to_vector(), left);
}

CONFORMS(large_joins, one_zero_and_one_nan, "join") {
  if (!concerns(e)) return;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::pair<double, std::int64_t>> rows;
  for (std::int32_t i = 0; i < n; ++i) rows.emplace_back(i == 900'000 ? -0.0 : i == 1'000'000 ? -nan : i + 0.25, i);
  const std::vector<double> wanted = {0.0, nan, -0.0, 7.25, 7.5, n - 0.75};
  const std::vector<std::int64_t> inner = {900'000, 1'000'000, 900'000, 7, n - 1};
  const auto ids = source(e, wanted).join(
      source(e, rows), [](auto v) { return v; }, [](auto r) { return r.first; }, [](auto, auto r) { return r.second; });
  EXPECT_ROWS(ids.as_ordered().to_vector(), inner);
}

// Neither is among the first rows, at which the GPU looks before it scatters any.
CONFORMS(large_joins, one_key_that_comes_twice, "join", "left_join") {
  if (!concerns(e)) return;
  std::vector<entry> rows = entries();
  const auto place = static_cast<std::size_t>(n) - 10;
  rows[place].key = rows[place - 300'000].key;
  const std::int64_t key = rows[place].key;
  const std::vector<asked> few = {{rows[3].key, 0, {}}, {key, 1, {}}, {crowded_key(n + 5), 2, {}}, {rows[9].key, 3, {}}};
  std::vector<found> inner = {{rows[3].key, rows[3].value, 0}, {key, rows[place - 300'000].value, 1}, {key, rows[place].value, 1}},
                     left = inner;
  left.push_back({few[2].key, -1, 2});
  for (auto* all : {&inner, &left}) all->push_back({rows[9].key, rows[9].value, 3});
  const auto a = source(e, few);
  const auto b = source(e, rows);
  const auto by = [](auto row) { return row.key; };
  EXPECT_ROWS(a.join(b, by, by, [](auto q, auto r) { return query::make<found>(q.key, r.value, q.id); }).as_ordered().to_vector(), inner);
  EXPECT_ROWS(a.left_join(b, by, by, [](auto q, auto r) {
    return query::make<found>(q.key, query::iff(r.has_value(), r->value, -1.0), q.id);
  }).as_ordered().to_vector(), left);
}

CONFORMS(large_joins, one_key_for_all, "join") {
  if (!concerns(e)) return;
  std::vector<entry> rows = entries();
  for (entry& r : rows) r.key = 7;
  const std::vector<asked> few = {{8, 0, {}}, {7, 1, {}}};
  std::vector<found> inner;
  for (const entry& r : rows) inner.push_back({7, r.value, 1});
  const auto by = [](auto row) { return row.key; };
  const auto pairs = source(e, few).join(source(e, rows), by, by, [](auto q, auto r) { return query::make<found>(q.key, r.value, q.id); });
  EXPECT_ROWS(pairs.as_ordered().to_vector(), inner);
}

std::int64_t spread_key(std::int32_t i) { return std::int64_t{i} * 1'000'003 - 5; }

// Few rows meet many, and how many either side has is known to the engine alone: where the order is free, a GPU builds on the left. Keys
// repeat on both sides, one of them in a quarter of the rows; most have no partner, and pairs are more than twice the rows.
CONFORMS(large_joins, repeated_keys_of_kept_rows, "join", "left_join") {
  if (!concerns(e)) return;
  constexpr std::int32_t few = 3000, many = 270'000, keys = 700;
  std::vector<asked> left(few);
  std::vector<entry> right(many);
  std::vector<std::vector<std::int32_t>> partners(keys);
  for (std::int32_t i = 0; i < many; ++i) {
    const std::int32_t key = i % 4 == 1 ? 5 : i % 16 == 0 ? i / 16 % keys : keys + i % 1000;
    right[static_cast<std::size_t>(i)] = {spread_key(key), value_of(i), i, {}};
    if (key < keys) partners[static_cast<std::size_t>(key)].push_back(i);
  }
  std::vector<found> inner, outer;
  for (std::int32_t i = 0; i < few; ++i) {
    const std::int32_t key = i % 250 == 17 ? 5 : i % 3 ? i % keys : 100'000 + i;
    left[static_cast<std::size_t>(i)] = {spread_key(key), i, {}};
    if (key >= keys) outer.push_back({spread_key(key), -1, i});
    else
      for (const std::int32_t r : partners[static_cast<std::size_t>(key)]) {
        inner.push_back({spread_key(key), value_of(r), i});
        outer.push_back(inner.back());
      }
  }
  const auto a = source(e, left).cached();
  const auto b = source(e, right).cached();
  (void)a.count(), (void)b.count();
  const auto key = [](auto row) { return row.key; };
  const auto pairs = a.join(b, key, key, [](auto q, auto r) { return query::make<found>(q.key, r.value, q.id); });
  EXPECT_ROWS(pairs.as_ordered().to_vector(), inner);
  EXPECT_SAME_ROWS(pairs.to_vector(), inner);
  EXPECT_SAME_ROWS(b.join(a, key, key, [](auto r, auto q) { return query::make<found>(r.key, r.value, q.id); }).to_vector(), inner);
  EXPECT_ROWS(a.left_join(b, key, key, [](auto q, auto r) {
    return query::make<found>(q.key, query::iff(r.has_value(), r->value, -1.0), q.id);
  }).as_ordered().to_vector(), outer);
  EXPECT_EQ(a.where([](auto q) { return q.id < 0; }).cached().join(b, key, key, [](auto q, auto r) { return q.id + r.id; }).count(), 0);
}

}  // namespace
}  // namespace conformance
