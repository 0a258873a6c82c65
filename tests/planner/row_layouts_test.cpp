// Rows whose columns are chosen while the program runs have so many layouts, and no more. In a process of its own, which uses them up.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

namespace {

struct Named {
  std::int64_t id;
  std::string name;
  std::optional<std::string> other;
};
QUERY_RECORD(Named, id, name, other);

std::string columns(std::size_t names, std::size_t others) {
  std::string all = "id";
  for (std::size_t i = 0; i < names; ++i) all += ", name as n" + std::to_string(i);
  for (std::size_t i = 0; i < others; ++i) all += ", other as o" + std::to_string(i);
  return all;
}

// Exits with what it has found; the error is printed.
[[noreturn]] void use_up_the_layouts() {
  const std::vector<Named> rows = {{1, "a", std::nullopt}, {2, "b", "c"}};
  const auto q = query::from(rows).as_dynamic();
  std::size_t chosen = 0;
  try {
    for (std::size_t sum = 1;; ++sum)
      for (std::size_t names = 0; names <= sum; ++names, ++chosen) (void)q.select(columns(names, sum - names));
  } catch (const query::resource_error& e) {
    std::fprintf(stderr, "after %zu: %s\n", chosen, e.what());
  }
  // Those that are known, and rows without strings, go on.
  const bool known = q.select(columns(1, 1)).rows().size() == 2, plain = q.select("id, id as again").rows().size() == 2;
  std::exit(known && plain ? 0 : 1);
}

TEST(row_layouts, beyond_the_most_are_an_error_with_verb_place_and_remedy) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // not a copy of a process that has threads
  EXPECT_EXIT(use_up_the_layouts(), testing::ExitedWithCode(0),
              "after 176: select: the program has chosen rows with strings in 176 layouts.*fixed list \\(row_layouts_test.cpp:[0-9]+\\)");
}

}  // namespace
