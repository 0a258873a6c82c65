// Keys of any type as words for tables: equal keys have equal words, and for most types the other way round too.
//
// Forms, from the cheapest on: `narrow` and `word` pack all parts of a key into 32 and 64 bits, `wide` into 128 (numbers as
// in order_keys, strings as 7 characters and a length); `string` holds the same, or 15 characters if the key is one string, or, for
// longer ones, a hash; `hashed` holds a hash only. A key that does not fit its form (a long string among short ones) asks for next(form).
//
//   key_words words(*key, {});
//   auto form = words.first_form();
//   while (words.encode(form, keys, n, out64) != 0) form = words.next(form);   // out: wide_word* beyond form::word
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/order_keys.hpp"

namespace query::cpu {

class key_words {
 public:
  enum class form : std::uint8_t { narrow, word, wide, string, hashed };

  // Throws user_error if the type is neither hashable nor given an equality.
  key_words(const ir::type& key, key_equality custom);

  form first_form() const { return first_; }
  form next(form f) const;
  static bool one_word(form f) { return f <= form::word; }
  bool integral() const { return integral_; }  // are words numbers whose differences mean something?
  // Is there a form whose words may be hashes? The one that every key fits.
  bool may_hash() const { return first_ == form::hashed || strings_; }
  form hash_form() const { return one_string() ? form::string : form::hashed; }
  // Does form::string fit keys of this type, and tell most of them apart?
  bool has_string_form() const { return strings_ && !parts_.empty(); }

  // Writes the words of n keys from `first` on; returns how many do not fit and sets misfit[i] = 1 for these, 0 for others.
  std::size_t encode(form f, key_view keys, std::size_t first, std::size_t n, std::uint64_t* out, std::uint8_t* misfit = nullptr) const;
  // hashes: of the n keys, as hash_keys gives them, if they are known.
  std::size_t encode(form f, key_view keys, std::size_t first, std::size_t n, wide_word* out, std::uint8_t* misfit = nullptr,
                     const std::uint64_t* hashes = nullptr) const;
  // The same of adjacent keys.
  template <class Word> std::size_t encode(form f, const void* keys, std::size_t n, Word* out, std::uint8_t* misfit = nullptr) const {
    const key_part whole = side_by_side(*type_, keys);
    return encode(f, {&whole, 1}, 0, n, out, misfit);
  }

  // May different keys have this word? Then equal() decides.
  static bool ambiguous(form f, const wide_word& w) { return f >= form::string && w.low == ambiguous_length; }
  bool equal(const void* a, const void* b) const;
  bool equal(key_view a, std::size_t i, key_view b, std::size_t j) const;  // b: in the same parts, or whole keys
  const ir::type& type() const { return *type_; }

 private:
  static constexpr std::uint64_t ambiguous_length = 0xff;  // in place of characters and a length: the other half is a hash
  struct part {
    const ir::type* type;
    std::size_t offset;
    unsigned bits;
  };
  bool add(const ir::type& type, std::size_t offset);
  bool one_string() const { return strings_ && parts_.size() == 1; }  // or a record of one
  template <bool First, class At, class Word>
  std::size_t append(const part& p, const At& at, std::size_t n, Word* words, std::uint8_t* misfit) const;
  template <class Word>
  std::size_t pack_parts(key_view keys, std::size_t first, std::size_t n, Word* out, std::uint8_t* misfit) const;

  const ir::type* type_;
  key_equality custom_;
  std::vector<part> parts_;
  unsigned bits_ = 0;
  form first_ = form::hashed;
  bool integral_ = false;
  bool strings_ = false;  // there are some among the parts
};

// Results that an earlier step computed for the same keys: their hashes, as from hash_keys, or their words. A null pointer means none.
struct key_marks {
  const std::uint64_t* hashes = nullptr;
  const wide_word* words = nullptr;
  key_words::form form = key_words::form::string;  // of the words
  key_marks from(std::size_t first) const { return {hashes ? hashes + first : nullptr, words ? words + first : nullptr, form}; }
};

}  // namespace query::cpu
