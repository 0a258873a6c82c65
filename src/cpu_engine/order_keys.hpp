// Sort keys as unsigned integers whose order is the keys' order; equal keys get equal integers.
//
// Sorting, top-k, tables and partitioning work on these integers and never see the user's types. Integers flip their sign
// bit; floats the usual way (all bits if negative, else the sign bit), with -0.0 = 0.0 and all NaNs equal and largest:
// last ascending, first descending. Records, tuples and arrays concatenate their parts (bits, not bytes); an optional has
// one bit before its value. A string gives its first 7 characters (15 if many are longer and there is room) and its length,
// cut off, and ends the integer: `exact` is false, and ties are compared unless `decides` says that the strings were short.
//
//   key_encoder encoder(keys);                      // keys: std::span<const sort_key>
//   if (encoder.bits() <= 64) encoder.encode(0, n, words64);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <query/detail/type.hpp>

namespace query::cpu {

// For uses of 128-bit keys: compares like one big unsigned number.
struct wide_word {
  std::uint64_t high = 0, low = 0;
  friend bool operator==(const wide_word&, const wide_word&) = default;
  friend auto operator<=>(const wide_word&, const wide_word&) = default;
};

// A user's own order: less, equal or greater than zero. It is not asked about nulls.
struct key_order {
  int (*compare)(const void* context, const void* a, const void* b) = nullptr;
  const void* context = nullptr;
};

// One key of an order: row i's value lies at base + i * stride bytes.
struct sort_key {
  const ir::type* type = nullptr;
  const void* base = nullptr;
  std::size_t stride = 0;
  bool descending = false;
  bool nulls_first = false;  // holds whatever the direction
  key_order custom = {};     // needed for opaque types, and taken before the description if given

  const void* at(std::size_t row) const { return static_cast<const std::byte*>(base) + row * stride; }
};

// Is there an order for this type without a comparison of the user's?
bool orderable(const ir::type& type);

// Compares two values of a described type: NaNs equal and largest, nulls as `nulls_first` says and, like everything else,
// reversed by `descending` except for the nulls.
int compare_values(const ir::type& type, const void* a, const void* b, bool descending = false, bool nulls_first = false);

// Compares rows a and b by all keys; 0 if they tie.
int compare_rows(std::span<const sort_key> keys, std::size_t a, std::size_t b);
// The same of rows that lie in different places: their keys have the same types and directions.
int compare_rows(std::span<const sort_key> keys, std::size_t a, std::span<const sort_key> others, std::size_t b);

class key_encoder {
 public:
  static constexpr unsigned max_bits = 128;

  // Throws user_error if a key has no order. The keys' columns must outlive the encoder. Some of the first `rows` rows are
  // looked at to choose the length of a string's prefix.
  explicit key_encoder(std::span<const sort_key> keys, std::size_t rows = 0);

  unsigned bits() const { return bits_; }  // significant low bits of each word, at most 128; 0 if nothing can be encoded
  bool exact() const { return exact_; }    // equal words mean equal keys; otherwise compare_rows decides ties

  // The key, by its number, whose words hold the first characters of a string and no more of it, if it is a plain string whose order is
  // the library's: rows with equal words are equal in the keys before it.
  std::optional<std::size_t> cut_string() const { return cut_string_; }

  // Rows with this same word are equal in all keys.
  bool decides(std::uint64_t word) const { return exact_ || short_string(static_cast<unsigned>(word & 0xff)); }
  bool decides(const wide_word& word) const { return decides(word.low); }

  // Writes the words of rows [first, first + n). The 64-bit form needs bits() <= 64.
  void encode(std::size_t first, std::size_t n, std::uint64_t* out) const;
  void encode(std::size_t first, std::size_t n, wide_word* out) const;

 private:
  // One step appends `bits` bits to every row's word.
  struct step {
    const ir::type* type;  // arithmetic, string, or optional of anything of a fixed width
    const std::byte* base;
    std::size_t stride;
    unsigned bits;
    bool descending, nulls_first;
  };
  bool add(const ir::type& type, const std::byte* base, const sort_key& key, std::size_t rows);
  bool push(const ir::type& type, const std::byte* base, const sort_key& key, unsigned bits);
  template <bool First, class Word>
  void append(const step& s, std::size_t row, std::size_t n, Word* words) const;
  template <class Word>
  void encode_blocks(std::size_t first, std::size_t n, Word* out) const;
  bool short_string(unsigned last_byte) const {
    return string_ends_ && (string_descending_ ? 255u - last_byte : last_byte) <= string_characters_;
  }

  std::vector<step> steps_;
  std::optional<std::size_t> cut_string_;
  unsigned bits_ = 0;
  unsigned string_characters_ = 0;
  bool exact_ = true;
  bool string_ends_ = false;  // the last step is a string, and no key or part of a key comes after it
  bool string_descending_ = false;
};

}  // namespace query::cpu
