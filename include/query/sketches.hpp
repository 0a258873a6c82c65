// Sketches: small summaries of many values that answer with a stated error, and that merge. The aggregates approx_count_distinct,
// approx_quantile and top_k_frequent keep one for each group; use the classes to keep, merge and ask sketches yourself.
//
//   query::distinct_sketch seen;
//   for (const Visit& v : visits) seen.insert(v.user);
//   seen.estimate();                                  // within 1.6% two times out of three
//
// None draws a random number: the same values in the same order, merged in the same order, give the same answer everywhere.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/detail/type.hpp>

namespace query {

namespace detail {

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). Different words have different results.
inline std::uint64_t mixed_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
// A double as a word that sorts as the library does: -0.0 is 0.0, and all NaNs are one value after all numbers.
inline std::uint64_t ordered_bits(double v) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  if (v != v) v = std::numeric_limits<double>::quiet_NaN();
  const auto bits = std::bit_cast<std::uint64_t>(v == 0 ? 0.0 : v);
  return bits & sign ? ~bits : bits | sign;
}

std::uint64_t hash_of_text(std::string_view text);
std::uint64_t hash_of_described(const ir::type* t, const void* value);
bool equal_described(const ir::type* t, const void* a, const void* b);

constexpr std::uint64_t null_of_sketches = 0x2545f4914f6cdd1du;
template <class V> inline constexpr bool is_text = std::is_convertible_v<const V&, std::string_view>;

// Hashes and equality of values as group_by has them for keys: all NaNs are one, -0.0 is 0.0, nulls within a value equal each other.
template <class V> std::uint64_t sketch_hash(const V& v) {
  if constexpr (std::is_enum_v<V>) {
    return sketch_hash(static_cast<std::underlying_type_t<V>>(v));
  } else if constexpr (std::is_integral_v<V>) {
    return mixed_bits(static_cast<std::uint64_t>(v));
  } else if constexpr (std::is_floating_point_v<V>) {
    const auto d = static_cast<double>(v);
    if constexpr (sizeof(V) <= sizeof(double)) return mixed_bits(ordered_bits(d));
    else return mixed_bits(mixed_bits(ordered_bits(d)) ^ ordered_bits(v - v == 0 ? static_cast<double>(v - d) : 0.0));
  } else if constexpr (is_text<V>) {
    return hash_of_text(v);
  } else if constexpr (ir::is_tuple_v<V>) {
    return std::apply([](const auto&... part) {
      std::uint64_t hash = 0;
      ((hash = mixed_bits(hash ^ sketch_hash(part))), ...);
      return hash;
    }, v);
  } else if constexpr (ir::is_optional_v<V>) {
    return v ? sketch_hash(*v) : null_of_sketches;
  } else {
    return hash_of_described(ir::describe<V>(), &v);
  }
}
template <class V, class X> bool sketch_equal(const V& a, const X& b) {
  if constexpr (std::is_floating_point_v<V>) return a == b || (a != a && b != b);
  else if constexpr (std::is_arithmetic_v<V> || std::is_enum_v<V>) return a == b;
  else if constexpr (is_text<V>) return std::string_view(a) == std::string_view(b);
  else return equal_described(ir::describe<V>(), &a, &b);
}

// The value at place n, from 0, of the numbers in descending order.
std::int64_t nth_largest(std::vector<std::int64_t> numbers, std::size_t n);
// The places of the k largest numbers, the largest first, equal ones in the order in which they stand.
std::vector<std::uint32_t> places_of_largest(const std::vector<std::int64_t>& numbers, std::size_t k);

}  // namespace detail

// How many different values there are: HyperLogLog (Flajolet, Fusy, Gandouet, Meunier, AofA 2007) with 4,096 registers and 64-bit hashes,
// and the improved estimator of Ertl (New cardinality estimation algorithms for HyperLogLog sketches, arXiv 1702.01284, algorithm 6).
// Up to 512 different values it keeps their hashes and is exact; beyond that, the standard error is 1.6% of the number.
// The state and the answer depend on the set of values alone: neither on their order nor on how sketches were merged.
// Memory: 16 bytes a value at most, then 4 KiB. insert: O(1).
class distinct_sketch {
 public:
  static constexpr unsigned precision = 12;
  static constexpr std::size_t registers = std::size_t{1} << precision;
  static constexpr std::size_t exact = 512;

