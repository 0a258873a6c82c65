// Strings and lists that the query makes, in less memory than they take: they go to files as numbers do, and come back as they were.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "sanitized.hpp"
#include "temp_folder.hpp"

namespace query::tests {

struct Note {
  std::string title;
  std::int32_t number;
  std::vector<std::int32_t> marks;
  std::optional<std::string> remark;
};
QUERY_RECORD(Note, title, number, marks, remark);

namespace {

// The objects alone take 104 bytes a row, which a part of 64 Ki rows has side by side.
constexpr std::int32_t rows = sanitized ? 150'000 : 300'000;
constexpr std::size_t little_memory = 30u << 20, less_memory = 20u << 20;  // as bytes they take 22 MiB

std::uint64_t drawn(std::uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
  return i ^ (i >> 27);
}
// Titles that fit in their objects and longer ones, and some of a hundred times the length of others.
Note note(std::int32_t i, std::int32_t titles) {
  const std::uint64_t x = drawn(static_cast<std::uint64_t>(i));
  const std::string name = std::to_string(x % static_cast<std::uint64_t>(titles));
  Note n{x % 3 ? "a note with the title of number " + name : name, i, {}, std::nullopt};
  for (std::uint64_t k = 0; k < (x >> 20) % 8; ++k) n.marks.push_back(static_cast<std::int32_t>(x >> 40) + static_cast<std::int32_t>(k));
  if (x % 5 == 0) n.remark = std::string((x >> 13) % 1000 == 0 ? 5000 : (x >> 13) % 40, 'r') + name;
  return n;
}
auto notes(const query::Session& s, std::int32_t titles, std::int32_t first = 0) {
  return query::range(first, rows).in(s).select(query::opaque([titles](std::int32_t i) { return note(i, titles); }));
}

bool same(const Note& a, const Note& b) {
  return a.title == b.title && a.number == b.number && a.marks == b.marks && a.remark == b.remark;
}
template <class A, class B> bool same(const std::pair<A, B>& a, const std::pair<A, B>& b);
bool same(const std::string& a, const std::string& b) { return a == b; }
bool same(std::int64_t a, std::int64_t b) { return a == b; }
template <class A, class B> bool same(const std::pair<A, B>& a, const std::pair<A, B>& b) {
  return same(a.first, b.first) && same(a.second, b.second);
}

// The same query in enough memory and in little.
template <class Make> void expect_alike(const char* what, Make make, std::size_t memory = little_memory) {
  const temp_folder at("spilled_values_test");
  for (const bool interpret : {false, true}) {
    if (interpret && sanitized) continue;
    SCOPED_TRACE(std::string(what) + (interpret ? ", interpreted" : ""));
    const auto wanted = make(query::Session({.threads = 2, .interpret = interpret})).to_vector();
    ASSERT_GT(wanted.size(), 1000u);
    for (const int threads : {1, 2}) {
      if ((interpret || sanitized) && threads != 2) continue;
      SCOPED_TRACE(std::to_string(threads) + " threads");
      query::Session little({.threads = threads, .memory_limit = memory, .temp_folder = at.name(), .interpret = interpret});
      const auto q = make(little);
      const auto got = q.to_vector();
      ASSERT_EQ(got.size(), wanted.size());
      std::size_t differing = 0;
      for (std::size_t i = 0; i < got.size(); ++i) differing += !same(got[i], wanted[i]);
      EXPECT_EQ(differing, 0u);
      EXPECT_LE(little.memory_peak(), memory);
      EXPECT_EQ(little.memory_used(), 0u);
      EXPECT_TRUE(threads != 1 || q.explain().find(" temporary file") != std::string::npos) << q.explain();
      EXPECT_TRUE(at.empty());
    }
  }
}

const auto title = [](auto n) { return n.title; };

TEST(spilled_values, sorts) {
  expect_alike("by a string", [](const query::Session& s) { return notes(s, 50'000).order_by(title); }, less_memory);
  expect_alike("by what is computed of one", [](const query::Session& s) {
    return notes(s, 50'000).order_by_descending([](auto n) { return n.title + "x"; }).then_by([](auto n) { return n.number; });
  }, less_memory);
}

TEST(spilled_values, sets) {
  expect_alike("distinct", [](const query::Session& s) { return notes(s, 80'000).distinct_by(title).as_ordered(); }, less_memory);
  expect_alike("union", [](const query::Session& s) {
    return notes(s, 80'000).union_with_by(notes(s, 90'000, rows / 2), title).as_ordered();
  });
  expect_alike("except", [](const query::Session& s) {
    return notes(s, 80'000).except_by(notes(s, 30'000, rows / 2), title).as_ordered();
  });
}

TEST(spilled_values, joins) {
  const auto numbers = [](const Note& a, const Note& b) { return std::pair(a.title, static_cast<std::int64_t>(a.number) * 7 + b.number); };
  expect_alike("inner", [&](const query::Session& s) {
    return notes(s, 80'000).join(notes(s, 80'000, rows), title, title, query::opaque(numbers)).as_ordered();
  });
  expect_alike("right", [&](const query::Session& s) {
    return notes(s, 120'000).right_join(notes(s, 120'000, rows), title, title,
                                        query::opaque([](const std::optional<Note>& a, const Note& b) {
                                          return std::pair(b.remark.value_or("none"), std::int64_t{a ? a->number : -1});
                                        })).as_ordered();
  });
  expect_alike("anti", [](const query::Session& s) {
    return notes(s, 80'000).anti_join(notes(s, 30'000, rows), title, title).as_ordered();
  });
  expect_alike("of groups", [](const query::Session& s) {
    return notes(s, 80'000).group_join(notes(s, 80'000, rows), title, title,
                                       query::opaque([](const Note& a, const std::vector<Note>& of) {
                                         std::int64_t marks = 0;
                                         for (const Note& b : of) marks += static_cast<std::int64_t>(b.marks.size());
                                         return std::pair(a.title, marks);
                                       })).as_ordered();
  });
}

}  // namespace
}  // namespace query::tests
