// chunk, window, partitions and apply: functions of runs of adjacent rows.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

using ids = std::vector<std::int32_t>;
ids ids_of(std::span<const tick> rows) {
  ids v;
  for (const tick& t : rows) v.push_back(t.id);
  return v;
}
std::int64_t amount_of(std::span<const tick> rows) {
  std::int64_t sum = 0;
  for (const tick& t : rows) sum += t.amount;
  return sum;
}

CONFORMS(runs, chunks_follow_each_other_and_the_last_may_be_shorter, "chunk") {
  for (const auto& d : ticks()) {
    for (const std::size_t n : {1u, 3u, 1024u, 70000u, 1000000u}) {
      if (n == 1 && d.rows.size() > 100000) continue;
      SCOPED_TRACE(d.name + ", n = " + std::to_string(n));
      std::vector<ids> wanted;
      std::vector<std::int64_t> sums;
      for (std::size_t i = 0; i < d.rows.size(); i += n) {
        const std::span<const tick> run = std::span(d.rows).subspan(i, std::min(n, d.rows.size() - i));
        wanted.push_back(ids_of(run));
        sums.push_back(amount_of(run));
      }
      EXPECT_ROWS(source(e, d.rows).chunk(n).select([](const std::vector<tick>& c) { return ids_of(c); }).to_vector(), wanted);
      EXPECT_ROWS(source(e, d.rows).chunk(n, [](std::span<const tick> r) { return amount_of(r); }).to_vector(), sums);
    }
  }
}

CONFORMS(runs, windows_are_full, "window") {
  for (const auto& d : ticks()) {
    for (const auto& [n, step] : {std::pair<std::size_t, std::size_t>{1, 1}, {2, 1}, {5, 3}, {3, 5}, {1024, 1000}, {66000, 1}}) {
      if (n == 66000 && d.rows.size() > 100000) continue;
      SCOPED_TRACE(d.name + ", n = " + std::to_string(n) + ", step = " + std::to_string(step));
      std::vector<std::int64_t> wanted;
      for (std::size_t i = 0; i + n <= d.rows.size(); i += step) wanted.push_back(amount_of(std::span(d.rows).subspan(i, n)));
      EXPECT_ROWS(source(e, d.rows).window(n, [](std::span<const tick> r) { return amount_of(r); }, step).to_vector(), wanted);
      if (step == 1 && n < 10) {
        EXPECT_EQ(source(e, d.rows).window(n).count(), static_cast<std::int64_t>(wanted.size()));
      }
    }
  }
}

CONFORMS(runs, windows_of_filtered_rows, "window", "chunk", "where") {
  const auto p = [](auto t) { return t.amount > 0; };
  const std::vector<tick> rows = kept(many_ticks(), p);
  std::vector<ids> wanted;
  for (std::size_t i = 0; i + 3 <= rows.size(); ++i) wanted.push_back(ids_of(std::span(rows).subspan(i, 3)));
  EXPECT_ROWS(source(e, many_ticks()).where(p).window(3, [](std::span<const tick> r) { return std::vector<ids>{ids_of(r)}; }).to_vector(),
              wanted);
  EXPECT_EQ(source(e, many_ticks()).where(p).chunk(10).count(), static_cast<std::int64_t>((rows.size() + 9) / 10));
}

CONFORMS(runs, a_function_of_a_run_may_give_many_rows, "chunk", "window") {
  const std::vector<tick>& rows = small_ticks()[4].rows;
  std::vector<std::int32_t> wanted;
  for (std::size_t i = 0; i < rows.size(); i += 700)
    for (std::size_t k = i; k < std::min(i + 700, rows.size()); ++k)
      for (int twice = 0; twice < 2; ++twice) wanted.push_back(rows[k].id);
  EXPECT_ROWS(source(e, rows).chunk(700, [](std::span<const tick> r) {
    ids v;
    for (const tick& t : r) v.insert(v.end(), 2, t.id);
    return v;
  }).to_vector(), wanted);
}

