// sort_values of sort_rows.hpp: numbers of one or two bytes are counted, longer ones radix sorted as unsigned integers.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <query/detail/stop.hpp>
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
void count_values(const std::byte* values, std::byte* to, const job& j) {
  using code = coding<T, Word>;
  const std::size_t kinds = std::size_t{1} << (sizeof(Word) * 8);
  const std::size_t parts = std::min<std::size_t>(j.chunks(), static_cast<std::size_t>(j.scheduler.concurrency()));
  std::vector<std::size_t> counts(parts * kinds);
  j.scheduler.for_each(parts, [&](std::size_t p) {
    detail::in_runs<chunk_values>(j.n / parts * p, p + 1 == parts ? j.n : j.n / parts * (p + 1), [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i) ++counts[p * kinds + code::encode(load<Word>(values, i))];
    });
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
      store(to, i, code::decode(static_cast<Word>(j.descending ? kinds - 1 - k : k)));
    }
  });
}

// Adds words that follow those of `r`, of which `last` is the last; `none` if r has none yet.
template <class Word>
void widen(key_range<Word>& r, Word& last, bool none, const Word* words, std::size_t n) {
  Word low = words[0], high = words[0], before = none ? words[0] : last;
  bool sorted = true;
  for (std::size_t i = 0; i < n; ++i) {
    low = std::min(low, words[i]);
    high = std::max(high, words[i]);
    sorted &= before <= words[i];
    before = words[i];
  }
  last = before;
  r = none ? key_range<Word>{low, high, sorted} : key_range<Word>{std::min(r.low, low), std::max(r.high, high), r.sorted && sorted};
}

// Values -> words -> sorted words -> values. Words are made of the values whenever they are needed, sorted into the place of the
// result, and become values again there while they are in the cache.
template <class T, class Word>
void sort_words(const std::byte* values, std::byte* to, const job& j) {
  using code = coding<T, Word>;
  constexpr std::size_t block = 1024;
  const Word flip = code::flip(j.descending);
  runtime::buffer kept;  // the values, where the result takes their place
  if (values == to) {
    kept = j.pool.allocate_array<Word>(j.n);
    j.each_chunk([&](std::size_t, std::size_t begin, std::size_t end) {
      std::memcpy(kept.as<Word>() + begin, values + begin * sizeof(Word), (end - begin) * sizeof(Word));
    });
    values = kept.as<std::byte>();
  }

  // NaNs become one word beyond infinity and -0.0 becomes 0.0; the bits of NaNs and zeros are put back at the end. Returns whether
  // there are such values.
  const auto make = [=](std::size_t first, std::size_t k, Word* words) {
    bool special = false;
    for (std::size_t i = 0; i < k; ++i) {
      const Word bits = load<Word>(values, first + i);
      special |= code::special(bits);
      words[i] = static_cast<Word>(code::encode(bits) ^ flip);
    }
    for (std::size_t i = 0; special && i < k; ++i)
      if (const Word bits = load<Word>(values, first + i); code::special(bits))
        words[i] = static_cast<Word>((bits == code::sign ? code::encode(Word{0}) : code::all) ^ flip);
    return special;
  };
  std::vector<std::vector<Word>> nans(j.chunks()), zeros(j.chunks());
  std::vector<char> negative_zero(j.chunks());
  std::vector<key_range<Word>> ranges(j.chunks());
  std::vector<Word> firsts(j.chunks()), lasts(j.chunks());
  j.each_chunk([&](std::size_t c, std::size_t begin, std::size_t end) {
    Word words[block];
    for (std::size_t at = begin; at < end; at += block) {
      const std::size_t k = std::min(block, end - at);
      const bool special = make(at, k, words);
      if (at == begin) firsts[c] = words[0];
      widen(ranges[c], lasts[c], at == begin, words, k);
      for (std::size_t i = 0; special && i < k; ++i) {
        const Word bits = load<Word>(values, at + i);
        if (!code::special(bits)) continue;
        if (bits == code::sign) negative_zero[c] = 1;
        else nans[c].push_back(bits);
      }
    }
  });
  const bool keep_zeros = std::find(negative_zero.begin(), negative_zero.end(), 1) != negative_zero.end();
  if (keep_zeros)
    j.each_chunk([&](std::size_t c, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        if (const Word bits = load<Word>(values, i); bits == 0 || bits == code::sign) zeros[c].push_back(bits);
    });
  key_range<Word> all = ranges.front();
  for (std::size_t c = 1; c < ranges.size(); ++c)
    all = {std::min(all.low, ranges[c].low), std::max(all.high, ranges[c].high),
           all.sorted && ranges[c].sorted && lasts[c - 1] <= firsts[c]};

  const auto to_values = [&](Word* first, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) first[i] = code::decode(static_cast<Word>(first[i] ^ flip));
  };
  const auto made = [&](std::size_t first, std::size_t k, Word* out) { make(first, k, out); };
  radix_sort_words<Word>(made, j.n, all, reinterpret_cast<Word*>(to), to_values, j.scheduler, j.pool, j.cancel);

  const auto put_back = [&](const std::vector<std::vector<Word>>& kept, Word word) {
    const Word wanted = static_cast<Word>(word ^ flip);
    std::size_t first = 0;  // of the values whose words are not below `wanted`
    for (std::size_t beyond = j.n; first < beyond;) {
      const std::size_t middle = first + (beyond - first) / 2;
      if (static_cast<Word>(code::encode(load<Word>(to, middle)) ^ flip) < wanted) first = middle + 1;
      else beyond = middle;
    }
    for (const std::vector<Word>& part : kept)
      for (const Word bits : part) store(to, first++, bits);
  };
  // Zeros first: the NaNs put back have words of their own, among which no search would find its way.
  if (keep_zeros) put_back(zeros, code::encode(Word{0}));
  put_back(nans, code::all);
}

}  // namespace

void sort_values(const void* from, void* to, std::size_t n, ir::kind kind, bool descending, runtime::scheduler& scheduler,
                 runtime::buffer_pool& pool, const runtime::cancel_flag& cancel) {
  if (n == 0) return;
  const auto* values = static_cast<const std::byte*>(from);
  auto* result = static_cast<std::byte*>(to);
  const job j{n, descending, scheduler, pool, cancel};
  switch (kind) {
    case ir::kind::boolean:
    case ir::kind::u8: return count_values<std::uint8_t, std::uint8_t>(values, result, j);
    case ir::kind::i8: return count_values<std::int8_t, std::uint8_t>(values, result, j);
    case ir::kind::u16: return count_values<std::uint16_t, std::uint16_t>(values, result, j);
    case ir::kind::i16: return count_values<std::int16_t, std::uint16_t>(values, result, j);
    case ir::kind::u32: return sort_words<std::uint32_t, std::uint32_t>(values, result, j);
    case ir::kind::i32: return sort_words<std::int32_t, std::uint32_t>(values, result, j);
    case ir::kind::f32: return sort_words<float, std::uint32_t>(values, result, j);
    case ir::kind::u64: return sort_words<std::uint64_t, std::uint64_t>(values, result, j);
    case ir::kind::i64: return sort_words<std::int64_t, std::uint64_t>(values, result, j);
    case ir::kind::f64: return sort_words<double, std::uint64_t>(values, result, j);
    default: throw internal_error("sort_values: not an arithmetic kind: " + std::string(ir::scalar_name(kind)));
  }
}

}  // namespace query::cpu
