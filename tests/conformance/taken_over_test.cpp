// Sources that are temporaries: the query keeps them, and may be returned, stored and run again.
#include <array>
#include <deque>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"

namespace conformance {
namespace {

struct pair_of {
  std::int64_t number;
  std::string text;
};
QUERY_RECORD(pair_of, number, text);

std::vector<std::int64_t> numbers() {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < 2000; ++i) all.push_back(i);
  return all;
}
std::vector<std::string> texts() {
  std::vector<std::string> all;
  for (int i = 0; i < 2000; ++i) all.push_back("a text that is too long to lie in the string itself: " + std::to_string(i));
  return all;
}
std::vector<pair_of> pairs() {
  std::vector<pair_of> all;
  const std::vector<std::string> few = texts();
  for (const std::int64_t i : numbers()) all.push_back({i, few[static_cast<std::size_t>(i % 10)]});
  return all;
}
const std::vector<std::int64_t> numbers_to_read() { return numbers(); }  // NOLINT: a const temporary cannot be moved from

// Fills memory that was given back.
void reuse_memory() {
  std::vector<std::vector<std::int64_t>> all(20, std::vector<std::int64_t>(2000, -1));
  std::vector<std::string> more(2000, std::string(60, '?'));
}

CONFORMS(taken_over, temporary_columns, "columns") {
  const auto q = [&] { return source(e, query::columns<pair_of>(numbers(), texts())); }();
  reuse_memory();
  const auto rows = q.to_vector();
  ASSERT_EQ(rows.size(), 2000u);
  EXPECT_EQ(rows[1999].number, 1999);
  EXPECT_EQ(rows[1999].text, texts()[1999]);
  EXPECT_EQ(q.sum([](auto p) { return p.number; }), 1999000);

  // One that lives and one that does not.
  auto living = texts();
  const auto mixed = [&] { return source(e, query::columns<pair_of>(numbers(), living)); }();
  reuse_memory();
  living[5] = "changed";
  EXPECT_EQ(mixed.where([](auto p) { return p.number == 5; }).single().text, "changed");
}

CONFORMS(taken_over, temporary_columns_of_a_query, "to_vectors", "columns") {
  const auto q = [&] { return source(e, query::columns<pair_of>(query::from(pairs()).to_vectors())); }();
  reuse_memory();
  EXPECT_ROWS(q.to_vector(), pairs());
  const auto& numbers_alone = query::from(pairs()).to_vectors().get<0>();
  reuse_memory();
  EXPECT_ROWS(numbers_alone, numbers());
}

CONFORMS(taken_over, other_temporary_containers, "from") {
  const auto list = [&] { return source(e, std::list<std::int64_t>{1, 2, 3}); }();
  const auto deque = [&] { return source(e, std::deque<std::int64_t>(2000, 4)); }();
  const auto array = [&] { return source(e, std::array<std::int64_t, 3>{1, 2, 3}); }();
  const auto vector = [&] { return source(e, numbers()); }();
  const auto constant = [&] { return on(e, query::from(numbers_to_read())); }();
  const auto bits = [&] { return source(e, std::vector<bool>(2000, true)); }();
  reuse_memory();
  EXPECT_ROWS(list.to_vector(), std::vector<std::int64_t>({1, 2, 3}));
  EXPECT_EQ(deque.sum(), 8000);
  EXPECT_ROWS(array.to_vector(), std::vector<std::int64_t>({1, 2, 3}));
  EXPECT_ROWS(vector.to_vector(), numbers());
  EXPECT_ROWS(constant.to_vector(), numbers());
  EXPECT_EQ(bits.count([](bool b) { return b; }), 2000);
}

CONFORMS(taken_over, temporaries_on_the_other_side, "join", "concat", "zip", "union_with", "append", "broadcast") {
  const auto number = [](auto p) { return p.number; };
  const auto q = [&] {
    const auto rates = query::broadcast(std::vector<std::int64_t>{1998, 1999, 7});
    return source(e, pairs())
        .join(query::from(query::columns<pair_of>(numbers(), texts())), number, number, [](auto l, auto r) { return std::pair(l, r); })
        .where([rates](auto p) { return rates.any(p.first.number, [](auto n, auto x) { return n <= x; }); })
        .select([](auto p) { return p.second; })
        .concat(query::from(pairs()).take(10))
        .append({-1, texts()[0]});
  }();
  reuse_memory();
  EXPECT_EQ(q.count(), 2011);
  EXPECT_EQ(q.sum(number), 1999000 + 45 - 1);
  EXPECT_EQ(q.max_by(number)->text, texts()[1999]);
}

// What lookups and maps that end with the expression give.
CONFORMS(taken_over, parts_of_temporary_lookups, "to_lookup", "to_map") {
  const auto key = [](const pair_of& p) { return p.text; };
  std::int64_t sum = 0;
  for (const pair_of& p : source(e, pairs()).to_lookup(key)[texts()[3]]) {
    reuse_memory();
    sum += p.number;
    if (p.number > 100) break;
  }
  EXPECT_EQ(sum, 3 + 13 + 23 + 33 + 43 + 53 + 63 + 73 + 83 + 93 + 103);
  const auto& text = source(e, pairs()).to_map([](const pair_of& p) { return p.number; }, key).at(15);
  reuse_memory();
  EXPECT_EQ(text, texts()[5]);
}

}  // namespace
}  // namespace conformance
