// Groups and sets by strings: the answers of loops, the same bits with any number of threads, with little memory, and from any source.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "sanitized.hpp"
#include "temp_folder.hpp"

namespace query::tests {

struct string_keyed {
  std::int32_t id;
  std::string text;
  std::optional<std::string> other;
  double weight;
  bool operator==(const string_keyed&) const = default;
};
QUERY_RECORD(string_keyed, id, text, other, weight);
struct string_alone {
  std::string text;
  bool operator==(const string_alone&) const = default;
};
QUERY_RECORD(string_alone, text);
struct string_total {
  std::string text;
  double sum;
  std::int64_t n;
  bool operator==(const string_total&) const = default;
};
QUERY_RECORD(string_total, text, sum, n);

namespace {

// Of the lengths at which tables change their ways; most begin or end like others, and some hold zeros.
std::string awkward_string(std::uint64_t kind) {
  constexpr std::size_t lengths[] = {20, 0, 1, 7, 8, 15, 16, 17, 63, 64, 65, 200};
  const std::size_t length = kind % 50'000 == 1'234 ? 70'000 : lengths[kind % std::size(lengths)];
  std::string s(length, kind % 5 ? 'x' : '\0');
  std::string number(sizeof kind, '\0');
  for (std::size_t i = 0; i < number.size(); ++i) number[i] = static_cast<char>(kind >> 8 * i);
  const std::size_t n = std::min(length, number.size()), at = kind % 3 ? length - n : 0;
  return s.replace(at, n, number, 0, n);
}

struct string_rows {
  std::vector<std::int32_t> id;
  std::vector<std::string> text;
  std::vector<std::optional<std::string>> other;
  std::vector<double> weight;
  std::vector<string_keyed> rows;

