// Rows that the GPU's benchmarks share, so that their figures can be laid side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <query/query.hpp>

namespace bench {

struct Row {
  std::uint32_t key;
  float weight;
  double value;
};
QUERY_RECORD(Row, key, weight, value);
struct Side {
  std::uint32_t id;
  float rate;
};
QUERY_RECORD(Side, id, rate);

// Random keys below `keys`, or of all 32 bits (xorshift: Marsaglia 2003).
inline std::vector<Row> make_rows(std::size_t n, std::uint64_t keys = std::uint64_t{1} << 32) {
  std::vector<Row> rows(n);
  std::uint64_t state = 88172645463325252ull;
  for (Row& r : rows) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    r = {static_cast<std::uint32_t>((state >> 32) % keys), static_cast<float>(state & 1023), static_cast<double>(state >> 40)};
  }
  return rows;
}

}  // namespace bench
