// Single values as order-preserving unsigned numbers: the coding that order_keys and key_words share.
//
//   ordered(-1.5) < ordered(2.0);   pack(*ir::describe<std::optional<int>>(), at, 33, false, true)
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <query/detail/type.hpp>
#include <query/errors.hpp>

#include "cpu_engine/order_keys.hpp"

namespace query::cpu {

__extension__ using u128 = unsigned __int128;

template <class T>
T load(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <class T>
std::uint64_t ordered(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? 1 : 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    using bits_type = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr bits_type sign = bits_type{1} << (sizeof(T) * 8 - 1);
    const bits_type bits = std::bit_cast<bits_type>(value + T{0});  // -0.0 + 0.0 is 0.0
    const bits_type flip = (bits & sign) != 0 ? static_cast<bits_type>(~bits_type{0}) : sign;
    return value != value ? static_cast<bits_type>(~bits_type{0}) : static_cast<bits_type>(bits ^ flip);
  } else if constexpr (std::is_signed_v<T>) {
    using bits_type = std::make_unsigned_t<T>;
    return static_cast<bits_type>(static_cast<bits_type>(value) ^ static_cast<bits_type>(bits_type{1} << (sizeof(T) * 8 - 1)));
  } else {
    return value;
  }
}

// Calls f(T{}) with the C++ type of an arithmetic kind.
template <class F>
decltype(auto) with_type(ir::kind k, F&& f) {
  switch (k) {
    case ir::kind::boolean: return f(bool{});
    case ir::kind::i8: return f(std::int8_t{});
    case ir::kind::i16: return f(std::int16_t{});
    case ir::kind::i32: return f(std::int32_t{});
    case ir::kind::i64: return f(std::int64_t{});
    case ir::kind::u8: return f(std::uint8_t{});
    case ir::kind::u16: return f(std::uint16_t{});
    case ir::kind::u32: return f(std::uint32_t{});
    case ir::kind::u64: return f(std::uint64_t{});
    case ir::kind::f32: return f(float{});
    case ir::kind::f64: return f(double{});
    default: throw internal_error("order_keys: not an arithmetic kind: " + std::string(ir::scalar_name(k)));
  }
}

inline unsigned scalar_bits(const ir::type& t) { return t.k == ir::kind::boolean ? 1 : static_cast<unsigned>(t.size) * 8; }

// Bits of a type whose values all take the same number, at most 128; nothing for others.
inline std::optional<unsigned> fixed_bits(const ir::type& t) {
  const auto sum = [](std::optional<unsigned> total, std::optional<unsigned> part, std::size_t times) -> std::optional<unsigned> {
    if (!total || !part || times > 128 || *total + *part * times > 128) return std::nullopt;
    return *total + *part * static_cast<unsigned>(times);
  };
  if (ir::is_arithmetic(t.k)) return scalar_bits(t);
  if (t.k == ir::kind::optional) return sum(1, fixed_bits(*t.element), 1);
  if (t.k == ir::kind::array) return sum(0, fixed_bits(*t.element), t.count);
  if (t.k != ir::kind::record) return std::nullopt;
  std::optional<unsigned> total = 0;
  for (const ir::field& f : t.fields()) total = sum(total, fixed_bits(*f.of), 1);
  return total;
}

constexpr u128 low_mask(unsigned bits) { return bits >= 128 ? ~u128{0} : (u128{1} << bits) - 1; }

// The first n <= 8 bytes in memory order, then zeros; reads nothing beyond them. Loads may overlap: that or-s equal bytes.
inline std::uint64_t load_bytes(const char* at, std::size_t n) {
  if (n >= 8) return load<std::uint64_t>(at);
  if (n >= 4) return load<std::uint32_t>(at) | std::uint64_t{load<std::uint32_t>(at + n - 4)} << (n - 4) * 8;
  if (n == 0) return 0;
  const auto byte = [at](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(at[i])} << i * 8; };
  return byte(0) | byte(n / 2) | byte(n - 1);
}

// The first characters (7 or 15), most significant first, then the length, at most one more than the characters.
inline u128 string_word(std::string_view s, unsigned characters) {
  const std::size_t n = s.size();
  if (characters == 7) return __builtin_bswap64(load_bytes(s.data(), std::min<std::size_t>(n, 7))) | std::min<std::size_t>(n, 8);
  const std::uint64_t high = __builtin_bswap64(load_bytes(s.data(), std::min<std::size_t>(n, 8)));
  const std::uint64_t low = n > 8 ? __builtin_bswap64(load_bytes(s.data() + 8, std::min<std::size_t>(n - 8, 7))) : 0;
  return u128{high} << 64 | low | std::min<std::size_t>(n, 16);
}

// One value of a fixed width (or a string of `bits` bits), whatever it is made of.
inline u128 pack(const ir::type& t, const std::byte* at, unsigned bits, bool descending, bool nulls_first) {
  switch (t.k) {
    case ir::kind::string: {
      const u128 word = string_word(*reinterpret_cast<const std::string*>(at), bits / 8 - 1);
      return descending ? ~word & low_mask(bits) : word;
    }
    case ir::kind::optional: {
      const void* value = t.get.value(at);
      const u128 flag = (value != nullptr) == nulls_first ? 1 : 0;  // a null is 0 where nulls come first, else 1
      const u128 rest = value == nullptr ? 0 : pack(*t.element, static_cast<const std::byte*>(value), bits - 1, descending, nulls_first);
      return flag << (bits - 1) | rest;
    }
    case ir::kind::array:
    case ir::kind::record: {
      u128 word = 0;
      const auto add = [&](const ir::type& part, const std::byte* where) {
        const unsigned width = *fixed_bits(part);
        word = (width >= 128 ? 0 : word << width) | pack(part, where, width, descending, nulls_first);
      };
      if (t.k == ir::kind::record)
        for (const ir::field& f : t.fields()) add(*f.of, at + f.offset);
      else
        for (std::size_t i = 0; i < t.count; ++i) add(*t.element, at + i * t.element->size);
      return word;
    }
    default: {
      const std::uint64_t word = with_type(t.k, [&](auto v) { return ordered(load<decltype(v)>(at)); });
      return descending ? ~u128{word} & low_mask(bits) : u128{word};
    }
  }
}

// Appends `bits` bits to a word, or starts it with them.
template <bool First>
void put(std::uint64_t& word, std::uint64_t value, unsigned bits) {
  if constexpr (First) word = value;
  else word = word << bits | value;  // whatever is not first has less than 64 bits
}
template <bool First>
void put(wide_word& word, std::uint64_t value, unsigned bits) {
  if constexpr (First) word = {0, value};
  else if (bits >= 64) word = {word.low, value};
  else word = {word.high << bits | word.low >> (64 - bits), word.low << bits | value};
}
template <bool First>
void put(std::uint64_t& word, u128 value, unsigned bits) {
  put<First>(word, static_cast<std::uint64_t>(value), bits);
}
template <bool First>
void put(wide_word& word, u128 value, unsigned bits) {
  u128 all = u128{word.high} << 64 | word.low;
  all = First || bits >= 128 ? value : all << bits | value;
  word = {static_cast<std::uint64_t>(all >> 64), static_cast<std::uint64_t>(all)};
}

}  // namespace query::cpu
