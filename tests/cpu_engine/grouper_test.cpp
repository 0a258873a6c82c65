#include "cpu_engine/grouper.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/key_cases.hpp"
#include "cpu_engine/key_words.hpp"
#include "cpu_engine/order_keys.hpp"

namespace query::cpu {
namespace {

using namespace cases;

// std::map under the documented equality: order_keys has a test of its own.
template <class T>
struct key_less {
  bool operator()(const T& a, const T& b) const { return compare_values(*ir::describe<T>(), &a, &b) < 0; }
};

template <class T>
class grouper_of : public testing::Test {};
using key_types = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double, colour,
                                 std::string, std::optional<std::int32_t>, std::optional<double>, std::optional<std::string>, point, person,
                                 std::array<std::int32_t, 4>, std::tuple<std::uint8_t, std::string>, std::tuple<std::string, std::string>,
                                 std::tuple<std::int64_t, std::int64_t, double>, std::vector<std::int32_t>>;
TYPED_TEST_SUITE(grouper_of, key_types);

TYPED_TEST(grouper_of, numbers_keys_in_order_of_first_appearance) {
  using T = TypeParam;
  const std::uint64_t seed = 4711;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  runtime::buffer_pool pool;
  auto probes = key_columns<T>(seed + 1);
  for (auto& probe : probes) probe.resize(std::min<std::size_t>(probe.size(), 1500));
  for (const auto& column : key_columns<T>(seed)) {
    std::map<T, std::uint32_t, key_less<T>> expected;
    grouper groups(ir::describe<T>(), pool);
    std::vector<std::uint32_t> ids(column.size());
    for (std::size_t begin = 0, step = 1; begin < column.size(); begin += step, step = step * 3 + 1)
      groups.find_or_insert(column.data() + begin, std::min(step, column.size() - begin), ids.data() + begin);
    for (std::size_t i = 0; i < column.size(); ++i)
      ASSERT_EQ(ids[i], expected.emplace(column[i], static_cast<std::uint32_t>(expected.size())).first->second) << "row " << i;
    ASSERT_EQ(groups.size(), expected.size());
    for (const auto& [key, id] : expected) ASSERT_TRUE(equal_keys(*ir::describe<T>(), groups.key(id), &key));

    std::vector<std::uint32_t> found(column.size());
    groups.find(column.data(), column.size(), found.data());
    ASSERT_EQ(found, ids);
    for (const auto& probe : probes) {
      found.assign(probe.size(), 0);
      groups.find(probe.data(), probe.size(), found.data());
      for (std::size_t i = 0; i < probe.size(); ++i) {
        const auto at = expected.find(probe[i]);
        ASSERT_EQ(found[i], at == expected.end() ? grouper::absent : at->second);
      }
    }
    groups.clear();
    EXPECT_EQ(groups.size(), 0u);
    if (!column.empty()) {
      groups.find(column.data(), 1, found.data());
      EXPECT_EQ(found[0], grouper::absent);
      groups.find_or_insert(column.data(), 1, found.data());
      EXPECT_EQ(found[0], 0u);
    }
  }
  EXPECT_EQ(pool.used(), 0u);
}

TYPED_TEST(grouper_of, hashes_equal_keys_alike) {
  using T = TypeParam;
  std::map<T, std::uint64_t, key_less<T>> hashes;
  for (const auto& column : key_columns<T>(3)) {
    std::vector<std::uint64_t> out(column.size());
    hash_keys(*ir::describe<T>(), column.data(), column.size(), out.data());
    for (std::size_t i = 0; i < column.size(); ++i) ASSERT_EQ(hashes.emplace(column[i], out[i]).first->second, out[i]);
  }
}

TEST(grouper, leaves_the_dense_array_when_the_range_explodes) {
  runtime::buffer_pool pool;
  grouper groups(ir::describe<std::int64_t>(), pool);
  std::vector<std::int64_t> keys;
  for (std::int64_t i = 0; i < 5000; ++i) keys.push_back(i % 1000 - 500);
  keys.push_back(std::numeric_limits<std::int64_t>::max());
  keys.push_back(std::numeric_limits<std::int64_t>::min());
  for (std::int64_t i = 0; i < 5000; ++i) keys.push_back(i % 2000 - 1000);
  std::vector<std::uint32_t> ids(keys.size());
  groups.find_or_insert(keys.data(), keys.size(), ids.data());
  EXPECT_EQ(groups.size(), 2002u);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(*static_cast<const std::int64_t*>(groups.key(ids[i])), keys[i]);
}

TEST(grouper, moves_from_short_to_long_strings) {
  runtime::buffer_pool pool;
  grouper groups(ir::describe<std::string>(), pool);
  std::vector<std::string> keys;
  for (int i = 0; i < 3000; ++i) keys.push_back("id" + std::to_string(i % 500));
  for (int i = 0; i < 3000; ++i)
    keys.push_back("id" + std::to_string(i % 600) + (i % 2 != 0 ? "" : std::string(static_cast<std::size_t>(i % 40), 'x')));
  std::map<std::string, std::uint32_t> expected;
  std::vector<std::uint32_t> ids(keys.size());
  groups.find_or_insert(keys.data(), keys.size(), ids.data());
  for (std::size_t i = 0; i < keys.size(); ++i)
    ASSERT_EQ(ids[i], expected.emplace(keys[i], static_cast<std::uint32_t>(expected.size())).first->second);
}

// Words that somebody has kept stand for keys, and so do those of another table, whatever forms the two have.
TEST(grouper, takes_keys_by_their_words) {
  const ir::type& type = *ir::describe<std::string>();
  runtime::buffer_pool pool;
  std::vector<std::string> keys;
  for (int i = 0; i < 6000; ++i) keys.push_back("key" + std::string(static_cast<std::size_t>(i % 25), 'x') + std::to_string(i % 700));
  const auto n = static_cast<std::uint32_t>(keys.size());
  std::vector<std::uint32_t> wanted(n), ids(n);
  grouper plain(&type, pool), by_words(&type, pool);
  plain.find_or_insert(keys.data(), n, wanted.data());

  std::vector<wide_word> words(n);
  key_words(type, {}).encode(key_words::form::string, keys.data(), n, words.data());
  const key_part whole = side_by_side(type, keys.data());
  by_words.expect_words();
  by_words.find_or_insert(key_view(&whole, 1), 0, n, ids.data(), {nullptr, words.data()});
  EXPECT_EQ(ids, wanted);

  const std::vector<std::string> short_keys = {"b", "key0", "", "key1"};
  std::uint32_t short_ids[4];
  grouper few(&type, pool);
  few.find_or_insert(short_keys.data(), 4, short_ids);
  for (const grouper* from : {&plain, &by_words, &few}) {
    SCOPED_TRACE(from->size());
    grouper to(&type, pool);
    to.find_or_insert(short_keys.data(), 1, short_ids);
    ids.assign(from->size(), 0);
    to.find_or_insert(from->stored(), 0, from->size(), ids.data(), from->marks());
    for (std::uint32_t i = 0; i < from->size(); ++i)
      ASSERT_EQ(*static_cast<const std::string*>(to.key(ids[i])), *static_cast<const std::string*>(from->key(i)));
  }
}

TEST(grouper, grows_over_millions_of_keys) {
  runtime::buffer_pool pool;
  grouper groups(ir::describe<std::int64_t>(), pool);
  std::vector<std::int64_t> keys(1500000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(hash_word(i % 1000000));
  std::vector<std::uint32_t> ids(keys.size());
  groups.find_or_insert(keys.data(), keys.size(), ids.data());
  EXPECT_EQ(groups.size(), 1000000u);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(ids[i], i % 1000000);
}

// known() against find(), for keys that are there, keys beside them, and the extremes.
template <class T>
class known_keys_of : public testing::Test {};
using integer_types = testing::Types<char, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                                     std::int64_t, std::uint64_t, colour>;
TYPED_TEST_SUITE(known_keys_of, integer_types);

TYPED_TEST(known_keys_of, are_those_that_find_finds) {
  using T = TypeParam;
  runtime::buffer_pool pool;
  for (const auto& column : key_columns<T>(17)) {
    grouper groups(ir::describe<T>(), pool);
    EXPECT_FALSE(groups.known());
    std::vector<T> probes = column;
    for (const std::uint64_t x : {0ull, 1ull, 127ull, 128ull, 255ull, 32767ull, 65535ull, 0x7fffffffull, 0x80000000ull, 0xffffffffull,
                                  0x7fffffffffffffffull, 0x8000000000000000ull, 0xffffffffffffffffull})
      for (const std::uint64_t d : {0ull, 1ull, ~0ull}) probes.push_back(static_cast<T>(x + d));
    std::vector<std::uint32_t> ids(column.size()), found(probes.size());
    for (std::size_t begin = 0, step = 1; begin < column.size(); begin += step, step = step * 3 + 1) {
      groups.find_or_insert(column.data() + begin, std::min(step, column.size() - begin), ids.data());
      const detail::known_keys known = groups.known();
      if (!known) continue;  // a large table
      groups.find(probes.data(), probes.size(), found.data());
      for (std::size_t i = 0; i < probes.size(); ++i) ASSERT_EQ(known.find(probes[i]), found[i]) << "probe " << i;
    }
  }
}

TEST(known_keys, are_for_small_tables_of_single_integers) {
  runtime::buffer_pool pool;
  const auto known_after = [&]<class T>(const std::vector<T>& keys) {
    grouper groups(ir::describe<T>(), pool);
    std::vector<std::uint32_t> ids(keys.size());
    groups.find_or_insert(keys.data(), keys.size(), ids.data());
    return static_cast<bool>(groups.known());
  };
  EXPECT_TRUE(known_after(std::vector<std::int64_t>{5, -5}));
  EXPECT_TRUE(known_after(std::vector<std::int64_t>{5, std::numeric_limits<std::int64_t>::min()}));
  EXPECT_TRUE(known_after(std::vector<std::int32_t>{5, std::numeric_limits<std::int32_t>::min()}));
  EXPECT_FALSE(known_after(std::vector<double>{5, -5}));
  EXPECT_FALSE(known_after(std::vector<std::optional<std::int8_t>>{5, std::nullopt}));
  EXPECT_FALSE(known_after(std::vector<std::string>{"a"}));
  std::vector<std::int64_t> many(1 << 18);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int64_t>(hash_word(i));
  EXPECT_FALSE(known_after(many));
}

struct modulo {
  int value;
  std::string text;
};

key_equality by_value_modulo(const int& divisor) {
  return {[](const void* d, const void* a, const void* b) {
            return static_cast<const modulo*>(a)->value % *static_cast<const int*>(d) ==
                   static_cast<const modulo*>(b)->value % *static_cast<const int*>(d);
          },
          [](const void* d, const void* a) -> std::uint64_t {
            return static_cast<std::uint64_t>(static_cast<const modulo*>(a)->value % *static_cast<const int*>(d));
          },
          &divisor};
}

TEST(grouper, takes_an_equality_for_opaque_keys_and_needs_one) {
  runtime::buffer_pool pool;
  EXPECT_THROW(grouper(ir::describe<modulo>(), pool), user_error);
  const int divisor = 10;
  grouper groups(ir::describe<modulo>(), pool, by_value_modulo(divisor));
  std::vector<modulo> keys;
  for (int i = 0; i < 5000; ++i) keys.push_back({i, std::string(30, 'x')});
  std::vector<std::uint32_t> ids(keys.size());
  groups.find_or_insert(keys.data(), keys.size(), ids.data());
  EXPECT_EQ(groups.size(), 10u);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(ids[i], i % 10);
}

TEST(grouper, moves_with_its_keys) {
  runtime::buffer_pool pool;
  grouper a(ir::describe<std::string>(), pool);
  const std::vector<std::string> keys = {"one", "two", "a string that is not short"};
  std::uint32_t ids[3];
  a.find_or_insert(keys.data(), 3, ids);
  grouper b = std::move(a);
  b.find(keys.data(), 3, ids);
  EXPECT_EQ(ids[2], 2u);
  EXPECT_EQ(static_cast<const std::string*>(b.keys())[2], keys[2]);
}

TEST(hash_word, spreads_regular_numbers_over_low_and_high_bits) {
  const auto fullest = [](auto&& number, auto&& bucket) {
    std::vector<int> counts(1024);
    for (std::uint64_t i = 0; i < 65536; ++i) ++counts[bucket(hash_word(number(i)))];
    return *std::max_element(counts.begin(), counts.end());
  };
  const auto low = [](std::uint64_t h) { return h & 1023; };
  const auto middle = [](std::uint64_t h) { return h >> 32 & 1023; };
  const auto high = [](std::uint64_t h) { return h >> 54; };
  const auto check = [&](const char* what, auto&& number) {
    EXPECT_LT(fullest(number, low), 256) << what;  // 64 expected
    EXPECT_LT(fullest(number, middle), 256) << what;
    EXPECT_LT(fullest(number, high), 256) << what;
  };
  check("sequence", [](std::uint64_t i) { return i; });
  check("signed sequence", [](std::uint64_t i) { return i + (std::uint64_t{1} << 63); });
  check("multiples of 4096", [](std::uint64_t i) { return i << 12; });
  check("high half", [](std::uint64_t i) { return i << 40; });
  check("doubles", [](std::uint64_t i) { return std::bit_cast<std::uint64_t>(static_cast<double>(i)); });
}

}  // namespace
}  // namespace query::cpu
