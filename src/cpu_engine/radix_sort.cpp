#include "cpu_engine/radix_sort.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace query::cpu {
namespace {

__extension__ using u128 = unsigned __int128;

std::uint32_t key_of(std::uint32_t e) { return e; }
std::uint64_t key_of(std::uint64_t e) { return e; }
std::uint64_t key_of(const word_row& e) { return e.word; }
u128 key_of(const wide_word_row& e) { return u128{e.word.high} << 64 | e.word.low; }

unsigned width(std::uint32_t k) { return static_cast<unsigned>(std::bit_width(k)); }
unsigned width(std::uint64_t k) { return static_cast<unsigned>(std::bit_width(k)); }
unsigned width(u128 k) {
  const auto high = static_cast<std::uint64_t>(k >> 64);
  return high != 0 ? 64 + width(high) : width(static_cast<std::uint64_t>(k));
}

constexpr std::size_t insertion_size = 32;
constexpr std::size_t serial_size = std::size_t{1} << 15;  // below, threads cost more than they bring
constexpr unsigned digit_bits = 11;                        // 2048 counters: half a first-level cache
constexpr unsigned most_partition_bits = 12;               // 4096 combined lines: a quarter megabyte

template <class E>
class sorter {
 public:
  using key_type = decltype(key_of(E{}));
  using range = key_range<key_type>;
  using placed_call = function_ref<void(E*, std::size_t)>;
  using made_call = function_ref<void(std::size_t, std::size_t, E*)>;
  // Elements of one combined store: whole cache lines.
  static constexpr std::size_t per_line = sizeof(E) <= 16 ? 64 / sizeof(E) : 8;
  // Two arrays of so many elements fit a core's second-level cache.
  static constexpr std::size_t cached_size = (std::size_t{3} << 19) / sizeof(E);

  sorter(unsigned ignored_bits, runtime::scheduler& scheduler, runtime::buffer_pool& pool, const runtime::cancel_flag& cancel)
      : ignored_(ignored_bits), scheduler_(scheduler), pool_(pool), cancel_(cancel) {}

  // Returns a or b, whichever holds the result.
  E* sort(E* a, E* b, std::size_t n) {
    if (n <= serial_size) {
      sort_serial(a, b, n);
      return a;
    }
    const range all = find_range(a, n);
    if (all.sorted) return a;
    const auto lying = [a](std::size_t begin, std::size_t end, auto f) {
      for (; begin < end; begin += a_look) f(a + begin, std::min(a_look, end - begin));
    };
    sort_buckets(b, a, partition(lying, b, n, all), nullptr);
    return b;
  }

  // Elements that `made` makes, into `to`.
  void sort_made(const made_call& made, E* to, std::size_t n, const range& all, const placed_call& placed) {
    if (all.sorted || n <= serial_size) {
      each_chunk(n, [&](std::size_t begin, std::size_t end) { made(begin, end - begin, to + begin); });
      if (!all.sorted) sort_serial(to, pool_.allocate_array<E>(n).template as<E>(), n);
      each_chunk(n, [&](std::size_t begin, std::size_t end) { placed(to + begin, end - begin); });
      return;
    }
    const auto blocks = [&](std::size_t begin, std::size_t end, auto f) {
      alignas(64) E block[block_size];
      for (; begin < end; begin += block_size) {
        const std::size_t k = std::min(block_size, end - begin);
        made(begin, k, block);
        f(static_cast<const E*>(block), k);
      }
    };
    sort_buckets(to, nullptr, partition(blocks, to, n, all), &placed);
  }

 private:
  static constexpr std::size_t block_size = 1024;
  static constexpr std::size_t a_look = std::size_t{1} << 16;  // elements between two looks whether to go on

  key_type key(const E& e) const { return static_cast<key_type>(key_of(e) >> ignored_); }

  range range_of(const E* a, std::size_t n) const {
    range r{key(a[0]), key(a[0]), true};
    key_type before = r.low;
    bool sorted = true;
    for (std::size_t i = 1; i < n; ++i) {
      const key_type k = key(a[i]);
      r.low = std::min(r.low, k);
      r.high = std::max(r.high, k);
      sorted &= before <= k;
      before = k;
    }
    r.sorted = sorted;
    return r;
  }

  std::size_t chunks(std::size_t n) const {
    const std::size_t most = static_cast<std::size_t>(scheduler_.concurrency()) * 4;
    return std::clamp<std::size_t>(n / serial_size, 1, most);
  }
  static std::size_t chunk_begin(std::size_t chunk, std::size_t count, std::size_t n) {
    return chunk == count ? n : n / count * chunk;
  }
  template <class F> void each_chunk(std::size_t n, F f) {
    const std::size_t count = chunks(n);
    scheduler_.for_each(count, [&](std::size_t c) { f(chunk_begin(c, count, n), chunk_begin(c + 1, count, n)); }, cancel_);
  }

