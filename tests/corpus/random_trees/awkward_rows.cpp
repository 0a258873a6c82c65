#include <limits>
#include <random>

#include "corpus/random_trees/sample.hpp"

namespace random_trees {

namespace {

class source {
 public:
  explicit source(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  template <class T> T number() {
    using limits = std::numeric_limits<T>;
    const T plain = static_cast<T>(static_cast<int>(below(std::is_signed_v<T> ? 19 : 10)) - (std::is_signed_v<T> ? 9 : 0));
    if (below(2)) return plain;
    if constexpr (std::is_floating_point_v<T>) {
      constexpr T strange[] = {T{0}, -T{0}, limits::quiet_NaN(), limits::infinity(), -limits::infinity(), limits::max(), limits::lowest(),
                               limits::min(), limits::denorm_min(), limits::epsilon(), T(0.1), T(-2.5), T(1e9), T(-3e9), T(9.3e18),
                               T(1.9e19)};
      return strange[below(std::size(strange))];
    } else {
      constexpr T strange[] = {T{0}, T{1}, limits::min(), limits::max(), T(limits::min() + 1), T(limits::max() - 1),
                               T(limits::max() / 2), T(127), T(100)};
      return below(4) ? strange[below(std::size(strange))] : static_cast<T>(random_());
    }
  }
  std::string text() {
    constexpr const char* texts[] = {"", "a", "A", "b", "ab", "<", "\xc3\xa9", "Zz9",
                                     "a text that is too long for the small buffer of a string"};
    std::string s = texts[below(std::size(texts))];
    if (below(16) == 0) s.push_back('\0');
    return s;
  }
  point place() { return {number<float>(), number<double>(), number<std::int16_t>()}; }

 private:
  std::mt19937_64 random_;
};

}  // namespace

std::vector<sample> awkward_rows(std::size_t n, std::uint64_t seed) {
  source from(seed);
  std::vector<sample> rows(n);
  for (sample& r : rows) {
    r.tiny = from.number<std::int8_t>();
    r.small = from.number<std::int16_t>();
    r.id = from.number<std::int32_t>();
    r.large = from.number<std::int64_t>();
    r.level = from.number<std::uint8_t>();
    r.port = from.number<std::uint16_t>();
    r.flags = from.number<std::uint32_t>();
    r.bits = from.number<std::uint64_t>();
    r.ratio = from.number<float>();
    r.price = from.number<double>();
    r.hot = from.below(2) != 0;
    r.state = static_cast<mood>(from.below(3));
    r.name = from.text();
    r.city = from.text();
    if (from.below(3)) r.lot = from.number<int>();
    if (from.below(3)) r.fee = from.number<double>();
    if (from.below(3)) r.note = from.text();
    if (from.below(3)) r.place = from.place();
    for (float& e : r.x) e = from.number<float>();
    for (std::int32_t& e : r.counts) e = from.number<std::int32_t>();
    for (std::size_t k = from.below(5); k > 0; --k) r.parts.push_back(from.number<std::int32_t>());
    for (std::size_t k = from.below(5); k > 0; --k) r.marks.push_back(from.number<double>());
    r.at = from.place();
  }
  return rows;
}

}  // namespace random_trees
