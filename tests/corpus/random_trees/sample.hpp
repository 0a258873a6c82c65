// The row that random trees are over: every kind of field.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <query/record.hpp>

namespace random_trees {

enum class mood : std::int16_t { calm, brisk, wild };
struct point {
  float x;
  double y;
  std::int16_t k;
};
QUERY_RECORD(point, x, y, k);

struct sample {
  std::int8_t tiny;
  std::int16_t small;
  std::int32_t id;
  std::int64_t large;
  std::uint8_t level;
  std::uint16_t port;
  std::uint32_t flags;
  std::uint64_t bits;
  float ratio;
  double price;
  bool hot;
  mood state;
  std::string name, city;
  std::optional<int> lot;
  std::optional<double> fee;
  std::optional<std::string> note;
  std::optional<point> place;
  std::array<float, 4> x;
  std::array<std::int32_t, 3> counts;
  std::vector<std::int32_t> parts;
  std::vector<double> marks;
  point at;
};
QUERY_RECORD(sample, tiny, small, id, large, level, port, flags, bits, ratio, price, hot, state, name, city, lot, fee, note, place, x,
             counts, parts, marks, at);

struct outcome {
  double value;
  std::int8_t tiny;
  std::string text;
  bool good;
  std::optional<int> lot;
  mood state;
  std::uint64_t bits;
};
QUERY_RECORD(outcome, value, tiny, text, good, lot, state, bits);

// Rows of the smallest, the largest and the strangest values of each field, mixed with plain ones.
std::vector<sample> awkward_rows(std::size_t n, std::uint64_t seed);

}  // namespace random_trees
