// The table of keys of joins that group their build side, on the driver double: where it says that it is full it grows, three times at
// most.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

struct Entry {
  std::int64_t key, value;
};
QUERY_RECORD(Entry, key, value);

class grouped_builds : public testing::Test {
 protected:
  using call = driver_double::generated_call;
  // The parameter word that the program reads first behind this text.
  static std::uint64_t word_behind(const call& c, std::string_view text) {
    const std::string begin = "p.w[";
    const std::size_t at = c.program.find(begin, c.program.find(text));
    EXPECT_NE(at, std::string::npos) << c.program;
    return c.words.at(std::stoul(c.program.substr(at + begin.size(), 4)));
  }
  void SetUp() override {
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].key = static_cast<std::int64_t>(i);
    fake_.allow_unknown_kernels();
    session_.add_engine(make_engine(device_, {std::size_t{64} << 20, 0}, kernels_));
    fake_.add_generated("map_build", [this](const call& c) {
      bits_.push_back(word_behind(c, ", (u32)"));
      auto* full = reinterpret_cast<std::uint32_t*>(word_behind(c, "0xfffffff0ull, "));
      EXPECT_EQ(*full, 0u);
      if (static_cast<int>(bits_.size()) <= crowded_) *full = 1;
    });
  }
  // explain() after a run in which so many tables were too small.
  std::string run(int crowded) {
    crowded_ = crowded;
    bits_.clear();
    const auto key = [](auto e) { return e.key; };
    const auto q = query::from(rows_)
                       .as_accelerated()
                       .in(session_)
                       .group_join(query::from(rows_), key, key, [](auto e, auto own) {
                         return query::make<Entry>(e.key, query::sum(own, [](auto o) { return o.value; }));
                       });
    (void)q.to_vector();
    return q.explain();
  }

  std::vector<Entry> rows_ = std::vector<Entry>(40'000);
  driver_double fake_;
  device device_{fake_.calls(), 0};
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  query::Session session_{{.threads = 2, .gpu = query::gpu_use::off}};
  int crowded_ = 0;
  std::vector<std::uint64_t> bits_;  // of each table
};

TEST_F(grouped_builds, grow_where_hashes_crowd) {
  for (int crowded = 0; crowded <= 3; ++crowded) {
    EXPECT_EQ(run(crowded).find("went to the cpu"), std::string::npos) << crowded;
    EXPECT_EQ(bits_.size(), static_cast<std::size_t>(crowded) + 1);
    for (std::size_t i = 1; i < bits_.size(); ++i) EXPECT_EQ(bits_[i], bits_[i - 1] + 1);
  }
  const std::string plan = run(100);
  EXPECT_NE(plan.find("table of keys is full"), std::string::npos) << plan;
  EXPECT_EQ(bits_.size(), 4u);
}

}  // namespace