  // skew: so many of ten rows have the same key.
  string_rows(std::size_t n, std::size_t kinds, std::uint64_t seed, std::size_t skew = 0) {
    std::uint64_t state = seed * 2 + 88172645463325252u;
    for (std::size_t i = 0; i < n; ++i) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      const std::uint64_t kind = state % 10 < skew ? seed % 2 : (state >> 8) % kinds + seed * (kinds / 3);
      rows.push_back({static_cast<std::int32_t>(i), awkward_string(kind),
                      kind % 7 ? std::optional(awkward_string(kind / 2)) : std::nullopt, static_cast<double>(state % 1000) / 7});
      const string_keyed& r = rows.back();
      id.push_back(r.id), text.push_back(r.text), other.push_back(r.other), weight.push_back(r.weight);
    }
  }
  auto columns() const { return query::columns<string_keyed>(id, text, other, weight); }
};

const auto text_of = [](auto r) { return r.text; };
const auto other_of = [](auto r) { return r.other; };
const auto two_of = [](auto r) { return std::tuple(r.text, r.other); };
const auto weight_of = [](auto r) { return r.weight; };

template <class Key> std::vector<string_keyed> first_of(const std::vector<string_keyed>& rows, Key key) {
  std::set<decltype(key(rows[0]))> seen;
  std::vector<string_keyed> all;
  for (const string_keyed& r : rows)
    if (seen.insert(key(r)).second) all.push_back(r);
  return all;
}
template <class Key>
std::vector<string_keyed> told_apart(const std::vector<string_keyed>& rows, const std::vector<string_keyed>& others, Key key, bool in) {
  std::set<decltype(key(rows[0]))> known;
  for (const string_keyed& r : others) known.insert(key(r));
  std::vector<string_keyed> all;
  for (const string_keyed& r : first_of(rows, key))
    if (known.contains(key(r)) == in) all.push_back(r);
  return all;
}
std::vector<string_keyed> together(std::vector<string_keyed> a, const std::vector<string_keyed>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void each_session(const std::function<void(const query::Session&)>& f, std::size_t memory) {
  for (const int threads : {1, 2, 7, 16}) {
    SCOPED_TRACE(threads);
    f(query::Session({.threads = threads}));
  }
  SCOPED_TRACE("little memory");
  const temp_folder at("string_keys_test");
  f(query::Session({.threads = 2, .memory_limit = memory, .temp_folder = at.name()}));
}

template <class Key> void sets(const string_rows& a, const string_rows& b, Key key, std::size_t memory) {
  const auto both = together(a.rows, b.rows);
  const auto distinct = first_of(a.rows, key), of_both = first_of(both, key);
  const auto among = told_apart(a.rows, b.rows, key, true), alone = told_apart(a.rows, b.rows, key, false);
  each_session([&](const query::Session& s) {
    const auto rows = query::from(a.rows).in(s), more = query::from(b.rows).in(s);
    const auto columns = query::from(a.columns()).in(s), more_columns = query::from(b.columns()).in(s);
    EXPECT_TRUE(columns.distinct_by(key).to_vector() == distinct);
    EXPECT_TRUE(rows.distinct_by(key).to_vector() == distinct);
    EXPECT_TRUE(columns.concat(more_columns).distinct_by(key).to_vector() == of_both);
    EXPECT_TRUE(columns.union_with_by(more_columns, key).to_vector() == of_both);
    EXPECT_TRUE(rows.union_with_by(more, key).to_vector() == of_both);
    EXPECT_TRUE(columns.intersect_by(more_columns, key).to_vector() == among);
    EXPECT_TRUE(rows.intersect_by(more_columns, key).to_vector() == among);
    EXPECT_TRUE(columns.except_by(more_columns, key).to_vector() == alone);
    EXPECT_TRUE(columns.concat(more).except_by(more_columns, key).to_vector() == alone);
    EXPECT_TRUE(rows.except_by(more, key).to_vector() == alone);
  }, memory);
}

// little: concat needs room for records, where it puts them together.
constexpr std::size_t many = sanitized ? 3'000 : 135'000, some = many / 5, little = std::size_t{144} << 20;

TEST(string_keys, sets_of_many_different_keys) { sets(string_rows(many, many, 0), string_rows(many, many, 1), text_of, little); }
TEST(string_keys, sets_of_few_different_keys) { sets(string_rows(many, 100, 0), string_rows(many, 100, 1), text_of, little); }
TEST(string_keys, sets_of_one_key) { sets(string_rows(many, 1, 0), string_rows(many, 1, 0), text_of, little); }
TEST(string_keys, sets_of_a_frequent_key) { sets(string_rows(many, many, 0, 9), string_rows(many, many, 1, 5), text_of, little); }
TEST(string_keys, sets_beside_few_others) { sets(string_rows(many, many, 0), string_rows(50, many, 1), text_of, little); }
TEST(string_keys, sets_of_few_beside_many) { sets(string_rows(50, many, 0), string_rows(many, many, 1), text_of, little); }
TEST(string_keys, sets_of_no_rows) { sets(string_rows(0, 1, 0), string_rows(100, 10, 1), text_of, little); }
TEST(string_keys, sets_beside_no_rows) { sets(string_rows(100, 10, 1), string_rows(0, 1, 0), text_of, little); }
TEST(string_keys, sets_by_optional_strings) { sets(string_rows(some, some, 0), string_rows(some, some, 1), other_of, little); }
TEST(string_keys, sets_by_two_strings) { sets(string_rows(many, many, 0), string_rows(many, many, 1), two_of, little); }
TEST(string_keys, sets_by_computed_strings) {
  sets(string_rows(20'000, 9'000, 0), string_rows(20'000, 9'000, 1), [](auto r) { return r.text + "-"; }, little);
}

TEST(string_keys, distinct_records_of_a_string) {
  const string_rows a(many, many / 2, 0);
  std::vector<string_alone> wanted;
  for (const string_keyed& r : first_of(a.rows, text_of)) wanted.push_back({r.text});
  each_session([&](const query::Session& s) {
    const auto texts = query::from(a.columns()).in(s).select([](auto r) { return query::make<string_alone>(r.text); });
    EXPECT_TRUE(texts.distinct().to_vector() == wanted);
  }, little);
}

void groups(const string_rows& a, const string_rows& b) {
  std::map<std::string, std::int64_t> counts;
  for (const string_keyed& r : together(a.rows, b.rows)) ++counts[r.text];
  std::vector<string_total> first;
  each_session([&](const query::Session& s) {
    const auto columns = query::from(a.columns()).in(s).concat(query::from(b.columns()).in(s));
    const auto totals = columns.group_by(text_of).select([](auto g) {
      return query::make<string_total>(g.key(), g.sum(weight_of), g.count());
    }).as_ordered().to_vector();
    ASSERT_EQ(totals.size(), counts.size());
    for (const string_total& t : totals) ASSERT_EQ(t.n, counts.at(t.text));
    if (first.empty()) first = totals;
    EXPECT_TRUE(totals == first);
  }, little);
}
TEST(string_keys, groups_of_many_different_keys) { groups(string_rows(many, many / 2, 0), string_rows(many, many / 2, 1)); }
TEST(string_keys, groups_of_few_different_keys) { groups(string_rows(many, 100, 0), string_rows(1'000, 100, 1)); }
TEST(string_keys, groups_of_a_frequent_key) { groups(string_rows(many, many, 0, 9), string_rows(many, many, 1, 5)); }

}  // namespace
}  // namespace query::tests
