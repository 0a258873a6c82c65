// The integer keys that a table of groups holds so far, laid open: one loop finds a row's group and updates its state, with
// no array of keys, hashes or ids in between.
//
// grouper (src/cpu_engine) fills it in and owns the memory; the user's compiler reads it (aggregate_calls.hpp). A key that is
// not found is not an error: the loop stops there, and the table takes the key in.
//
//   const known_keys known = groups.known();
//   std::uint32_t id = known.find(key);        // known_keys::absent: not there yet
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <query/detail/chrono_types.hpp>

namespace query::detail {

template <class K> inline constexpr bool is_integer_key = (std::is_integral_v<K> || std::is_enum_v<K>) && sizeof(K) <= 8;
template <ir::counted K> inline constexpr bool is_integer_key<K> = std::is_integral_v<ir::number_in_t<K>>;
template <class K> concept integer_key = is_integer_key<K>;

// Spreads a word over 64 bits: both halves of a 128-bit product, as in wyhash (Wang Yi, github.com/wangyi-fudan/wyhash).
inline std::uint64_t hash_word(std::uint64_t x) {
  __extension__ using u128 = unsigned __int128;
  const u128 product = u128{x ^ 0xa0761d6478bd642fu} * 0xe7037ed1a0b428dbu;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// A slot of an open-addressing table; id absent: empty.
template <class Word> struct key_slot {
  Word word;
  std::uint32_t id;
};

struct known_keys {
  static constexpr std::uint32_t absent = ~0u;

  std::uint64_t offset = 0;              // what is looked up is the key, widened to 64 bits, plus this
  const std::uint32_t* dense = nullptr;  // ids, for numbers below `range`
  std::uint64_t range = 0;
  const void* slots = nullptr;           // instead of dense: key_slots, of 32-bit words for keys of up to 4 bytes, else of 64
  std::uint64_t mask = 0;                // number of slots - 1

  explicit operator bool() const { return dense != nullptr || slots != nullptr; }

  template <integer_key K> __attribute__((always_inline)) std::uint32_t find(K key) const {
    const std::uint64_t number = widened(key) + offset;
    if (dense != nullptr) return number < range ? dense[number] : absent;
    using word = std::conditional_t<sizeof(K) <= 4, std::uint32_t, std::uint64_t>;
    const auto* s = static_cast<const key_slot<word>*>(slots);
    for (std::uint64_t i = hash_word(number) & mask;; i = (i + 1) & mask)
      if (s[i].word == static_cast<word>(number) || s[i].id == absent) return s[i].id;
  }

 private:
  template <class K> static std::uint64_t widened(K key) {
    if constexpr (std::is_enum_v<K>) return widened(static_cast<std::underlying_type_t<K>>(key));
    else if constexpr (ir::counted<K>) {
      ir::number_in_t<K> number;
      std::memcpy(&number, &key, sizeof number);
      return widened(number);
    } else if constexpr (std::is_signed_v<K>) return static_cast<std::uint64_t>(static_cast<std::int64_t>(key));
    else return key;
  }
};

}  // namespace query::detail
