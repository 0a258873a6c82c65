// Keys of a table as bytes behind each other, for tables that have to compare: keys and the characters of their strings lie anywhere in
// memory, where each comparison would wait for several pages. Numbers take 8 bytes, strings their length and characters.
//
//   packed_keys packed(type, {}, pool, packed_keys::keep::short_keys);
//   packed_keys::places at = packed.places_of(keys, first);
//   packed.add(at, 3);                                       // key 3 of these becomes number 0
//   if (packed.has(0)) packed.equal(0, at, 5);
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu_engine/key_hash.hpp"
#include "runtime/buffer_pool.hpp"

namespace query::cpu {

class packed_keys {
 public:
  // all: of long strings, optionals, lists and keys with an equality of the user's, the address is kept: keys stay where they are.
  // short_keys: keys with such parts are not packed, and nor are keys of several parts, which differ so often that their hashes nearly
  // always decide: packing each takes more time than the few comparisons.
  enum class keep : std::uint8_t { short_keys, all };
  // `key` and `pool` must outlive the keys.
  packed_keys(const ir::type& key, key_equality custom, runtime::buffer_pool& pool, keep what);

  using places = std::vector<key_part>;  // of the parts that are packed
  places places_of(key_view keys, std::size_t first) const;

  bool packs() const { return packs_; }
  // The next number is that of key `row`.
  void add(const places& at, std::size_t row);
  void skip();  // nobody will ask for the key that has the next number
  bool has(std::size_t number) const { return packs_ && begins_.as<std::uint64_t>()[number] != not_packed; }
  bool equal(std::size_t number, const places& at, std::size_t row) const;

  // Fetch where a key's bytes are, these bytes, and the characters of a key in hand.
  void prefetch(std::size_t number) const {
    if (packs_) __builtin_prefetch(begins_.as<std::uint64_t>() + number);
  }
  void prefetch_bytes(std::size_t number) const {
    if (has(number)) __builtin_prefetch(bytes_.as<std::byte>() + begins_.as<std::uint64_t>()[number]);
  }
  void prefetch_characters(const places& at, std::size_t row) const;
  void clear() { size_ = used_ = 0; }

 private:
  static constexpr std::uint64_t not_packed = ~std::uint64_t{0};
  std::size_t bytes_of(const places& at, std::size_t row) const;  // 0: it is not packed

  key_equality custom_;
  runtime::buffer_pool* pool_;
  bool addresses_, packs_ = true;
  std::vector<key_leaf> leaves_;
  runtime::buffer begins_, bytes_;
  std::size_t size_ = 0, used_ = 0;  // keys; their bytes
};

}  // namespace query::cpu
