// The data of the conformance tests: records with every kind of field, filled in awkward ways from a printed seed.
//
//   for (const auto& d : trades()) { SCOPED_TRACE(d.name); check(d.rows); }
//
// QUERY_TEST_SEED=n in the environment chooses other random values.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <query/record.hpp>

namespace conformance {

enum class side : std::int8_t { buy = -1, none = 0, sell = 7 };

struct trade {
  std::int32_t id;  // the row's number
  std::int32_t key;
  std::int64_t amount;
  double price;
  std::string name;
  std::optional<std::int32_t> lot;
  std::optional<std::string> note;
  side way;
  bool hot;
  std::array<std::int32_t, 3> legs;
};
QUERY_RECORD(trade, id, key, amount, price, name, lot, note, way, hot, legs);

// Plain numbers: rows that are handed on by reference and copied as bytes. Prices are multiples of 1/8: sums are exact.
struct tick {
  std::int32_t id;
  std::int32_t key;
  std::int64_t amount;
  double price;
};
QUERY_RECORD(tick, id, key, amount, price);

// The other side of joins.
struct rate {
  std::int32_t key;
  std::int64_t factor;
  std::string name;
  std::optional<std::int32_t> lot;
};
QUERY_RECORD(rate, key, factor, name, lot);

template <class T> struct data_set {
  std::string name;
  std::vector<T> rows;
};

std::uint64_t seed();

// empty, one row, equal keys, few keys, all distinct, skewed, duplicates, odd floats, nulls, extremes; up to 1500 rows.
const std::vector<data_set<trade>>& trades();
// Sizes around the borders of batches and parts, up to 200000 rows: few keys, distinct keys, skewed.
const std::vector<data_set<tick>>& ticks();
// Those of at most 1025 rows.
const std::vector<data_set<tick>>& small_ticks();
// empty, one, unique keys, duplicates, nulls.
const std::vector<data_set<rate>>& rates();

const std::vector<trade>& few_trades();  // 1500 rows, few keys, nulls here and there
const std::vector<tick>& many_ticks();   // 65537 rows, few keys

// For the verbs that compare rows with ==: contains, sequence_equal.
inline bool operator==(const tick& a, const tick& b) {
  return a.id == b.id && a.key == b.key && a.amount == b.amount && a.price == b.price;
}

}  // namespace conformance
