// Rows for tests of queries that do not fit the device, and a fixture that runs them on a GPU and on the CPU. Where there is no
// GPU its tests are skipped.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "planned_there.hpp"
#include "runtime/executor.hpp"
#include "runtime/fold_states.hpp"
#include "runtime/session_state.hpp"

namespace query::gpu_engine::larger_than_memory {

struct Row {
  std::int64_t id;
  std::int32_t key;
  std::int32_t heavy;
  std::int64_t value;
  std::int64_t spread;
  bool operator==(const Row&) const = default;
};
QUERY_RECORD(Row, id, key, heavy, value, spread);
struct Total {
  std::int64_t key;
  std::int64_t sum;
  std::int64_t n;
  bool operator==(const Total&) const = default;
};
QUERY_RECORD(Total, key, sum, n);
struct Dim {
  std::int64_t key;
  std::int64_t factor;
};
QUERY_RECORD(Dim, key, factor);

inline std::uint64_t mixed(std::uint64_t h) {
  h ^= h >> 31;
  h *= 0x7fb5d329728ea185ull;
  h ^= h >> 27;
  return h * 0x81dadef4bc2dd44dull;
}
inline Row row_of(std::int64_t i) {
  const std::uint64_t h = mixed(static_cast<std::uint64_t>(i) + 1);
  return {i, static_cast<std::int32_t>(h % 1000), (h >> 20) % 100 < 97 ? 7 : static_cast<std::int32_t>(h >> 40),
          static_cast<std::int64_t>(h >> 44) - 500'000, static_cast<std::int64_t>(mixed(h))};
}
inline std::vector<Row> rows_of(std::int64_t n) {
  std::vector<Row> rows(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) rows[static_cast<std::size_t>(i)] = row_of(i);
  return rows;
}
inline std::vector<Dim> dims_of(std::int64_t n, const std::vector<Row>& rows) {
  std::vector<Dim> dims(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < dims.size(); ++i)
    dims[i] = {i % 2 ? rows[i * 7 % rows.size()].spread : static_cast<std::int64_t>(i),
               static_cast<std::int64_t>(i % 13)};
  return dims;
}

// Order-independent: of groups and of pairs.
inline std::uint64_t digest(const std::vector<Total>& rows) {
  std::uint64_t sum = rows.size();
  for (const Total& t : rows)
    sum += mixed(static_cast<std::uint64_t>(t.key) * 3 +
                 mixed(static_cast<std::uint64_t>(t.sum) * 5 + static_cast<std::uint64_t>(t.n)));
  return sum;
}

class fixture : public testing::Test {
 protected:
  void SetUp() override {
    if (!device::first() || !compiler::find()) GTEST_SKIP() << "SKIPPED: no GPU: " << device::why_not();
  }
  void use(std::size_t memory, std::size_t block_rows) {
    static kernel_cache kernels({.headers = embedded_sources(), .options = {}, .folder = {}, .compile = {}});
    engine_ = make_engine(*device::first(), {.memory = memory, .min_rows = 0}, kernels, block_rows);
    gpu_ = std::make_unique<query::Session>(query::session_options{.gpu = query::gpu_use::off});
    gpu_->add_engine(engine_);
  }
  // Ran on the GPU, in blocks where the rows do not fit, as explain() says after the run. A query remembers by its verbs: q is the
  // one that ran.
  template <class Q> static void stayed(const Q& q) {
    EXPECT_EQ(q.explain().find("went to the cpu"), std::string::npos) << q.explain();
  }
  template <class Q> static void stayed_in_blocks(const Q& q) {
    stayed(q);
    EXPECT_TRUE(std::regex_search(q.explain(), std::regex("in the last run: [0-9]+ blocks? of rows"))) << q.explain();
  }

  template <class Q> void same_rows(const char* what, const Q& q) {
    SCOPED_TRACE(what);
    const auto there = q.in(*gpu_);
    EXPECT_TRUE(planned_there(there.explain()));
    const auto begin = std::chrono::steady_clock::now();
    const auto mine = there.to_vector();
    seconds(what, begin);
    in_blocks_ ? stayed_in_blocks(there) : stayed(there);
    plan_ = there.explain();
    const auto wanted = q.in(cpu_).to_vector();
    ASSERT_EQ(mine.size(), wanted.size());
    EXPECT_TRUE(mine == wanted);
  }
  template <class Q> void same_groups(const char* what, const Q& q) {
    SCOPED_TRACE(what);
    const auto there = q.in(*gpu_);
    EXPECT_TRUE(planned_there(there.explain()));
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Total> mine = there.to_vector();
    seconds(what, begin);
    in_blocks_ ? stayed_in_blocks(there) : stayed(there);
    plan_ = there.explain();
    const std::vector<Total> wanted = q.in(cpu_).to_vector();
    EXPECT_EQ(mine.size(), wanted.size());
    EXPECT_EQ(digest(mine), digest(wanted));
  }
  static void seconds(const char* what, std::chrono::steady_clock::time_point begin) {
    std::printf("  %-34s %.2f s\n", what,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    std::fflush(stdout);
  }
  // Folds of engines that were added by hand are not asked by terminal verbs: asked here.
  template <class Q> query::detail::fold_state folded(const Q& q, query::detail::fold_kind kind) {
    const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
    query::runtime::cancel_flag cancel;
    query::runtime::run_context c{*gpu_->state()->scheduler, gpu_->state()->pool, cancel};
    c.local = gpu_->state()->cpu.get();
    const query::planner::vertex v = query::planner::fold_vertex(*g, kind);
    EXPECT_TRUE(engine_->accepts(v)) << engine_->accepts(v).why;
    return query::runtime::states_in(query::runtime::run_on(*engine_, v, *c.local, c).rows).front();
  }
  static std::int64_t value(const query::detail::fold_state& s) {
    std::int64_t v;
    std::memcpy(&v, s.value, 8);
    return v;
  }

  bool in_blocks_ = false;  // the rows are known not to fit
  std::string plan_;        // of the last query, after it ran
  std::shared_ptr<query::runtime::engine> engine_;
  std::unique_ptr<query::Session> gpu_;
  query::Session cpu_{{.gpu = query::gpu_use::off}};
};

}  // namespace query::gpu_engine::larger_than_memory
