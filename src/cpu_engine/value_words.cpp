#include "cpu_engine/value_words.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <type_traits>

#include <query/errors.hpp>

#include "cpu_engine/key_hash.hpp"

namespace query::cpu {

namespace {

constexpr std::uint64_t sign = std::uint64_t{1} << 63;

template <class X> std::uint64_t rank_of(X x) {
  if constexpr (std::is_floating_point_v<X>) {
    const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(x) + 0.0);  // -0.0 is 0.0
    return bits & sign ? ~bits : bits | sign;
  } else if constexpr (std::is_signed_v<X>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) ^ sign;
  } else {
    return x;
  }
}
// The first characters, as C++ compares them: unsigned.
std::uint64_t rank_of(const std::string& s) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < sizeof word; ++i) word = word << 8 | (i < s.size() ? static_cast<unsigned char>(s[i]) : 0u);
  return word;
}

template <class X> bool is_nan(const X& x) {
  if constexpr (std::is_floating_point_v<X>) return x != x;
  else return false;
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  __extension__ using u128 = unsigned __int128;
  const u128 product = u128{a ^ 0x9e3779b97f4a7c15} * (b ^ 0xe7037ed1a0b428db);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

value_words::value_words(const ir::node* value, std::size_t side, runtime::buffer_pool& pool)
    : type_(value->type), side_(side), program_(value), pool_(&pool) {}

// f(values), an array of the type's C++ type.
template <class F> void value_words::visit(const void* rows, std::size_t stride, std::size_t n, scratch& s, F f) const {
  interpreter::binding sides[2];
  sides[side_].base = rows;
  sides[side_].stride = stride;
  if (type_->k == ir::kind::string) {
    rows_buffer strings(type_, *pool_);
    program_.run(sides, {}, n, strings.extend(n), s.registers);
    strings.grow(n);
    return f(static_cast<const std::string*>(strings.data()));
  }
  program_.run(sides, {}, n, s.values, s.registers);
  const void* const v = s.values;
  switch (type_->k) {
    case ir::kind::boolean: return f(static_cast<const bool*>(v));
    case ir::kind::i8: return f(static_cast<const std::int8_t*>(v));
    case ir::kind::i16: return f(static_cast<const std::int16_t*>(v));
    case ir::kind::i32: return f(static_cast<const std::int32_t*>(v));
    case ir::kind::i64: return f(static_cast<const std::int64_t*>(v));
    case ir::kind::u8: return f(static_cast<const std::uint8_t*>(v));
    case ir::kind::u16: return f(static_cast<const std::uint16_t*>(v));
    case ir::kind::u32: return f(static_cast<const std::uint32_t*>(v));
    case ir::kind::u64: return f(static_cast<const std::uint64_t*>(v));
    case ir::kind::f32: return f(static_cast<const float*>(v));
    case ir::kind::f64: return f(static_cast<const double*>(v));
    default: throw internal_error("join_where: a value without an order: " + std::string(type_->name));
  }
}

void value_words::ranks(const void* rows, std::size_t stride, std::size_t n, std::uint64_t* words, bool* there, scratch& s) const {
  visit(rows, stride, n, s, [&](const auto* values) {
    for (std::size_t i = 0; i < n; ++i) {
      words[i] = rank_of(values[i]);
      there[i] = there[i] && !is_nan(values[i]);
    }
  });
}

void value_words::mix_hashes(const void* rows, std::size_t stride, std::size_t n, std::uint64_t* words, bool* there, scratch& s) const {
  visit(rows, stride, n, s, [&](const auto* values) {
    using value = std::remove_cvref_t<decltype(*values)>;
    if constexpr (std::is_same_v<value, std::string>) {
      std::uint64_t hashes[batch_rows];
      hash_keys(*type_, values, n, hashes);
      for (std::size_t i = 0; i < n; ++i) words[i] = mixed(words[i], hashes[i]);
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        words[i] = mixed(words[i], rank_of(values[i]));
        there[i] = there[i] && !is_nan(values[i]);
      }
    }
  });
}

}  // namespace query::cpu