  // A number, enum, string, optional, array, tuple, list or record of these.
  template <class V> void insert(const V& value) { insert_hash(detail::sketch_hash(value)); }
  // hash: uniform in all 64 bits.
  void insert_hash(std::uint64_t hash) {
    hash += hash == 0;
    if (dense_) raise(hash);
    else if (words_.empty() || words_[hash & (words_.size() - 1)] != hash) insert_sparse(hash);
  }
  void merge(const distinct_sketch& other);
  std::int64_t estimate() const;
  std::size_t heap_bytes() const { return words_.capacity() * sizeof(std::uint64_t); }

 private:
  unsigned char* ranks() { return reinterpret_cast<unsigned char*>(words_.data()); }
  void raise(std::uint64_t hash) {
    const auto rank = static_cast<unsigned char>(std::countl_zero(hash << precision | std::uint64_t{1} << (precision - 1)) + 1);
    unsigned char& kept = ranks()[hash >> (64 - precision)];
    if (kept < rank) kept = rank;
  }
  void insert_sparse(std::uint64_t hash);
  void place(std::uint64_t hash);
  void become_dense();

  std::vector<std::uint64_t> words_;  // hashes, open addressing, 0: empty; or the registers, a byte each
  std::uint32_t size_ = 0;            // of hashes
  bool dense_ = false;
};

// The value at any rank of many numbers: KLL (Karnin, Lang, Liberty: Optimal Quantile Approximation in Streams, FOCS 2016) with k = 1,024.
// Up to 1,024 values it keeps all of them and is exact; beyond that, the rank of an answer is off by less than 0.5% of the number of
// values with a probability of 99%. Least and largest value are always exact. -0.0 is 0.0; NaNs come after all numbers.
// Where a random bit decides which of two neighbours stays, it is a hash of values that came before, so that answers repeat. They do
// depend on the order of values and merges, within the bound.
// Memory: at most 16 bytes a value, and 48 KiB. insert: O(1) amortised, quantile: O(k log k).
class quantile_sketch {
 public:
  static constexpr std::size_t exact = 1024;

  void insert(double value) {
    if (base_.size() == exact) compact();
    base_.push_back(detail::ordered_bits(value));
  }
  void merge(const quantile_sketch& other);
  std::uint64_t count() const;
  std::size_t heap_bytes() const {  // about
    constexpr std::size_t of_many = std::size_t{48} << 10;
    return levels_.empty() ? base_.capacity() * sizeof(std::uint64_t) : of_many;
  }
  // Interpolated linearly at rank q (n - 1), q from 0 to 1, as the exact quantile is; empty of no values. user_error: another q.
  std::optional<double> quantile(double q) const;

 private:
  void compact();
  void compress();
  void halve(std::vector<std::uint64_t>& values, std::size_t level);
  bool coin(std::size_t level);

  std::vector<std::uint64_t> base_;                 // in the order in which they came
  std::vector<std::vector<std::uint64_t>> levels_;  // in order; each of levels_[i] stands for 2^(i + 1) values
  std::uint64_t least_ = ~std::uint64_t{0}, most_ = 0;  // of what has left the base
  std::uint64_t noise_ = 0;
  std::uint64_t heads_ = 0, halfway_ = 0;  // a bit a level: its last coin, and whether the next one is its opposite
};

