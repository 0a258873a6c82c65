// HyperLogLog: hashes of few values, registers of many, and the number that they stand for.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <query/sketches.hpp>

#include "cpu_engine/key_hash.hpp"

namespace query {

namespace detail {

std::uint64_t hash_of_text(std::string_view text) { return mixed_bits(std::hash<std::string_view>()(text)); }
std::uint64_t hash_of_described(const ir::type* t, const void* value) {
  std::uint64_t hash = 0;
  cpu::hash_keys(*t, value, 1, &hash);
  return mixed_bits(hash);
}
bool equal_described(const ir::type* t, const void* a, const void* b) { return cpu::equal_keys(*t, a, b); }

}  // namespace detail

namespace {

constexpr unsigned most_rank = 64 - distinct_sketch::precision + 1;

// Ertl's sigma and tau: the series of section 4 until they stand still.
double sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double sum = x, before = 0;
  for (double y = 1; sum != before; y += y) {
    x *= x;
    before = sum;
    sum += x * y;
  }
  return sum;
}
double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double sum = 1 - x, before = 0;
  for (double y = 0.5; sum != before; y *= 0.5) {
    x = std::sqrt(x);
    before = sum;
    sum -= (1 - x) * (1 - x) * y;
  }
  return sum / 3;
}

}  // namespace

void distinct_sketch::place(std::uint64_t hash) {
  const std::size_t mask = words_.size() - 1;
  std::size_t i = hash & mask;
  while (words_[i] && words_[i] != hash) i = (i + 1) & mask;
  size_ += words_[i] == 0;
  words_[i] = hash;
}

void distinct_sketch::insert_sparse(std::uint64_t hash) {
  if (2 * (size_ + 1) > words_.size()) {
    const std::size_t slots = std::max<std::size_t>(4, 2 * words_.size());
    const std::vector<std::uint64_t> before = std::exchange(words_, std::vector<std::uint64_t>(slots));
    size_ = 0;
    for (const std::uint64_t h : before)
      if (h) place(h);
  }
  place(hash);
  if (size_ > exact) become_dense();
}

void distinct_sketch::become_dense() {
  const std::vector<std::uint64_t> before = std::exchange(words_, std::vector<std::uint64_t>(registers / sizeof(std::uint64_t)));
  dense_ = true;
  size_ = 0;
  for (const std::uint64_t h : before)
    if (h) raise(h);
}

void distinct_sketch::merge(const distinct_sketch& other) {
  if (this == &other) return;
  if (!other.dense_) {
    for (const std::uint64_t h : other.words_)
      if (h) insert_hash(h);
    return;
  }
  if (!dense_) become_dense();
  const auto* const from = reinterpret_cast<const unsigned char*>(other.words_.data());
  unsigned char* const to = ranks();
  for (std::size_t i = 0; i < registers; ++i) to[i] = std::max(to[i], from[i]);
}

std::int64_t distinct_sketch::estimate() const {
  if (!dense_) return size_;
  const auto* const rank = reinterpret_cast<const unsigned char*>(words_.data());
  std::array<std::uint32_t, most_rank + 1> with{};
  for (std::size_t i = 0; i < registers; ++i) ++with[rank[i]];
  constexpr double m = registers;
  double sum = m * tau(1 - with[most_rank] / m);
  for (unsigned k = most_rank - 1; k >= 1; --k) sum = 0.5 * (sum + with[k]);
  sum += m * sigma(with[0] / m);
  constexpr double alpha = 0.72134752044448170368;  // 1 / (2 ln 2)
  const double n = alpha * m * m / sum;
  return n < 9e18 ? std::llround(n) : std::numeric_limits<std::int64_t>::max();
}

}  // namespace query
