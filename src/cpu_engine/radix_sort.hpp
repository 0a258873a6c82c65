// Stable parallel radix sort of words, alone or with a row id.
//
// One partition of all elements by the leading bits of (key - smallest key) makes buckets that fit a core's cache (parallel
// histogram, one output range a chunk and bucket, stores combined by cache line: Wassenberg, Sanders, "Engineering a
// multi-core radix sort", Euro-Par 2011); buckets that are still large are partitioned again; small ones take LSD passes
// over the leading digits that can differ, and an insertion pass for what those left.
//
//   std::uint64_t* sorted = radix_sort(words, spare, n, 0, scheduler, pool, cancel);   // words or spare
#pragma once

#include <cstddef>
#include <cstdint>

#include <query/detail/function_ref.hpp>

#include "cpu_engine/order_keys.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/scheduler.hpp"

namespace query::cpu {

struct word_row {
  std::uint64_t word, row;
};
struct wide_word_row {
  wide_word word;
  std::uint64_t row;
};

// Sorts n elements at `data` with as many at `spare`; returns where the result is, `data` or `spare`. The order is that of
// the key without its lowest `ignored_bits` bits (row ids packed below a key: those are in order already).
// Element is std::uint32_t, std::uint64_t, word_row or wide_word_row. Throws resource_error and cancelled; the elements
// are then some permutation of a part of the input.
template <class Element>
Element* radix_sort(Element* data, Element* spare, std::size_t n, unsigned ignored_bits, runtime::scheduler& scheduler,
                    runtime::buffer_pool& pool, const runtime::cancel_flag& cancel);

// What a pass over n keys finds out about them.
template <class Key> struct key_range {
  Key low, high;
  bool sorted;
};

// The same for n words of known range that lie nowhere yet, into `to`: made(first, k, out) writes k of them from number `first` on,
// each up to three times in all, which costs less than reading them from memory. `placed` is called for each part of the
// result, n words at `first`, as soon as they are in their places, where they lie in a core's cache; it may change them. Word is
// std::uint32_t or std::uint64_t.
template <class Word>
void radix_sort_words(function_ref<void(std::size_t first, std::size_t k, Word* out)> made, std::size_t n, const key_range<Word>& range,
                      Word* to, function_ref<void(Word* first, std::size_t n)> placed, runtime::scheduler& scheduler,
                      runtime::buffer_pool& pool, const runtime::cancel_flag& cancel);

}  // namespace query::cpu
