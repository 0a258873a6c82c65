// What counts of frequent values need of orders.
#include <algorithm>
#include <functional>
#include <numeric>

#include <query/sketches.hpp>

namespace query::detail {

std::int64_t nth_largest(std::vector<std::int64_t> numbers, std::size_t n) {
  const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(n);
  std::nth_element(numbers.begin(), at, numbers.end(), std::greater<>());
  return *at;
}

std::vector<std::uint32_t> places_of_largest(const std::vector<std::int64_t>& numbers, std::size_t k) {
  std::vector<std::uint32_t> places(numbers.size());
  std::iota(places.begin(), places.end(), std::uint32_t{0});
  k = std::min(k, places.size());
  std::partial_sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(k), places.end(),
                    [&](std::uint32_t a, std::uint32_t b) { return numbers[a] != numbers[b] ? numbers[a] > numbers[b] : a < b; });
  places.resize(k);
  return places;
}

}  // namespace query::detail
