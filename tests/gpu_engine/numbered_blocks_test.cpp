// On a GPU, in blocks of a thousand rows: functions of the row's number see the number in the source, not that in the block, and
// select_many goes on in blocks. Against the CPU engine; skipped where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include <query/query.hpp>

#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

struct Sample {
  std::int32_t id;
  std::array<std::int32_t, 3> marks;
};
QUERY_RECORD(Sample, id, marks);

class numbered_blocks : public testing::Test {
 protected:
  void SetUp() override {
    if (!device::first() || !compiler::find()) GTEST_SKIP() << "SKIPPED: no GPU: " << device::why_not();
    static kernel_cache kernels({.headers = embedded_sources(), .options = {}, .folder = {}, .compile = {}});
    gpu_ = std::make_unique<query::Session>(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    gpu_->add_engine(make_engine(*device::first(), {.memory = std::size_t{1} << 30, .min_rows = 0}, kernels, 1000));
    for (std::int32_t i = 0; i < 70'001; ++i) rows_.push_back({i * 37 % 1009, {i % 5, -i % 7, i * 3}});
  }
  auto all() const { return query::from(rows_).as_accelerated(); }
  template <class Q> void same(const Q& q, bool stays = true) {
    const auto there = q.in(*gpu_);
    EXPECT_EQ(there.to_vector(), q.in(cpu_).to_vector());
    EXPECT_EQ(there.explain().find("went to the cpu") == std::string::npos, stays) << there.explain();
  }

  std::vector<Sample> rows_;
  std::unique_ptr<query::Session> gpu_;
  query::Session cpu_{{.threads = 2, .gpu = query::gpu_use::off}};
};

TEST_F(numbered_blocks, see_the_numbers_of_the_source) {
  same(all().select([](auto s, auto i) { return i * 10 + s.id; }));
  same(all().where([](auto s, auto i) { return i % 3 == 1 && s.id > 5; }).select([](auto s) { return s.id; }));
  same(all().select([](auto s) { return s.id; }).index().select([](auto r) { return std::pair(r.index, r.value); }));
  same(all()
           .select([](auto s, auto i) { return std::pair(i / 1500, s.id); })
           .group_by([](auto p) { return p.first; })
           .select([](auto g) { return std::tuple(g.key(), g.count(), g.sum([](auto p) { return p.second; })); })
           .order_by([](auto t) { return std::get<0>(t); }));
  const auto sum = all().select([](auto, auto i) { return i; });
  EXPECT_EQ(sum.in(*gpu_).sum(), sum.in(cpu_).sum());
  EXPECT_EQ(all().where([](auto, auto i) { return i % 7 == 0; }).in(*gpu_).count(), 10'001);
}

TEST_F(numbered_blocks, of_streams_too) {
  const auto numbers = query::generate([n = std::int64_t{0}]() mutable { return n < 50'000 ? std::optional(n++ % 17) : std::nullopt; });
  const auto q = numbers.as_accelerated()
                     .select([](auto x, auto i) { return std::pair(x, i); })
                     .group_by([](auto p) { return p.first; })
                     .select([](auto g) { return std::pair(g.key(), g.max([](auto p) { return p.second; })); })
                     .order_by([](auto p) { return p.first; });
  same(q);
}

TEST_F(numbered_blocks, that_are_parted_by_keys_go_to_the_cpu) {
  same(all()
           .select([](auto s, auto i) { return std::pair(s.id, i); })
           .group_by([](auto p) { return p.first; })
           .select([](auto g) { return std::pair(g.key(), g.count_distinct([](auto p) { return p.second; })); })
           .order_by([](auto p) { return p.first; }),
       false);
}

TEST_F(numbered_blocks, select_many_goes_on_in_blocks) {
  const auto many = all().where([](auto s) { return s.id % 2 == 0; }).select_many([](auto s) { return s.marks; });
  same(many);
  same(many.where([](auto x) { return x > 3; }).select([](auto x) { return x * 2; }));
  same(many.group_by([](auto x) { return x % 10; }).select([](auto g) { return std::pair(g.key(), g.count()); }).order_by([](auto p) {
    return p.first;
  }));
  same(many.order());
  EXPECT_EQ(many.in(*gpu_).count(), many.in(cpu_).count());
}

}  // namespace
