// Folds on the GPU of pairs that the CPU makes: of a table, which the CPU does not hand on pair by pair as it would to a fold of its own.
// On the driver double, whose kernels do nothing.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "planned_there.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

class folds_of_pairs : public testing::Test {
 protected:
  void SetUp() override {
    fake_.allow_unknown_kernels();
    pretended_.emplace(fake_.calls(), 0);
    kernels_.emplace(kernel_cache::settings{
        .headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }});
  }
  query::Session session(std::size_t memory_limit) {
    query::Session s({.threads = 2, .memory_limit = memory_limit, .gpu = query::gpu_use::off});
    s.state()->take_gpu(make_engine(*pretended_, {std::size_t{256} << 20, 0}, *kernels_));
    return s;
  }
  // Each with those below it.
  static auto pairs(const std::vector<std::int64_t>& rows) {
    return query::from(rows).as_accelerated().join_where(
        query::from(rows), [](auto l, auto r) { return r < l; }, [](auto l, auto r) { return l * 2 - r; });
  }
  static std::vector<std::int64_t> numbers(std::int64_t n) {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < n; ++i) rows.push_back(i);
    return rows;
  }

  driver_double fake_;
  std::optional<device> pretended_;
  std::optional<kernel_cache> kernels_;
};

constexpr auto changed = [](auto x) { return x * 3 % 1000; };

TEST_F(folds_of_pairs, read_a_table_of_them) {
  const query::Session s = session(0);
  const std::vector<std::int64_t> rows = numbers(300);
  const auto q = pairs(rows).select(changed).in(s);
  (void)q.sum();
  EXPECT_TRUE(planned_there(q.explain("sum"), "sum")) << q.explain("sum");
  EXPECT_EQ(s.state()->history.fallbacks().first, 0u) << s.state()->history.fallbacks().second;
}

TEST_F(folds_of_pairs, are_left_to_the_cpu_where_no_table_has_room) {
  const query::Session s = session(std::size_t{64} << 20);
  const std::vector<std::int64_t> rows = numbers(6000);  // 144 MB of pairs
  std::int64_t wanted = 0;
  for (const std::int64_t l : rows)
    for (std::int64_t r = 0; r < l; ++r) wanted += (l * 2 - r) * 3 % 1000;
  const auto q = pairs(rows).select(changed).in(s);
  EXPECT_EQ(q.sum(), wanted);
  EXPECT_NE(q.explain("sum").find("sum: the last run went to the cpu: gpu: memory: the CPU hands the rows on one by one"),
            std::string::npos)
      << q.explain("sum");
}

}  // namespace
