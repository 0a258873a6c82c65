// Scans CSV text 64 bytes at a time: which bytes are separators, by bit masks, with quoted stretches masked out by the
// prefix parity of the quotes (Langdale, Lemire, "Parsing gigabytes of JSON per second", VLDB Journal 2019, section 3.1).
//
//   separator_cursor cursor(begin, end, ',', '"');
//   while ((p = cursor.next()) != end) { ... }   // each ',' and '\n' outside quotes
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace query::data {

// 64 bytes of text.
class text_block {
 public:
  static constexpr std::size_t size = 64;

  explicit text_block(const char* from) { std::memcpy(&words_, from, size); }

  // Bit i is set where byte i equals c.
  std::uint64_t equal(char c) const {
    std::uint64_t mask = 0;
#if defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi8(c);
    for (int i = 3; i >= 0; --i)
      mask = mask << 16 | static_cast<std::uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(words_[i], wanted)));
#else
    constexpr std::uint64_t ones = 0x0101010101010101, low7 = 0x7f7f7f7f7f7f7f7f;
    for (int i = 7; i >= 0; --i) {
      std::uint64_t w = words_[i];
      if constexpr (std::endian::native == std::endian::big) w = __builtin_bswap64(w);
      const std::uint64_t differs = w ^ ones * static_cast<unsigned char>(c);
      const std::uint64_t zero = ~(((differs & low7) + low7) | differs | low7) >> 7;  // 1 in each byte that is equal
      mask = mask << 8 | zero * 0x0102040810204080 >> 56;
    }
#endif
    return mask;
  }

 private:
#if defined(__SSE2__)
  __m128i words_[4];
#else
  std::uint64_t words_[8];
#endif
};

// Bit i of the result is the parity of bits 0..i.
constexpr std::uint64_t prefix_parity(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

// The quoted stretches of consecutive blocks. The opening quote counts as inside, the closing one as outside.
class quote_tracker {
 public:
  explicit quote_tracker(char quote) : quote_(quote) {}

  std::uint64_t inside(const text_block& block, std::uint64_t valid) {
    if (quote_ == '\0') return 0;
    const std::uint64_t quotes = block.equal(quote_) & valid;
    if (quotes == 0) return open_;
    seen_ = true;
    const std::uint64_t mask = prefix_parity(quotes) ^ open_;
    open_ = 0 - (mask >> 63);
    return mask;
  }
  bool seen() const { return seen_; }  // has there been a quote so far?

 private:
  char quote_;
  bool seen_ = false;
  std::uint64_t open_ = 0;  // all ones while a quote is open
};

// Loads the block at p; what lies behind `end` is not read, and cleared in `valid`.
inline text_block load_block(const char* p, const char* end, std::uint64_t& valid) {
  const auto left = static_cast<std::size_t>(end - p);
  if (left >= text_block::size) {
    valid = ~std::uint64_t{0};
    return text_block(p);
  }
  char padded[text_block::size] = {};
  std::memcpy(padded, p, left);
  valid = (std::uint64_t{1} << left) - 1;
  return text_block(padded);
}

// The delimiters and line ends outside quotes, in order.
class separator_cursor {
 public:
  separator_cursor(const char* begin, const char* end, char delimiter, char quote)
      : block_(begin), end_(end), delimiter_(delimiter), quotes_(quote) {
    if (block_ < end_) load();
  }

  // The next separator, or `end` for good.
  const char* next() {
    while (mask_ == 0) {
      if (end_ - block_ <= static_cast<std::ptrdiff_t>(text_block::size)) return end_;
      block_ += text_block::size;
      load();
    }
    const char* found = block_ + std::countr_zero(mask_);
    mask_ &= mask_ - 1;
    return found;
  }
  bool quotes_seen() const { return quotes_.seen(); }

 private:
  void load() {
    std::uint64_t valid;
    const text_block block = load_block(block_, end_, valid);
    mask_ = (block.equal(delimiter_) | block.equal('\n')) & valid & ~quotes_.inside(block, valid);
  }

  const char *block_, *end_;
  std::uint64_t mask_ = 0;
  char delimiter_;
  quote_tracker quotes_;
};

// Is the line that starts at p blank: nothing up to its end?
inline bool blank_line(const char* p, const char* end) {
  return p == end || *p == '\n' || (*p == '\r' && (p + 1 == end || p[1] == '\n'));
}

// The records in whole lines of text, with or without the blank lines.
std::size_t count_records(const char* begin, const char* end, char quote, bool with_blank_lines);

std::size_t count_bytes(const char* begin, const char* end, char wanted);

// Where the first record that starts behind `from` starts, or `end`. `quoted`: is a quote open at `from`?
const char* next_record(const char* from, const char* end, char quote, bool quoted);

// Behind the last line end outside quotes, or null if there is none. `quoted`: is a quote open at `begin`?
const char* last_record_end(const char* begin, const char* end, char quote, bool quoted);

}  // namespace query::data