  range find_range(const E* a, std::size_t n) {
    const std::size_t count = chunks(n);
    std::vector<range> parts(count);
    scheduler_.for_each(count, [&](std::size_t c) {
      const std::size_t begin = chunk_begin(c, count, n), end = chunk_begin(c + 1, count, n);
      parts[c] = range_of(a + begin, end - begin);
      if (c > 0) parts[c].sorted &= key(a[begin - 1]) <= key(a[begin]);
    }, cancel_);
    range all = parts[0];
    for (const range& p : parts)
      all = {std::min(all.low, p.low), std::max(all.high, p.high), all.sorted && p.sorted};
    return all;
  }

  // Writes n elements to `to` by their leading digit; returns where the buckets begin, and the end. from(begin, end, f) calls
  // f(elements, k) for adjacent parts of the elements from `begin` to `end`, twice in all.
  template <class From> std::vector<std::size_t> partition(const From& from, E* to, std::size_t n, const range& all) {
    const unsigned significant = width(static_cast<key_type>(all.high - all.low));
    const unsigned bits = std::min(significant, std::clamp(width(std::uint64_t{n}) - 13, 6u, most_partition_bits));
    const unsigned shift = significant - bits;
    const std::size_t count = chunks(n), buckets = std::size_t{1} << bits;
    const auto digit = [=, low = all.low, this](const E& e) {
      return static_cast<std::size_t>(static_cast<key_type>(key(e) - low) >> shift);
    };
    std::vector<std::size_t> at(count * buckets);
    scheduler_.for_each(count, [&](std::size_t c) {
      std::size_t* mine = at.data() + c * buckets;
      from(chunk_begin(c, count, n), chunk_begin(c + 1, count, n), [&](const E* e, std::size_t k) {
        cancel_.check();
        for (std::size_t i = 0; i < k; ++i) ++mine[digit(e[i])];
      });
    }, cancel_);
    std::vector<std::size_t> begins(buckets + 1);
    std::size_t sum = 0;
    for (std::size_t b = 0; b < buckets; ++b) {
      begins[b] = sum;
      for (std::size_t c = 0; c < count; ++c) {
        const std::size_t m = at[c * buckets + b];
        at[c * buckets + b] = sum;
        sum += m;
      }
    }
    begins[buckets] = sum;
    scheduler_.for_each(count, [&](std::size_t c) {
      const runtime::buffer lines = pool_.allocate(buckets * per_line * sizeof(E));
      const auto mine = [&](auto f) {
        from(chunk_begin(c, count, n), chunk_begin(c + 1, count, n), [&](const E* e, std::size_t k) {
          cancel_.check();
          f(e, k);
        });
      };
      scatter(mine, to, at.data() + c * buckets, buckets, lines.template as<E>(), digit);
    }, cancel_);
    return begins;
  }

  // Writes each element to its bucket's next place, a cache line at a time.
  template <class From, class Digit>
  static void scatter(const From& from, E* to, std::size_t* next, std::size_t buckets, E* lines, Digit digit) {
    const std::vector<std::size_t> first(next, next + buckets);
    const bool aligned = reinterpret_cast<std::uintptr_t>(to) % 64 == 0;
    from([&](const E* e, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t d = digit(e[i]);
        const std::size_t place = next[d]++;
        E* line = lines + d * per_line;
        line[place % per_line] = e[i];
        if (place % per_line == per_line - 1) {
          const std::size_t begin = place - (per_line - 1);
          if (begin >= first[d]) {
            store_line(to + begin, line, aligned);
          } else {
            const std::size_t skip = first[d] - begin;  // elements of the chunk before
            std::memcpy(static_cast<void*>(to + begin + skip), line + skip, (per_line - skip) * sizeof(E));
          }
        }
      }
    });
    for (std::size_t d = 0; d < buckets; ++d) {
      const std::size_t begin = std::max(next[d] / per_line * per_line, first[d]);
      if (begin < next[d])
        std::memcpy(static_cast<void*>(to + begin), lines + d * per_line + begin % per_line, (next[d] - begin) * sizeof(E));
    }
#if defined(__SSE2__)
    _mm_sfence();
#endif
  }

