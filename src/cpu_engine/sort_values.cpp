// sort_values of sort_rows.hpp: numbers of one or two bytes are counted, longer ones radix sorted as unsigned integers.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/radix_sort.hpp"
#include "cpu_engine/sort_rows.hpp"

namespace query::cpu {
namespace {

constexpr std::size_t chunk_values = std::size_t{1} << 16;

struct job {
  std::size_t n;
  bool descending;
  runtime::scheduler& scheduler;
  runtime::buffer_pool& pool;
  const runtime::cancel_flag& cancel;

  std::size_t chunks() const { return (n + chunk_values - 1) / chunk_values; }
  template <class F>
  void each_chunk(F&& f) const {
    scheduler.for_each(chunks(), [&](std::size_t c) { f(c, c * chunk_values, std::min(n, (c + 1) * chunk_values)); }, cancel);
  }
};

// Order-preserving and reversible, unlike the keys of order_keys: the sorted values are made from these words.
template <class T, class Word>
struct coding {
  static constexpr Word sign = static_cast<Word>(Word{1} << (sizeof(Word) * 8 - 1));
  static constexpr Word all = std::numeric_limits<Word>::max();
  static constexpr Word flip(bool descending) { return descending ? all : Word{0}; }

  static Word encode(Word bits) {
    if constexpr (std::is_floating_point_v<T>) return static_cast<Word>(bits ^ ((bits & sign) != 0 ? all : sign));
    else if constexpr (std::is_signed_v<T>) return static_cast<Word>(bits ^ sign);
    else return bits;
  }
  static Word decode(Word word) {
    if constexpr (std::is_floating_point_v<T>) return static_cast<Word>(word ^ ((word & sign) != 0 ? sign : all));
    else return encode(word);
  }
  // Floats that are equal to others of different bits: stability must keep them in the order in which they came.
  static bool special(Word bits) {
    if constexpr (std::is_floating_point_v<T>) {
      const T value = std::bit_cast<T>(bits);
      return value != value || bits == sign;  // NaN or -0.0
    } else {
      return false;
    }
  }
};

template <class Word>
Word load(const std::byte* values, std::size_t i) {
  Word w;
  std::memcpy(&w, values + i * sizeof(Word), sizeof(Word));
  return w;
}
template <class Word>
void store(std::byte* values, std::size_t i, Word w) {
  std::memcpy(values + i * sizeof(Word), &w, sizeof(Word));
}

template <class T, class Word>
void count_values(std::byte* values, const job& j) {
  using code = coding<T, Word>;
  const std::size_t kinds = std::size_t{1} << (sizeof(Word) * 8);
  const std::size_t parts = std::min<std::size_t>(j.chunks(), static_cast<std::size_t>(j.scheduler.concurrency()));
  std::vector<std::size_t> counts(parts * kinds);
  j.scheduler.for_each(parts, [&](std::size_t p) {
    for (std::size_t i = j.n / parts * p, end = p + 1 == parts ? j.n : j.n / parts * (p + 1); i < end; ++i)
      ++counts[p * kinds + code::encode(load<Word>(values, i))];
  }, j.cancel);
  std::vector<std::size_t> ends(kinds);
  std::size_t sum = 0;
  for (std::size_t k = 0; k < kinds; ++k) {
    for (std::size_t p = 0; p < parts; ++p) sum += counts[p * kinds + (j.descending ? kinds - 1 - k : k)];
    ends[k] = sum;
  }
  j.each_chunk([&](std::size_t, std::size_t begin, std::size_t end) {
    auto k = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    for (std::size_t i = begin; i < end; ++i) {
      while (ends[k] <= i) ++k;
      store(values, i, code::decode(static_cast<Word>(j.descending ? kinds - 1 - k : k)));
    }
  });
}

template <class T, class Word>
void sort_words(std::byte* values, const job& j) {
  using code = coding<T, Word>;
  const runtime::buffer first = j.pool.allocate_array<Word>(j.n), second = j.pool.allocate_array<Word>(j.n);
  Word* words = first.as<Word>();
  const Word flip = code::flip(j.descending);

  // NaNs become one word beyond infinity and -0.0 becomes 0.0; the bits of NaNs and zeros are put back at the end.
  std::vector<std::vector<Word>> nans(j.chunks()), zeros(j.chunks());
  std::vector<char> negative_zero(j.chunks());
  j.each_chunk([&](std::size_t c, std::size_t begin, std::size_t end) {
    bool special = false;
    for (std::size_t i = begin; i < end; ++i) {
      const Word bits = load<Word>(values, i);
      special |= code::special(bits);
      words[i] = static_cast<Word>(code::encode(bits) ^ flip);
    }
    if (!special) return;
    for (std::size_t i = begin; i < end; ++i) {
      const Word bits = load<Word>(values, i);
      if (!code::special(bits)) continue;
      if (bits == code::sign) {
        words[i] = static_cast<Word>(code::encode(Word{0}) ^ flip);
        negative_zero[c] = 1;
      } else {
        words[i] = static_cast<Word>(code::all ^ flip);
        nans[c].push_back(bits);
      }
    }
  });
  const bool keep_zeros = std::find(negative_zero.begin(), negative_zero.end(), 1) != negative_zero.end();
  if (keep_zeros)
    j.each_chunk([&](std::size_t c, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        if (const Word bits = load<Word>(values, i); bits == 0 || bits == code::sign) zeros[c].push_back(bits);
    });

  const Word* sorted = radix_sort(words, second.as<Word>(), j.n, 0, j.scheduler, j.pool, j.cancel);
  j.each_chunk([&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) store(values, i, code::decode(static_cast<Word>(sorted[i] ^ flip)));
  });
  const auto put_back = [&](const std::vector<std::vector<Word>>& kept, Word word) {
    auto i = static_cast<std::size_t>(std::lower_bound(sorted, sorted + j.n, static_cast<Word>(word ^ flip)) - sorted);
    for (const std::vector<Word>& part : kept)
      for (const Word bits : part) store(values, i++, bits);
  };
  put_back(nans, code::all);
  if (keep_zeros) put_back(zeros, code::encode(Word{0}));
}

}  // namespace

void sort_values(void* values, std::size_t n, ir::kind kind, bool descending, runtime::scheduler& scheduler,
                 runtime::buffer_pool& pool, const runtime::cancel_flag& cancel) {
  if (n < 2) return;
  auto* bytes = static_cast<std::byte*>(values);
  const job j{n, descending, scheduler, pool, cancel};
  switch (kind) {
    case ir::kind::boolean:
    case ir::kind::u8: return count_values<std::uint8_t, std::uint8_t>(bytes, j);
    case ir::kind::i8: return count_values<std::int8_t, std::uint8_t>(bytes, j);
    case ir::kind::u16: return count_values<std::uint16_t, std::uint16_t>(bytes, j);
    case ir::kind::i16: return count_values<std::int16_t, std::uint16_t>(bytes, j);
    case ir::kind::u32: return sort_words<std::uint32_t, std::uint32_t>(bytes, j);
    case ir::kind::i32: return sort_words<std::int32_t, std::uint32_t>(bytes, j);
    case ir::kind::f32: return sort_words<float, std::uint32_t>(bytes, j);
    case ir::kind::u64: return sort_words<std::uint64_t, std::uint64_t>(bytes, j);
    case ir::kind::i64: return sort_words<std::int64_t, std::uint64_t>(bytes, j);
    case ir::kind::f64: return sort_words<double, std::uint64_t>(bytes, j);
    default: throw internal_error("sort_values: not an arithmetic kind: " + std::string(ir::scalar_name(kind)));
  }
}

}  // namespace query::cpu
