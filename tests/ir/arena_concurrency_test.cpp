// Threads that add to one arena: several devices share the traces of a query.
#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

#include <query/detail/node.hpp>

namespace arena_concurrency_test {

using query::ir::describe;
using query::ir::node;
using query::ir::op;

TEST(arena, keeps_equal_nodes_as_one_whoever_adds_them) {
  constexpr std::size_t threads = 4, values = 20'000;
  query::ir::arena all;
  std::vector<std::vector<const node*>> found(threads);
  {
    std::barrier together(static_cast<std::ptrdiff_t>(threads));
    std::vector<std::jthread> adding;
    for (std::size_t t = 0; t < threads; ++t)
      adding.emplace_back([&, t] {
        together.arrive_and_wait();
        for (std::uint64_t i = 0; i < values; ++i) {
          const node* const x = all.put(op::literal, describe<std::int64_t>(), {}, i);
          found[t].push_back(all.put(op::negate, describe<std::int64_t>(), {x}));
        }
      });
  }
  EXPECT_EQ(all.size(), 2 * values);
  for (std::size_t t = 1; t < threads; ++t) EXPECT_EQ(found[t], found[0]);
}

}  // namespace arena_concurrency_test
