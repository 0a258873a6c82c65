// The hashes by which group_by puts rows and groups apart. Where keys have strings, they are those of the words that tables compare: rows
// keep their words, and nobody reads the strings again, which lie anywhere in memory. Other keys have the hashes of hash_keys.
//
//   group_hash hash(type, equality);
//   hash(keys, 0, n, hashes, words);      // partition = hashes[i] >> (64 - bits); words: only if hash.has_words()
#pragma once

#include "cpu_engine/key_tables.hpp"
#include "cpu_engine/key_words.hpp"

namespace query::cpu {

class group_hash {
 public:
  static constexpr key_words::form form = key_words::form::string;  // of words

  // `key` must outlive it.
  group_hash(const ir::type& key, key_equality equality) : type_(&key), equality_(equality), words_(key, equality) {}

  bool has_words() const { return words_.has_string_form(); }
  bool helps_tables() const { return words_.may_hash(); }  // grouper::hashes()

  // Of keys [first, first + n); writes their words, too, if words is not null.
  void operator()(key_view keys, std::size_t first, std::size_t n, std::uint64_t* to, wide_word* words = nullptr) const {
    if (!has_words()) return hash_keys(*type_, keys, first, n, to, equality_);
    wide_word some[block_keys];
    for (std::size_t done = 0; done < n; done += block_keys) {
      const std::size_t m = std::min(block_keys, n - done);
      wide_word* const of = words ? words + done : some;
      words_.encode(form, keys, first + done, m, of);
      for (std::size_t i = 0; i < m; ++i) to[done + i] = of_word(of[i]);
    }
  }
  static std::uint64_t of_word(const wide_word& word) { return tagged_table::hash(word); }

 private:
  static constexpr std::size_t block_keys = 1024;

  const ir::type* type_;
  key_equality equality_;
  key_words words_;
};

}  // namespace query::cpu
