// Times as unsigned numbers of 64 bits whose order is theirs: what asof_table compares.
//
//   asof_time time(type);                               // a number, or an optional of one
//   bool all = time.words(values, stride, n, words, timeless);
//   time.allows(tolerance, words[0], words[1]);
#pragma once

#include <cstddef>
#include <cstdint>

#include <query/detail/asof_options.hpp>
#include <query/detail/type.hpp>

namespace query::cpu {

class asof_time {
 public:
  explicit asof_time(const ir::type* type);

  // Writes the words of n times; timeless[i]: it is null or NaN, and its word means nothing. Are there none of these?
  bool words(const void* times, std::size_t stride, std::size_t n, std::uint64_t* out, std::uint8_t* timeless) const;
  // Of n times by number. How many are neither null nor NaN? Others have some word.
  std::size_t words_of(const void* times, std::size_t stride, const std::uint64_t* rows, std::size_t n, std::uint64_t* out) const;
  std::uint64_t word(const void* time) const;  // of one that is neither
  // May there be times that are null or NaN?
  bool may_be_timeless() const { return optional_ || ir::is_floating(kind_); }
  // Are times of 64 bits that are there read as fast as their words?
  bool read_in_place() const { return !optional_ && (kind_ == ir::kind::i64 || kind_ == ir::kind::u64 || kind_ == ir::kind::f64); }
  ir::kind kind() const { return kind_; }

  // How far the times of two words are apart is a number of integers, and a double of others.
  bool allows(const asof_tolerance& t, std::uint64_t a, std::uint64_t b) const;
  bool nearer(std::uint64_t from, std::uint64_t a, std::uint64_t b) const;  // a, than b

 private:
  template <class T> const void* value(const void* time) const;

  const ir::type* type_;
  bool optional_;
  ir::kind kind_;
};

}  // namespace query::cpu
