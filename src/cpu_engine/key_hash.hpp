// Hashes and equality of keys, the same for grouping, joins and partitioning on every engine.
//
// Nulls equal each other, all NaNs equal, -0.0 equals 0.0. Hashes are functions of the key's value alone: the same in every
// process of a cluster that runs the same version of the library.
//
//   hash_keys(*ir::describe<std::int64_t>(), keys, n, hashes);   // machine = hashes[i] >> shift: tables use the lower bits
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <query/detail/known_keys.hpp>
#include <query/detail/type.hpp>

#include "cpu_engine/key_view.hpp"

namespace query::cpu {

// A user's own equality; needed for types without a description.
struct key_equality {
  bool (*equal)(const void* context, const void* a, const void* b) = nullptr;
  std::uint64_t (*hash)(const void* context, const void* a) = nullptr;
  const void* context = nullptr;
  bool sees_nulls = true;  // else keys that are null, or have a null part, are equal to nothing, and are not handed to the functions
  explicit operator bool() const { return equal != nullptr; }
  bool same(const ir::type& key, const void* a, const void* b) const;
};

// Parts of a key that lie at fixed places: no records or arrays.
struct key_leaf {
  const ir::type* type;
  std::size_t offset;
};
std::vector<key_leaf> leaves_of(const ir::type& key);

// Can keys of this type be hashed and compared without the user's functions?
bool hashable(const ir::type& type);

// Writes the hashes of n adjacent keys; uniform in all 64 bits. Throws user_error if the type is not hashable.
void hash_keys(const ir::type& type, const void* keys, std::size_t n, std::uint64_t* out, key_equality custom = {});
// The same of keys [first, first + n) wherever they lie; a user's own equality wants them whole.
void hash_keys(const ir::type& type, key_view keys, std::size_t first, std::size_t n, std::uint64_t* out, key_equality custom = {});

// Which of some partitions rows of this hash go to, wherever rows are put apart by hash for the user, or between processes.
inline std::size_t partition_of(std::uint64_t hash, std::size_t partitions) {
  __extension__ using u128 = unsigned __int128;
  return static_cast<std::size_t>(u128{hash} * partitions >> 64);
}

bool equal_keys(const ir::type& type, const void* a, const void* b);
bool equal_keys(key_view a, std::size_t i, key_view b, std::size_t j);  // b: in the same parts, or whole keys
std::uint64_t hash_key(const ir::type& type, const void* key);  // one value, driven by its description: slow

// Writes 1 where the key is null or has a null part (records, tuples and arrays), else 0; returns how many. Never looks
// into lists.
std::size_t find_nulls(const ir::type& type, const void* keys, std::size_t n, std::uint8_t* out);
bool may_be_null(const ir::type& type);
bool is_null(const ir::type& type, const void* key);

using detail::hash_word;

}  // namespace query::cpu
