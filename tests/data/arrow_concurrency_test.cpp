// Several threads run queries over one Arrow source at once: each column is converted by one of them.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include <query/arrow.hpp>
#include <query/query.hpp>

#include "data/arrow_fixture.hpp"

namespace arrow_concurrency_test {

struct Row {
  std::int64_t id;
  std::string text;
  std::optional<std::int32_t> maybe;
};
QUERY_RECORD(Row, id, text, maybe);

TEST(arrow_concurrency, converts_columns_for_several_queries_at_once) {
  using namespace arrow_fixture;
  constexpr std::int64_t n = 40'000;
  std::vector<std::int64_t> id;
  std::vector<std::string> text;
  std::vector<std::int32_t> maybe;
  std::vector<bool> there;
  for (std::int64_t i = 0; i < n; ++i) {
    id.push_back(i);
    text.push_back("text " + std::to_string(i % 10));
    maybe.push_back(1);
    there.push_back(i % 4 != 0);
  }
  {
    const auto q = query_of<Row>(structure(n, {numbers("l", id).named("id"), texts<std::int32_t>(text).named("text"),
                                               with_nulls(numbers("i", maybe), there).named("maybe")}));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int round = 0; round < 3; ++round) {
          if (t % 2) {
            EXPECT_EQ(q.where([](auto r) { return r.text == "text 3"; }).count(), n / 10);
          } else {
            const auto there = q.where([](auto r) { return r.maybe.has_value(); });
            EXPECT_EQ(there.sum([](auto r) { return r.id; }), n * (n - 1) / 2 - n / 4 * (n / 2 - 2));
          }
        }
      });
    for (std::thread& t : threads) t.join();
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace arrow_concurrency_test
