// Values of a result that goes past the cache: its lines are not fetched before they are written. A large result's would be, in vain.
//
//   if (!stream_column(from, type, n, to)) gather_column(from, type, n, to, type->size, false);
//   stream_made(to, n, size, [&](std::size_t first, std::size_t k, std::byte* some) { make(first, k, some); });
//   end_of_stream();   // before another thread reads
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <query/column_chunks.hpp>

#include "cpu_engine/column_batch.hpp"
#include "cpu_engine/short_text.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace query::cpu {

#if defined(__SSE2__) && defined(__x86_64__)

inline void end_of_stream() { _mm_sfence(); }

inline void stream_value(const std::byte* from, std::int32_t* to) { _mm_stream_si32(to, load<std::int32_t>(from)); }
inline void stream_value(const std::byte* from, long long* to) { _mm_stream_si64(to, load<long long>(from)); }

template <class Bits> void stream_bits(const column& c, std::size_t n, void* to) {
  const auto* const base = static_cast<const std::byte*>(c.base);
  auto* const out = static_cast<Bits*>(to);
  if (c.select)
    for (std::size_t i = 0; i < n; ++i) stream_value(base + c.select[i] * c.stride, out + i);
  else
    for (std::size_t i = 0; i < n; ++i) stream_value(base + i * c.stride, out + i);
}

// Numbers of 4 and 8 bytes where they lie; false: nothing was written.
inline bool stream_numbers(const column& c, const ir::type* t, std::size_t n, void* to) {
  if (!c.as_stored() || reinterpret_cast<std::uintptr_t>(to) % t->size != 0) return false;
  if (t->size == 4) stream_bits<std::int32_t>(c, n, to);
  else if (t->size == 8) stream_bits<long long>(c, n, to);
  else return false;
  return true;
}

inline void stream_bytes(const std::byte* from, std::size_t n, std::byte* to) {
  constexpr std::size_t width = sizeof(__m128i);
  std::size_t i = std::min(n, (width - reinterpret_cast<std::uintptr_t>(to) % width) % width);
  std::memcpy(to, from, i);
  for (; i + width <= n; i += width)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  std::memcpy(to + i, from + i, n - i);
}

#else

inline void end_of_stream() {}
inline bool stream_numbers(const column&, const ir::type*, std::size_t, void*) { return false; }
inline void stream_bytes(const std::byte* from, std::size_t n, std::byte* to) { std::memcpy(to, from, n); }

#endif

// Values of `size` bytes that make(first, k, some) makes, some at a time, in the cache: those that are not written as whole words.
inline constexpr std::size_t made_bytes = 5120;
template <class Make> void stream_made(std::byte* to, std::size_t n, std::size_t size, const Make& make) {
  alignas(64) std::byte some[made_bytes];
  for (std::size_t first = 0, k = 0; first < n; first += k) {
    k = std::min(n - first, made_bytes / size);
    make(first, k, some);
    stream_bytes(some, k * size, to + first * size);
  }
}

// Values whose bytes may be copied into raw memory, side by side; false: nothing was written.
inline bool stream_column(const column& c, const ir::type* t, std::size_t n, std::byte* to) {
  constexpr std::size_t fewest = 16;  // at a time
  if (!t->trivial || t->size > made_bytes / fewest) return false;
  if (stream_numbers(c, t, n, to)) return true;
  stream_made(to, n, t->size, [&](std::size_t first, std::size_t k, std::byte* some) {
    gather_column(part_of(c, first), t, k, some, t->size, false);
  });
  return true;
}

// A text of at most 12 characters as words: a copy of so few bytes of any number takes several times as long.
template <bool Streamed> void put_short_text(const std::string& s, text* to) {
#if defined(__SSE2__) && defined(__x86_64__) && defined(_GLIBCXX_STRING)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(s.data()));
  const __m128i mask = _mm_load_si128(reinterpret_cast<const __m128i*>(first_of_16.data() + s.size()));
  const __m128i whole =
      _mm_or_si128(_mm_slli_si128(_mm_and_si128(bytes, mask), 4), _mm_cvtsi32_si128(static_cast<int>(s.size())));
  if constexpr (Streamed) _mm_stream_si128(reinterpret_cast<__m128i*>(to), whole);
  else _mm_storeu_si128(reinterpret_cast<__m128i*>(to), whole);
#else
  const short_text characters(s);
  const std::uint64_t words[2] = {s.size() | characters.first << 32, characters.first >> 32 | characters.rest << 32};
  std::memcpy(static_cast<void*>(to), words, sizeof words);
#endif
}

}  // namespace query::cpu