// Which values are most frequent, and how often each is there: Misra and Gries (Finding repeated elements, 1982), as a mergeable summary
// (Agarwal, Cormode, Huang, Phillips, Wei, Yi, PODS 2012, section 2). Up to 2 * capacity different values it is exact.
// Beyond that a count is too small by error() at most, which is at most n / (capacity + 1) of n values, and never too large; every
// value that is there more often than that is found.
// Memory: up to 2 * capacity values, of those that came only. insert: O(1) amortised.
template <class V> class frequency_sketch {
 public:
  using counts = std::vector<std::pair<V, std::int64_t>>;
  static constexpr std::size_t default_capacity = 1000;

  // capacity: at least 1
  explicit frequency_sketch(std::size_t capacity = default_capacity) : capacity_(capacity ? capacity : 1) {}
  // x: a V, or what one is made of; of strings, a std::string_view is not copied where the value is known.
  template <class X> void insert(const X& x, std::int64_t times = 1) {
    if constexpr (std::is_same_v<X, V> || (detail::is_text<V> && detail::is_text<X>)) insert_hashed(x, detail::sketch_hash(x), times);
    else insert(static_cast<V>(x), times);
  }
  void merge(const frequency_sketch& other) {
    if (this == &other) return merge(frequency_sketch(other));
    error_ += other.error_;
    for (const counted& c : other.values_) insert_hashed(c.value, c.hash, c.times);
  }
  // The k most frequent values and their counts, the most frequent first; of equal counts, the value that was there first.
  counts top(std::size_t k) const {
    counts best;
    for (const std::uint32_t i : detail::places_of_largest(times(), k)) best.emplace_back(values_[i].value, values_[i].times);
    return best;
  }
  std::int64_t error() const { return error_; }
  // Without what the values own.
  std::size_t heap_bytes() const { return values_.capacity() * sizeof(counted) + slots_.capacity() * sizeof(std::uint32_t); }
  std::size_t capacity() const { return capacity_; }

 private:
  struct counted {
    V value;
    std::int64_t times;
    std::uint64_t hash;
  };
  static constexpr std::uint32_t empty = ~std::uint32_t{0};

  template <class X> void insert_hashed(const X& x, std::uint64_t hash, std::int64_t times) {
    if (slots_.empty()) grow();
    std::uint32_t* slot = find(x, hash);
    if (*slot != empty) {
      values_[*slot].times += times;
      return;
    }
    if (values_.size() == 2 * capacity_) shrink();
    else if (2 * values_.size() >= slots_.size()) grow();
    slot = find(x, hash);
    values_.push_back({V(x), times, hash});
    *slot = static_cast<std::uint32_t>(values_.size() - 1);
  }
  template <class X> std::uint32_t* find(const X& x, std::uint64_t hash) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const std::uint32_t at = slots_[i];
      if (at == empty || (values_[at].hash == hash && detail::sketch_equal<V>(values_[at].value, x))) return &slots_[i];
    }
  }
  void grow() {
    slots_.resize(slots_.empty() ? 8 : 2 * slots_.size());
    place_all();
  }
  void place_all() {
    slots_.assign(slots_.size(), empty);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t n = 0; n < values_.size(); ++n) {
      std::size_t i = values_[n].hash & mask;
      while (slots_[i] != empty) i = (i + 1) & mask;
      slots_[i] = static_cast<std::uint32_t>(n);
    }
  }
  std::vector<std::int64_t> times() const {
    std::vector<std::int64_t> all;
    all.reserve(values_.size());
    for (const counted& c : values_) all.push_back(c.times);
    return all;
  }
  // Takes from all counts that of the value after the `capacity` most frequent ones: as much from capacity + 1 of them at least.
  void shrink() {
    const std::int64_t less = detail::nth_largest(times(), capacity_);
    std::size_t kept = 0;
    for (counted& c : values_) {
      if (c.times <= less) continue;
      c.times -= less;
      if (&c != &values_[kept]) values_[kept] = std::move(c);
      ++kept;
    }
    values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(kept), values_.end());
    error_ += less;
    place_all();
  }

  std::vector<counted> values_;       // in the order in which they came
  std::vector<std::uint32_t> slots_;  // their places, open addressing
  std::size_t capacity_;
  std::int64_t error_ = 0;
};

}  // namespace query