  static void store_line(E* to, const E* line, [[maybe_unused]] bool aligned) {
#if defined(__SSE2__)
    if (aligned) {
      // Past the cache: these lines are not read again soon, and a normal store would first read them.
      for (std::size_t i = 0; i < per_line * sizeof(E) / 16; ++i)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i, _mm_load_si128(reinterpret_cast<const __m128i*>(line) + i));
      return;
    }
#endif
    std::memcpy(static_cast<void*>(to), line, per_line * sizeof(E));
  }

  // Sorts the buckets of `a` in place: very large ones one by one by all threads, the rest side by side. Room is in `b`; else that of
  // a task is as large as its largest bucket, and stays in the cache.
  void sort_buckets(E* a, E* b, const std::vector<std::size_t>& begins, const placed_call* placed) {
    const std::size_t n = begins.back();
    const std::size_t large = std::max(cached_size, n / (2 * static_cast<std::size_t>(scheduler_.concurrency())));
    std::vector<std::pair<std::size_t, std::size_t>> tasks;  // ranges of adjacent buckets
    std::size_t weight = serial_size;
    for (std::size_t d = 0; d + 1 < begins.size(); ++d) {
      const std::size_t m = begins[d + 1] - begins[d];
      if (m > large && scheduler_.concurrency() > 1) {
        const runtime::buffer room = b ? runtime::buffer() : pool_.allocate_array<E>(m);
        E* result = sort(a + begins[d], b ? b + begins[d] : room.template as<E>(), m);
        each_chunk(m, [&](std::size_t begin, std::size_t end) {
          E* to = a + begins[d] + begin;
          if (result != a + begins[d]) std::memcpy(static_cast<void*>(to), result + begin, (end - begin) * sizeof(E));
          if (placed) (*placed)(to, end - begin);
        });
        weight = serial_size;
      } else if (m > 0) {
        if (weight >= serial_size) {
          tasks.emplace_back(d, d);
          weight = 0;
        }
        tasks.back().second = d + 1;
        weight += m;
      }
    }
    scheduler_.for_each(tasks.size(), [&](std::size_t t) {
      std::size_t largest = 0;
      for (std::size_t d = tasks[t].first; d < tasks[t].second; ++d) largest = std::max(largest, begins[d + 1] - begins[d]);
      const runtime::buffer room = b ? runtime::buffer() : pool_.allocate_array<E>(largest);
      for (std::size_t d = tasks[t].first; d < tasks[t].second; ++d) {
        const std::size_t m = begins[d + 1] - begins[d];
        sort_serial(a + begins[d], b ? b + begins[d] : room.template as<E>(), m);
        if (placed) (*placed)(a + begins[d], m);
      }
    }, cancel_);
  }

  // On one thread; the result is in a.
  void sort_serial(E* a, E* b, std::size_t n) {
    if (n <= insertion_size) {
      insertion(a, n, n * n);
      return;
    }
    const range all = range_of(a, n);
    if (all.sorted) return;
    const unsigned significant = width(static_cast<key_type>(all.high - all.low));
    if (n > cached_size) return partition_serial(a, b, n, all.low, significant);
    // Digits of about log2(n) leading bits bring random keys so near to their places that insertion does the rest.
    const unsigned leading = std::min(significant, width(std::uint64_t{n}) + 3);
    least_first(a, b, n, all.low, significant - leading, leading);
    if (leading < significant && !insertion(a, n, 8 * n)) least_first(a, b, n, all.low, 0, significant);
  }

  void partition_serial(E* a, E* b, std::size_t n, key_type low, unsigned significant) {
    const unsigned bits = std::min(significant, digit_bits), shift = significant - bits;
    std::vector<std::size_t> ends((std::size_t{1} << bits) + 1);
    const auto digit = [&](const E& e) { return static_cast<std::size_t>(static_cast<key_type>(key(e) - low) >> shift); };
    for (std::size_t i = 0; i < n; ++i) ++ends[digit(a[i]) + 1];
    for (std::size_t d = 1; d < ends.size(); ++d) ends[d] += ends[d - 1];
    for (std::size_t i = 0; i < n; ++i) b[ends[digit(a[i])]++] = a[i];
    std::size_t begin = 0;
    for (std::size_t d = 0; d + 1 < ends.size(); begin = ends[d++]) {
      cancel_.check();
      sort_serial(b + begin, a + begin, ends[d] - begin);
    }
    std::memcpy(static_cast<void*>(a), b, n * sizeof(E));
  }

  // LSD passes over `bits` bits from `shift` on, two at a time so that the result is in a.
  void least_first(E* a, E* b, std::size_t n, key_type low, unsigned shift, unsigned bits) const {
    std::uint32_t counts[2][std::size_t{1} << digit_bits];
    while (bits > 0) {
      const unsigned passes = bits > digit_bits ? 2 : 1;
      const unsigned w = std::min((std::min(bits, 2 * digit_bits) + passes - 1) / passes, digit_bits);
      const unsigned second = std::min(bits - w, w);
      const std::size_t mask = (std::size_t{1} << w) - 1, second_mask = (std::size_t{1} << second) - 1;
      const auto digits = [&](const E& e) { return static_cast<std::size_t>(static_cast<key_type>(key(e) - low) >> shift); };
      std::memset(counts[0], 0, (mask + 1) * sizeof(counts[0][0]));
      std::memset(counts[1], 0, (second_mask + 1) * sizeof(counts[1][0]));
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t d = digits(a[i]);
        ++counts[0][d & mask];
        ++counts[1][d >> w & second_mask];
      }
      sum_up(counts[0], mask + 1);
      for (std::size_t i = 0; i < n; ++i) b[counts[0][digits(a[i]) & mask]++] = a[i];
      if (second == 0) {
        std::memcpy(static_cast<void*>(a), b, n * sizeof(E));
      } else {
        sum_up(counts[1], second_mask + 1);
        for (std::size_t i = 0; i < n; ++i) a[counts[1][digits(b[i]) >> w & second_mask]++] = b[i];
      }
      shift += w + second;
      bits -= w + second;
    }
  }

  static void sum_up(std::uint32_t* counts, std::size_t n) {
    std::uint32_t sum = 0;
    for (std::size_t d = 0; d < n; ++d) {
      const std::uint32_t c = counts[d];
      counts[d] = sum;
      sum += c;
    }
  }

  // Gives up after `budget` moves, with the elements in an order that is as stable as before.
  bool insertion(E* a, std::size_t n, std::size_t budget) const {
    for (std::size_t i = 1; i < n; ++i) {
      const E e = a[i];
      const key_type k = key(e);
      std::size_t j = i;
      for (; j > 0 && k < key(a[j - 1]); --j) a[j] = a[j - 1];
      a[j] = e;
      if (i - j > budget) return false;
      budget -= i - j;
    }
    return true;
  }

  const unsigned ignored_;
  runtime::scheduler& scheduler_;
  runtime::buffer_pool& pool_;
  const runtime::cancel_flag& cancel_;
};

}  // namespace

