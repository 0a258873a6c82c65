// group_by over integers of every width, where the engine's shortcuts begin and end: ranges that widen late, keys at their
// type's ends, rare new keys between long runs of known ones, one key, as many keys as rows, no rows.
#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "conformance/engines.hpp"

namespace conformance {
namespace {

enum class shade : std::int16_t { dark = -300, none = 0, light = 12000 };

template <class K> struct keyed {
  K key;
  std::int32_t id;
  double value;
};
using keyed_bool = keyed<bool>;
using keyed_shade = keyed<shade>;
using keyed_i8 = keyed<std::int8_t>;
using keyed_i32 = keyed<std::int32_t>;
using keyed_i64 = keyed<std::int64_t>;
using keyed_u64 = keyed<std::uint64_t>;
using keyed_maybe = keyed<std::optional<std::int32_t>>;
QUERY_RECORD(keyed_bool, key, id, value);
QUERY_RECORD(keyed_shade, key, id, value);
QUERY_RECORD(keyed_i8, key, id, value);
QUERY_RECORD(keyed_i32, key, id, value);
QUERY_RECORD(keyed_i64, key, id, value);
QUERY_RECORD(keyed_u64, key, id, value);
QUERY_RECORD(keyed_maybe, key, id, value);

constexpr std::size_t two_parts = 70'000;  // more than one part of the engine

using key_of_row = std::function<std::uint64_t(std::size_t)>;
struct shape {
  const char* name;
  std::size_t n;
  key_of_row key;  // cut down to the key's type
};
std::uint64_t spread(std::uint64_t i) { return (i + 1) * 0x9E3779B97F4A7C15ull; }
const std::vector<shape>& shapes() {
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  static const std::vector<shape> all = {
      {"no rows", 0, [](std::size_t) { return 0; }},
      {"all equal", two_parts, [](std::size_t) { return ~std::uint64_t{0}; }},
      {"small and negative", two_parts, [](std::size_t i) { return spread(i) % 1000 - 500; }},
      {"skewed", two_parts, [](std::size_t i) { return spread(i) % 16 ? 3 : spread(i) >> 54; }},
      {"rare new keys", two_parts, [](std::size_t i) { return i % 700 ? i % 20 : i / 700 + 1000; }},
      {"widens late", two_parts, [](std::size_t i) { return i < two_parts - 3000 ? i % 100 : (i % 100) * 40; }},
      {"explodes late", two_parts, [](std::size_t i) { return i < two_parts - 3000 ? i % 100 : spread(i % 100); }},
      {"both ends of the type", two_parts, [](std::size_t i) { return i % 3 ? ~std::uint64_t{0} : i % 2 ? top : top - 1; }},
      {"high bits", two_parts, [](std::size_t i) { return (spread(i) % 1000) << 50 | (spread(i) % 1000) << 20 | spread(i) % 1000; }},
      {"all distinct", two_parts, [](std::size_t i) { return i; }},
      {"all distinct and far", two_parts, [](std::size_t i) { return spread(i); }},
  };
  return all;
}

template <class K> K cut(std::uint64_t x) {
  if constexpr (std::is_same_v<K, shade>) return x % 3 == 0 ? shade::dark : x % 3 == 1 ? shade::none : shade::light;
  else if constexpr (std::is_same_v<K, std::optional<std::int32_t>>) return x % 5 ? K(static_cast<std::int32_t>(x)) : K();
  else if constexpr (std::is_same_v<K, bool>) return x % 2 != 0;
  else return static_cast<K>(x);
}

template <class K> void check(const engine_config& e) {
  using row = keyed<K>;
  using result = std::tuple<K, std::int64_t, double, std::int32_t>;
  for (const shape& s : shapes()) {
    SCOPED_TRACE(s.name);
    std::vector<row> rows(s.n);
    std::vector<result> wanted;  // in order of first appearance
    std::map<K, std::size_t> at;
    for (std::size_t i = 0; i < s.n; ++i) {
      const row r{cut<K>(s.key(i)), static_cast<std::int32_t>(i), static_cast<double>(spread(i) >> 50) / 8};  // sums are exact
      rows[i] = r;
      const auto [it, fresh] = at.try_emplace(r.key, wanted.size());
      if (fresh) wanted.emplace_back(r.key, 0, 0, 0);
      auto& [key, count, sum, last] = wanted[it->second];
      ++count;
      sum += r.value;
      last = r.id;
    }
    const auto q = source(e, rows).group_by([](auto r) { return r.key; }).select([](auto g) {
      return std::tuple(g.key(), g.count(), g.sum([](auto r) { return r.value; }), g.last([](auto r) { return r.id; }));
    });
    // Compared as a whole: a text for each of 70 000 groups would take long.
    if constexpr (std::is_same_v<K, std::int64_t>) {
      EXPECT_TRUE(q.as_ordered().to_vector() == wanted);
    }
    std::vector<result> got = q.to_vector();
    std::sort(got.begin(), got.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_TRUE(got == wanted);
  }
}

CONFORMS(group_integers, bool_and_enum_keys, "group_by") {
  check<bool>(e);
  check<shade>(e);
}
CONFORMS(group_integers, keys_of_8_bits, "group_by") {
  check<std::int8_t>(e);
}
CONFORMS(group_integers, keys_of_32_and_64_bits, "group_by") {
  check<std::int32_t>(e);
  check<std::int64_t>(e);
  check<std::uint64_t>(e);
}
CONFORMS(group_integers, nulls_between_integers, "group_by") { check<std::optional<std::int32_t>>(e); }

// The order of additions is fixed: not only about the same sums, the same bits.
TEST(group_integers, sums_have_the_same_bits_for_one_and_for_many_threads) {
  query::Session one({.threads = 1}), many({.threads = 4});
  for (const shape& s : shapes()) {
    SCOPED_TRACE(s.name);
    std::vector<keyed_i64> rows(s.n);
    for (std::size_t i = 0; i < s.n; ++i) rows[i] = {static_cast<std::int64_t>(s.key(i)), 0, 1.0 / static_cast<double>(i % 977 + 1)};
    const auto bits = [&](query::Session& session) {
      std::map<std::int64_t, std::uint64_t> sums;
      const auto groups = query::from(rows).in(session).group_by([](auto r) { return r.key; });
      const auto q = groups.aggregate([](auto g) { return g.sum([](auto r) { return r.value; }); });
      for (const auto& [k, sum] : q.to_vector()) sums[k] = std::bit_cast<std::uint64_t>(sum);
      return sums;
    };
    EXPECT_EQ(bits(one), bits(many));
  }
}

// A key that throws in the middle of a run of known keys ends the query with that exception, and nothing leaks.
CONFORMS(group_integers, a_key_function_that_throws_late, "group_by") {
  std::vector<keyed_i32> rows(two_parts);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = {static_cast<std::int32_t>(i % 10), static_cast<std::int32_t>(i), 1};
  const auto key = [](const keyed_i32& r) {
    if (r.id == 5000) throw std::out_of_range("row 5000");
    return r.key;
  };
  const auto name = [](const keyed_i32& r) { return std::string(static_cast<std::size_t>(r.key) + 20, 'x'); };
  const auto names = [name](auto g) { return g.collect(name); };
  EXPECT_THROW(source(e, rows).group_by(key).select(names).to_vector(), std::out_of_range);
}

}  // namespace
}  // namespace conformance