CONFORMS(runs, apply_sees_every_row_once_and_keeps_their_order, "apply", "apply_all") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const ids all = ids_of(d.rows);
    EXPECT_ROWS(source(e, d.rows).apply([](std::span<const tick> r) { return ids_of(r); }).to_vector(), all);
    EXPECT_ROWS(source(e, d.rows).apply_all([](std::span<const tick> r) { return std::vector<ids>{ids_of(r)}; }).to_vector(),
                std::vector<ids>{all});
    const auto p = [](auto t) { return t.amount > 0; };
    EXPECT_ROWS(source(e, d.rows).where(p).apply([](std::span<const tick> r) { return ids_of(r); }).to_vector(), ids_of(kept(d.rows, p)));
    EXPECT_ROWS(source(e, d.rows).apply_all([](std::span<const tick> r) { return amount_of(r); }).to_vector(),
                std::vector<std::int64_t>{amount_of(d.rows)});
  }
}

// Of each partition: its ids, as one row.
auto parts_of(const auto& q) {
  return q.apply([](std::span<const tick> r) { return std::vector<ids>{ids_of(r)}; }).to_vector();
}

CONFORMS(runs, partitioned_gives_runs_of_about_equal_length, "partitioned", "apply") {
  for (const auto& d : ticks()) {
    for (const std::size_t n : {1u, 4u, 7u}) {
      SCOPED_TRACE(d.name + ", n = " + std::to_string(n));
      const std::vector<ids> parts = parts_of(source(e, d.rows).partitioned(n));
      ids all;
      for (const ids& p : parts) {
        EXPECT_LE(p.size(), d.rows.size() / n + 1);
        all.insert(all.end(), p.begin(), p.end());
      }
      EXPECT_LE(parts.size(), n);
      EXPECT_EQ(all, ids_of(d.rows));
    }
  }
}

CONFORMS(runs, hash_partitions_keep_equal_keys_together, "hash_partitioned_by", "apply") {
  for (const auto& d : ticks()) {
    for (const std::size_t n : {0u, 1u, 5u}) {
      SCOPED_TRACE(d.name + ", n = " + std::to_string(n));
      const std::vector<ids> parts = parts_of(source(e, d.rows).hash_partitioned_by([](auto t) { return t.key; }, n));
      if (n) {
        EXPECT_LE(parts.size(), n);
      }
      std::map<std::int32_t, std::size_t> home;
      ids all;
      for (std::size_t p = 0; p < parts.size(); ++p) {
        EXPECT_TRUE(std::is_sorted(parts[p].begin(), parts[p].end()));
        for (const std::int32_t id : parts[p]) {
          all.push_back(id);
          ASSERT_EQ(home.try_emplace(d.rows[static_cast<std::size_t>(id)].key, p).first->second, p);
        }
      }
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, ids_of(d.rows));
    }
  }
}

CONFORMS(runs, range_partitions_are_in_the_order_of_keys, "range_partitioned_by", "apply") {
  for (const auto& d : ticks()) {
    for (const std::size_t n : {0u, 1u, 5u}) {
      SCOPED_TRACE(d.name + ", n = " + std::to_string(n));
      const std::vector<ids> parts = parts_of(source(e, d.rows).range_partitioned_by([](auto t) { return t.key; }, n));
      if (n) {
        EXPECT_LE(parts.size(), n);
      }
      ids all;
      std::optional<std::int32_t> border;
      for (const ids& p : parts) {
        if (p.empty()) continue;
        const auto [least, most] = std::minmax_element(p.begin(), p.end(), [&](auto a, auto b) {
          return d.rows[static_cast<std::size_t>(a)].key < d.rows[static_cast<std::size_t>(b)].key;
        });
        if (border) {
          EXPECT_LT(*border, d.rows[static_cast<std::size_t>(*least)].key);
        }
        border = d.rows[static_cast<std::size_t>(*most)].key;
        all.insert(all.end(), p.begin(), p.end());
      }
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, ids_of(d.rows));
    }
  }
}

}  // namespace
}  // namespace conformance
