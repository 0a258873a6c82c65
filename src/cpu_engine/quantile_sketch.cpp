// KLL: values that stand for 1, 2, 4... of them. A level that is full is sorted, and every second of its values goes to the next one.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <query/detail/failure.hpp>
#include <query/sketches.hpp>

namespace query {

namespace {

using word = std::uint64_t;

constexpr std::size_t k = quantile_sketch::exact;
constexpr double shrinks = 2.0 / 3;  // from a level to the one below it, as in the paper
constexpr std::size_t least_capacity = 8;

// The number of values that a level may hold, by its distance from the highest level.
std::size_t capacity_below(std::size_t depth) {
  static const std::array<std::size_t, 64> capacities = [] {
    std::array<std::size_t, 64> c{};
    double of = k;
    for (std::size_t& each : c) {
      each = std::max(least_capacity, static_cast<std::size_t>(of));
      of *= shrinks;
    }
    return c;
  }();
  return capacities[std::min<std::size_t>(depth, 63)];
}

// A radix sort, byte by byte from the lowest; bytes that all values share cost a look.
void sort_words(std::vector<word>& values) {
  constexpr std::size_t few = 64;
  if (values.size() <= few) {
    std::sort(values.begin(), values.end());
    return;
  }
  std::array<std::array<std::uint32_t, 256>, 8> places{};
  for (const word v : values)
    for (unsigned b = 0; b < 8; ++b) ++places[b][v >> (8 * b) & 255];
  std::vector<word> other(values.size());
  for (unsigned b = 0; b < 8; ++b) {
    auto& place = places[b];
    if (place[values.front() >> (8 * b) & 255] == values.size()) continue;
    std::uint32_t next = 0;
    for (std::uint32_t& p : place) next += std::exchange(p, next);
    for (const word v : values) other[place[v >> (8 * b) & 255]++] = v;
    values.swap(other);
  }
}

double number_of(word bits) {
  constexpr word sign = word{1} << 63;
  return std::bit_cast<double>(bits & sign ? bits ^ sign : ~bits);
}

void merge_into(std::vector<word>& to, const std::vector<word>& from) {
  const auto before = static_cast<std::ptrdiff_t>(to.size());
  to.insert(to.end(), from.begin(), from.end());
  std::inplace_merge(to.begin(), to.begin() + before, to.end());
}

}  // namespace

// Of two coins that follow each other, the second is the opposite of the first, so that what they do to ranks cancels out mostly.
bool quantile_sketch::coin(std::size_t level) {
  const word bit = word{1} << level;
  if (halfway_ & bit) {
    halfway_ ^= bit;
    heads_ ^= bit;
  } else {
    halfway_ |= bit;
    noise_ = detail::mixed_bits(noise_);
    heads_ = noise_ & 1 ? heads_ | bit : heads_ & ~bit;
  }
  return (heads_ & bit) != 0;
}

// One of each two values, which are in order, goes to the level above `level`; one that is over stays, the first or the last.
void quantile_sketch::halve(std::vector<word>& values, std::size_t level) {
  const std::size_t first = coin(level), n = values.size();
  const bool keep_last = n % 2 && (noise_ >> 1 & 1) != 0;
  const std::size_t from = n % 2 && !keep_last ? 1 : 0;
  std::vector<word> chosen;
  chosen.reserve(n / 2);
  for (std::size_t i = from + first; i < from + n / 2 * 2; i += 2) chosen.push_back(values[i]);
  if (n % 2) values.front() = keep_last ? values.back() : values.front();
  values.resize(n % 2);
  if (levels_.size() == level) levels_.emplace_back();
  merge_into(levels_[level], chosen);
}

void quantile_sketch::compact() {
  // What the coins hang on: otherwise those of all sketches would fall alike, and their errors would add up where they are merged.
  constexpr std::size_t every = 8;
  for (std::size_t i = 0; i < base_.size(); i += every) noise_ = (noise_ ^ base_[i]) * 0x9e3779b97f4a7c15u;
  noise_ = detail::mixed_bits(noise_);
  sort_words(base_);
  least_ = std::min(least_, base_.front());
  most_ = std::max(most_, base_.back());
  halve(base_, 0);
  compress();
}

void quantile_sketch::compress() {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (levels_[i].size() <= capacity_below(levels_.size() - 1 - i)) continue;
    std::vector<word> full = std::move(levels_[i]);
    halve(full, i + 1);
    levels_[i] = std::move(full);
  }
}

void quantile_sketch::merge(const quantile_sketch& other) {
  if (this == &other) return merge(quantile_sketch(other));
  if (base_.empty() && levels_.empty()) {
    *this = other;
    return;
  }
  if (!other.levels_.empty()) {
    constexpr std::size_t most_levels = 60;  // of weights, and of a bit each
    if (std::max(levels_.size(), other.levels_.size()) >= most_levels)
      throw detail::unplaced_error("quantile_sketch: merged sketches stand for more than 2^60 values");
    least_ = std::min(least_, other.least_);
    most_ = std::max(most_, other.most_);
    noise_ = detail::mixed_bits(noise_ ^ other.noise_ * 3);
    if (levels_.size() < other.levels_.size()) levels_.resize(other.levels_.size());
    for (std::size_t i = 0; i < other.levels_.size(); ++i) merge_into(levels_[i], other.levels_[i]);
    compress();
  }
  for (const word v : other.base_) {
    if (base_.size() == exact) compact();
    base_.push_back(v);
  }
}

std::uint64_t quantile_sketch::count() const {
  std::uint64_t n = base_.size();
  for (std::size_t i = 0; i < levels_.size(); ++i) n += std::uint64_t{levels_[i].size()} << (i + 1);
  return n;
}

std::optional<double> quantile_sketch::quantile(double q) const {
  if (!(q >= 0 && q <= 1)) throw detail::unplaced_error("quantile_sketch: q must lie between 0 and 1: " + std::to_string(q));
  struct weighted {
    word value;
    std::uint64_t weight;
  };
  std::vector<weighted> all;
  for (const word v : base_) all.push_back({v, 1});
  for (std::size_t i = 0; i < levels_.size(); ++i)
    for (const word v : levels_[i]) all.push_back({v, std::uint64_t{2} << i});
  if (all.empty()) return std::nullopt;
  std::sort(all.begin(), all.end(), [](const weighted& a, const weighted& b) { return a.value < b.value; });
  const std::uint64_t n = count();
  const auto at = [&](std::uint64_t rank) {
    if (rank == 0) return number_of(std::min(least_, all.front().value));
    if (rank + 1 >= n) return number_of(std::max(most_, all.back().value));
    std::size_t i = 0;
    for (; rank >= all[i].weight; ++i) rank -= all[i].weight;
    return number_of(all[i].value);
  };
  const double rank = q * static_cast<double>(n - 1);
  const auto below = static_cast<std::uint64_t>(rank);
  const double low = at(below), part = rank - static_cast<double>(below);
  if (part == 0) return low;
  const double high = at(below + 1);
  if (low == high) return low;  // infinities too
  const double apart = high - low;
  return std::isfinite(apart) ? low + part * apart : low * (1 - part) + high * part;
}

}  // namespace query
