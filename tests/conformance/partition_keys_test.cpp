// Partitions by keys of every kind: on every engine each row is in the partition that one thread of the CPU puts it in, whole, and in the
// order of the source. Empty partitions count where a number of them is named.
#include <map>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

template <class Q> auto parts_of(const Q& q) {
  using T = typename Q::row;
  return q.apply([](std::span<const T> rows) { return std::vector<std::vector<T>>{{rows.begin(), rows.end()}}; }).to_vector();
}
auto lengths_of(const auto& parts) {
  std::vector<std::size_t> n;
  for (const auto& p : parts) n.push_back(p.size());
  return n;
}
template <class T> std::vector<T> all_of(const std::vector<std::vector<T>>& parts) {
  std::vector<T> rows;
  for (const auto& p : parts) rows.insert(rows.end(), p.begin(), p.end());
  return rows;
}
const query::Session& reference() {
  static const query::Session one({.threads = 1, .gpu = query::gpu_use::off});
  return one;
}

// `partition`: of a query, by a key.
void expect_partitions(const engine_config& e, const auto& rows, const auto& partition) {
  const auto parts = parts_of(partition(source(e, rows))), wanted = parts_of(partition(query::from(rows).in(reference())));
  EXPECT_EQ(lengths_of(parts), lengths_of(wanted));
  EXPECT_ROWS(all_of(parts), all_of(wanted));
}
void expect_partitions_by(const engine_config& e, const auto& rows, const auto& key, std::size_t n) {
  SCOPED_TRACE("n = " + std::to_string(n));
  expect_partitions(e, rows, [&](const auto& q) { return q.hash_partitioned_by(key, n); });
  expect_partitions(e, rows, [&](const auto& q) { return q.range_partitioned_by(key, n); });
}

CONFORMS(partition_keys, of_every_kind_put_rows_into_the_same_partitions, "hash_partitioned_by", "range_partitioned_by", "apply") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto by = [&](const char* what, const auto& key) {
      SCOPED_TRACE(what);
      expect_partitions_by(e, d.rows, key, 5);
    };
    by("an integer", [](auto t) { return t.key; });
    by("a long integer", [](auto t) { return t.amount; });
    by("a floating number", [](auto t) { return t.price; });
    by("an enumeration", [](auto t) { return t.way; });
    by("a bool", [](auto t) { return t.hot; });
    by("an optional", [](auto t) { return t.lot; });
    by("an array", [](auto t) { return t.legs; });
    by("a string", [](auto t) { return t.name; });
    by("an optional string", [](auto t) { return t.note; });
    by("several", [](auto t) { return std::make_tuple(t.name, t.lot, t.price); });
    by("one in a tuple", [](auto t) { return std::make_tuple(t.amount); });
    by("computed", [](auto t) { return query::cast<float>(t.price) * 0.5f; });
  }
}

CONFORMS(partition_keys, of_many_rows, "hash_partitioned_by", "range_partitioned_by", "partitioned") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto key = [](auto t) { return t.key; };
    for (const std::size_t n : {0u, 1u, 4u, 300u}) expect_partitions_by(e, d.rows, key, n);
    expect_partitions_by(
        e, d.rows, [](auto t) { return query::cast<std::int16_t>(t.id % 1000); }, 3);
    // Nobody but apply sees partitions: others see the rows in their order.
    EXPECT_ROWS(source(e, d.rows).hash_partitioned_by(key, 4).to_vector(),
                all_of(parts_of(query::from(d.rows).in(reference()).hash_partitioned_by(key, 4))));
    expect_partitions(e, d.rows, [](const auto& q) { return q.partitioned(7); });
    expect_partitions(e, d.rows, [](const auto& q) {
      return q.where([](auto t) { return t.amount > 0; }).hash_partitioned_by([](auto t) { return t.id; }, 5);
    });
    expect_partitions(e, d.rows, [](const auto& q) { return q.select([](auto t) { return t.price; }).partitioned(3); });
  }
  // More than fit one digit of a sort, or two.
  expect_partitions(e, many_ticks(), [](const auto& q) { return q.hash_partitioned_by([](auto t) { return t.id; }, 70000); });
  expect_partitions(e, many_ticks(), [](const auto& q) { return q.range_partitioned_by([](auto t) { return t.id; }, 5000); });
}

// Rows that are written by warps, and wider ones.
template <class Word, std::size_t N> struct wide {
  std::int32_t key;
  std::array<Word, N> x;
};
using wide_100 = wide<float, 24>;
using wide_128 = wide<double, 15>;
using wide_248 = wide<double, 30>;
QUERY_RECORD(wide_100, key, x);
QUERY_RECORD(wide_128, key, x);
QUERY_RECORD(wide_248, key, x);

template <class Row> void expect_wide(const engine_config& e) {
  SCOPED_TRACE(std::to_string(sizeof(Row)) + " bytes");
  std::vector<Row> rows(3001);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].key = static_cast<std::int32_t>(i * 7919 % 113);
    for (std::size_t k = 0; k < rows[i].x.size(); ++k) rows[i].x[k] = static_cast<typename decltype(rows[i].x)::value_type>(i * 32 + k);
  }
  expect_partitions_by(
      e, rows, [](auto r) { return r.key; }, 7);
  expect_partitions(e, rows, [](const auto& q) { return q.order_by_descending([](auto r) { return r.x[3]; }).partitioned(3); });
}

CONFORMS(partition_keys, of_wide_rows, "hash_partitioned_by", "range_partitioned_by", "order_by_descending") {
  expect_wide<wide_100>(e);
  expect_wide<wide_128>(e);
  expect_wide<wide_248>(e);
}

CONFORMS(partition_keys, stay_known_through_row_wise_verbs, "hash_partitioned_by", "range_partitioned_by", "where", "select") {
  const auto changed = [](const auto& q) {
    return q.where([](auto t) { return t.amount > 0; }).select([](auto t) { return t.price * 2; });
  };
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto key = [](auto t) { return t.key; };
    expect_partitions(e, d.rows, [&](const auto& q) { return changed(q.hash_partitioned_by(key, 9)); });
    expect_partitions(e, d.rows, [&](const auto& q) { return changed(q.range_partitioned_by(key, 3)); });
    expect_partitions(e, d.rows, [&](const auto& q) { return changed(q.partitioned(4)); });
  }
}

}  // namespace
}  // namespace conformance
