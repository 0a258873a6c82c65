// Gives each distinct key a number, 0, 1, 2... in order of first appearance: the table under group_by, distinct and sets.
//
// The table is chosen by the key: integers of a small range index an array; keys of up to 8 and up to 16
// bytes, packed, lie in plain slots; so do strings, by length, with a comparison only for those over 15 characters;
// anything else goes through tagged slots to dense entries. What must be compared lies packed (packed_keys.hpp). A table that
// outgrows its choice moves to the next one.
// One thread at a time; find() may run on several.
//
//   grouper groups(ir::describe<std::string>(), pool);
//   groups.find_or_insert(keys, n, ids);                     // ids[i] < groups.size()
//   auto* distinct = static_cast<const std::string*>(groups.keys());
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <query/detail/type.hpp>

#include "cpu_engine/code_ids.hpp"
#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/key_words.hpp"
#include "cpu_engine/stored_keys.hpp"
#include "runtime/buffer_pool.hpp"

namespace query::cpu {

class key_table;

class grouper {
 public:
  static constexpr std::uint32_t absent = ~0u;

  // parts: all keys come as the same parts, and are kept so (stored_keys.hpp). nothing: all keys stay where they are until the grouper
  // has gone; it gives their numbers, not the keys.
  enum class keep : std::uint8_t { whole, parts, nothing };
  // Throws user_error if the type is neither hashable nor given an equality, or cannot be copied. `key` and `pool` must
  // outlive the grouper.
  grouper(const ir::type* key, runtime::buffer_pool& pool, key_equality custom = {}, keep what = keep::whole);
  ~grouper();
  grouper(grouper&&) noexcept;
  grouper& operator=(grouper&&) noexcept;

  // Writes the ids of n adjacent keys; new keys are copied. Throws resource_error beyond 2^32 - 2 keys or out of memory,
  // and what the copying of a key throws; the grouper can then only be cleared or destroyed.
  void find_or_insert(const void* keys, std::size_t n, std::uint32_t* ids);
  // The same of keys [first, first + n) wherever they lie; parts in several columns want a key type that can be constructed and
  // assigned. marks: of these keys. The table uses hashes if hashes() says so, and words of its own form, as after expect_words().
  void find_or_insert(key_view keys, std::size_t first, std::size_t n, std::uint32_t* ids, key_marks marks = {});
  bool hashes() const;
  key_marks marks() const;  // of the table's own keys, by id, until the next call; perhaps none

  // Writes ids, `absent` for unknown keys.
  void find(const void* keys, std::size_t n, std::uint32_t* ids) const;
  void find(key_view keys, std::size_t first, std::size_t n, std::uint32_t* ids, key_marks marks = {}) const;

  // For keys that are single integers (detail::integer_key), while their tables are small enough to be searched without
  // prefetching; else empty. Valid until the next find_or_insert, reserve or clear.
  detail::known_keys known() const;

  std::size_t size() const { return size_; }
  key_view stored() const { return stored_.view(); }  // by id; moves when the table grows
  // Whole keys: size() values of K.
  const void* keys() const { return stored_.whole(); }
  const void* key(std::uint32_t id) const { return static_cast<const std::byte*>(keys()) + id * key_->size; }
  const ir::type& key_type() const { return *key_; }

  void reserve(std::size_t keys);  // a hint
  void expect_sparse();            // a hint: the keys are a few of their range, as those of a partition are
  void expect_words();             // of a table without keys: words in form::string come with them, if they have that form
  // Appends keys, side by side, that it does not have. They are not entered: it can then only give its keys.
  void store(const void* keys, std::size_t n);
  void clear();                    // forgets the keys, keeps the memory
  stored_keys take_keys() { return std::move(stored_); }  // the grouper can then only be destroyed

 private:
  void insert(key_view keys, std::size_t first, std::size_t n, std::uint32_t* ids, key_marks marks);
  void find_or_insert_codes(key_view keys, std::size_t first, std::size_t n, std::uint32_t* ids);

  const ir::type* key_;
  std::unique_ptr<key_table> table_;
  std::unique_ptr<code_ids> codes_;  // null: of keys with an equality of the user's
  bool stores_;
  stored_keys stored_;
  std::size_t size_ = 0;
};

}  // namespace query::cpu
