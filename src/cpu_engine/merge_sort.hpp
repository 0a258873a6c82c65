// Stable parallel merge sort of row ids by a comparison: what is left when no integer can stand for the keys.
//
//   merge_sort(ids, spare, n, [&](std::uint32_t a, std::uint32_t b) { return compare_rows(keys, a, b) < 0; }, s, cancel);
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include <query/detail/stop.hpp>

#include "runtime/scheduler.hpp"

namespace query::cpu {

// Sorts n elements at `data` with as many at `spare`; the result is in `data`. Chunks are sorted side by side, then merged
// two by two. O(n log n) comparisons, with a look at the query's state before each: a comparison may be the user's.
template <class Element, class Less>
void merge_sort(Element* data, Element* spare, std::size_t n, const Less& given, runtime::scheduler& scheduler,
                const runtime::cancel_flag& cancel) {
  constexpr std::size_t smallest = 4096;
  const auto less = [&given, looked = detail::stop_point(cancel.state())](const Element& a, const Element& b) {
    looked.check();
    return given(a, b);
  };
  if (n < 2 || std::is_sorted(data, data + n, less)) return;
  std::size_t chunk = std::max(smallest, n / (4 * static_cast<std::size_t>(scheduler.concurrency())) + 1);
  const auto chunks = [&] { return (n + chunk - 1) / chunk; };
  scheduler.for_each(chunks(), [&](std::size_t c) {
    std::stable_sort(data + c * chunk, data + std::min(n, (c + 1) * chunk), less);
  }, cancel);
  Element *from = data, *to = spare;
  for (; chunk < n; chunk *= 2) {
    scheduler.for_each((chunks() + 1) / 2, [&](std::size_t pair) {
      const std::size_t begin = 2 * pair * chunk, middle = std::min(n, begin + chunk), end = std::min(n, middle + chunk);
      std::merge(from + begin, from + middle, from + middle, from + end, to + begin, less);
    }, cancel);
    std::swap(from, to);
  }
  if (from != data) std::copy_n(from, n, data);
}

}  // namespace query::cpu
