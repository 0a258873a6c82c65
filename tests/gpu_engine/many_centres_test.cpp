// Means of arrays by the nearest row of a table of many rows, on a GPU: more than a block's shared memory has a number for. Where there is
// no GPU these are skipped.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/larger_than_memory.hpp"

namespace {

using namespace query::gpu_engine::larger_than_memory;

struct Corner {
  std::int64_t id;
  std::array<float, 16> x;
};
QUERY_RECORD(Corner, id, x);
struct Middle {
  std::int64_t label;
  std::array<float, 16> x;
  std::int64_t n;
};
QUERY_RECORD(Middle, label, x, n);

// Corners of a cube: no two are near.
Corner corner(std::size_t i, std::size_t which) {
  Corner c{static_cast<std::int64_t>(i), {}};
  for (std::size_t d = 0; d < 16; ++d) c.x[d] = which >> d & 1 ? 1.0f : -1.0f;
  return c;
}

class many_centres : public fixture {
 protected:
  void means(std::size_t n, std::size_t centres) {
    SCOPED_TRACE(centres);
    std::vector<Corner> rows(n), table(centres);
    for (std::size_t i = 0; i < n; ++i) rows[i] = corner(i, i * 7919 % centres);
    for (std::size_t i = 0; i < centres; ++i) table[i] = corner(i, i);
    const auto c = query::broadcast(table);
    const auto q = query::from(rows)
                       .as_accelerated()
                       .group_by([c](auto p) {
                         return c.arg_min(p, [](auto p, auto m) { return query::squared_distance(p.x, m.x); });
                       })
                       .select([](auto g) {
                         return query::make<Middle>(query::cast<std::int64_t>(g.key()), g.mean([](auto p) { return p.x; }), g.count());
                       })
                       .in(*gpu_);
    std::vector<std::int64_t> wanted(centres), counted(centres);
    for (std::size_t i = 0; i < n; ++i) ++wanted[i * 7919 % centres];
    for (const Middle& m : q.to_vector()) {
      const auto label = static_cast<std::size_t>(m.label);
      ASSERT_LT(label, centres);
      counted[label] += m.n;
      ASSERT_EQ(m.x, table[label].x) << label;
    }
    EXPECT_EQ(counted, wanted);
    stayed(q);
  }
};

TEST_F(many_centres, have_their_means) {
  use(std::size_t{2} << 30, 0);
  means(1'000'000, 30'000);  // in stretches of 4,096 rows
  means(1'000'000, 57'000);  // shorter ones
  means(1'000'000, 60'000);  // by a hash table
}

}  // namespace