template <class Element>
Element* radix_sort(Element* data, Element* spare, std::size_t n, unsigned ignored_bits, runtime::scheduler& scheduler,
                    runtime::buffer_pool& pool, const runtime::cancel_flag& cancel) {
  if (n < 2) return data;
  return sorter<Element>(ignored_bits, scheduler, pool, cancel).sort(data, spare, n);
}

template <class Word>
void radix_sort_words(function_ref<void(std::size_t, std::size_t, Word*)> made, std::size_t n, const key_range<Word>& range, Word* to,
                      function_ref<void(Word*, std::size_t)> placed, runtime::scheduler& scheduler, runtime::buffer_pool& pool,
                      const runtime::cancel_flag& cancel) {
  sorter<Word>(0, scheduler, pool, cancel).sort_made(made, to, n, range, placed);
}

template void radix_sort_words(function_ref<void(std::size_t, std::size_t, std::uint32_t*)>, std::size_t, const key_range<std::uint32_t>&,
                               std::uint32_t*, function_ref<void(std::uint32_t*, std::size_t)>, runtime::scheduler&, runtime::buffer_pool&,
                               const runtime::cancel_flag&);
template void radix_sort_words(function_ref<void(std::size_t, std::size_t, std::uint64_t*)>, std::size_t, const key_range<std::uint64_t>&,
                               std::uint64_t*, function_ref<void(std::uint64_t*, std::size_t)>, runtime::scheduler&, runtime::buffer_pool&,
                               const runtime::cancel_flag&);
template std::uint32_t* radix_sort(std::uint32_t*, std::uint32_t*, std::size_t, unsigned, runtime::scheduler&,
                                   runtime::buffer_pool&, const runtime::cancel_flag&);
template std::uint64_t* radix_sort(std::uint64_t*, std::uint64_t*, std::size_t, unsigned, runtime::scheduler&,
                                   runtime::buffer_pool&, const runtime::cancel_flag&);
template word_row* radix_sort(word_row*, word_row*, std::size_t, unsigned, runtime::scheduler&, runtime::buffer_pool&,
                              const runtime::cancel_flag&);
template wide_word_row* radix_sort(wide_word_row*, wide_word_row*, std::size_t, unsigned, runtime::scheduler&,
                                   runtime::buffer_pool&, const runtime::cancel_flag&);

}  // namespace query::cpu
