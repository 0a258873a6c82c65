// Keys that come as codes of dictionaries get the ids, hashes and words that their strings get.
#include "cpu_engine/dictionary.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "cpu_engine/grouper.hpp"
#include "cpu_engine/key_hash.hpp"

namespace query::cpu {
namespace {

template <class T> struct coded_keys {
  std::vector<T> entries;
  std::vector<std::uint32_t> codes;
  std::vector<T> values;  // the same rows
  dictionary of;

  coded_keys(std::vector<T> all, std::size_t rows, unsigned seed)
      : entries(std::move(all)), of(ir::describe<T>(), entries.data(), entries.size()) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < rows; ++i) {
      codes.push_back(static_cast<std::uint32_t>(random() % entries.size()));
      values.push_back(entries[codes.back()]);
    }
  }
  key_part part(std::size_t offset = 0) const {
    return {ir::describe<T>(), offset, reinterpret_cast<const std::byte*>(entries.data()), sizeof(T), codes.data(), true, &of};
  }
  key_part plain(std::size_t offset = 0) const {
    return {.type = ir::describe<T>(), .offset = offset, .base = reinterpret_cast<const std::byte*>(values.data()), .stride = sizeof(T)};
  }
};

std::vector<std::string> words(std::size_t n, const std::string& prefix = "") {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(prefix + std::to_string(i * i % (n / 2 + 1)));  // some come twice
  return all;
}

// Asks in calls of several sizes, as batches come.
std::vector<std::uint32_t> ids_of(grouper& groups, key_view keys, std::size_t n) {
  std::vector<std::uint32_t> ids(n);
  for (std::size_t begin = 0, step = 1; begin < n; begin += step, step = step * 3 + 1)
    groups.find_or_insert(keys, begin, std::min(step, n - begin), ids.data() + begin);
  return ids;
}

void check_groups(const ir::type* key, std::vector<key_part> coded, std::vector<key_part> plain, std::size_t n) {
  runtime::buffer_pool pool;
  for (const auto what : {grouper::keep::whole, grouper::keep::parts, grouper::keep::nothing}) {
    grouper by_code(key, pool, {}, what), by_value(key, pool, {}, what);
    for (int round = 0; round < 2; ++round) {
      ASSERT_EQ(ids_of(by_code, coded, n), ids_of(by_value, plain, n));
      ASSERT_EQ(by_code.size(), by_value.size());
      for (std::uint32_t g = 0; what == grouper::keep::whole && g < by_code.size(); ++g)
        ASSERT_TRUE(equal_keys(*key, by_code.key(g), by_value.key(g)));
      if (what == grouper::keep::nothing) break;
      by_code.clear();
      by_value.clear();
    }
  }
  std::vector<std::uint64_t> hashes(n), expected(n);
  hash_keys(*key, coded, 0, n, hashes.data());
  hash_keys(*key, plain, 0, n, expected.data());
  EXPECT_EQ(hashes, expected);
}

TEST(dictionary, codes_are_grouped_as_their_strings) {
  const std::size_t n = 20'000;
  for (const std::size_t entries : {1u, 3u, 100u, 5000u, 70'000u}) {
    for (const char* prefix : {"", "a prefix that makes strings long: "}) {
      const coded_keys<std::string> keys(words(entries, prefix), n, 1);
      check_groups(ir::describe<std::string>(), {keys.part()}, {keys.plain()}, n);
    }
  }
}

TEST(dictionary, null_entries_are_a_group) {
  std::vector<std::optional<std::string>> entries{"a", std::nullopt, "b", "a"};
  const coded_keys<std::optional<std::string>> keys(entries, 5000, 2);
  check_groups(ir::describe<std::optional<std::string>>(), {keys.part()}, {keys.plain()}, 5000);
}

TEST(dictionary, combinations_of_codes_are_grouped_as_their_strings) {
  using pair = std::tuple<std::string, std::string>;
  const ir::type* const key = ir::describe<pair>();
  const std::size_t first = key->field_list[0].offset, second = key->field_list[1].offset, n = 30'000;
  for (const std::size_t entries : {2u, 60u, 400u}) {
    const coded_keys<std::string> a(words(entries), n, 3), b(words(entries, "longer than fifteen: "), n, 4);
    check_groups(key, {a.part(first), b.part(second)}, {a.plain(first), b.plain(second)}, n);
    check_groups(key, {a.plain(first), b.part(second)}, {a.plain(first), b.plain(second)}, n);  // one part has no codes
  }
}

TEST(dictionary, a_table_takes_keys_of_several_dictionaries) {
  const std::size_t n = 3000;
  runtime::buffer_pool pool;
  grouper by_code(ir::describe<std::string>(), pool), by_value(ir::describe<std::string>(), pool);
  for (unsigned d = 0; d < 20; ++d) {
    const coded_keys<std::string> keys(words(10 + d, d % 3 ? "" : "x"), n, d);
    const key_part coded = keys.part(), plain = keys.plain();
    ASSERT_EQ(ids_of(by_code, {&coded, 1}, n), ids_of(by_value, {&plain, 1}, n)) << d;
    ASSERT_EQ(ids_of(by_code, {&plain, 1}, n), ids_of(by_value, {&coded, 1}, n)) << d;
  }
}

}  // namespace
}  // namespace query::cpu
