// Partitions that the GPU makes: where they end comes to the host, the rows stay for an apply that runs there. On the driver double, whose
// kernels do what the test says.
#include <gtest/gtest.h>

#include <regex>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;
using call = driver_double::generated_call;

constexpr std::size_t n = 1000;

class partitions : public testing::Test {
 protected:
  void SetUp() override {
    fake_.allow_unknown_kernels();
    session_.add_engine(engine_);
    fake_.add_generated("starts_of_hashes", [this](const call& c) {
      auto* starts = reinterpret_cast<std::uint64_t*>(word(c, R"(\(\(u64\*\)p\.w\[(\d+)\]\)\[part\] = from)"));
      std::copy(starts_.begin(), starts_.end(), starts);
    });
    fake_.add_generated("gather_parts", [](const call& c) {
      auto* out = reinterpret_cast<double*>(word(c, R"(write_rows<256>\([^,]*, \(\(double\*\)p\.w\[(\d+)\]\))"));
      for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<double>(i);
    });
  }
  // A parameter that the program reads, as its text tells it.
  static std::uint64_t word(const call& c, const char* text) {
    std::smatch found;
    if (!std::regex_search(c.program, found, std::regex(text))) {
      ADD_FAILURE() << c.program;
      return 0;
    }
    return c.words.at(std::stoul(found[1]));
  }
  auto parted(std::size_t k) {
    return query::from(numbers_).as_accelerated().hash_partitioned_by([](auto x) { return x; }, k);
  }
  transfer_counters moved() const { return session_of(*engine_).copies().counters(); }

  std::vector<double> numbers_ = std::vector<double>(n, 7.0);
  std::vector<std::uint64_t> starts_ = {0, 334, 334};
  driver_double fake_;
  device device_{fake_.calls(), 0};
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  std::shared_ptr<query::runtime::engine> engine_ = make_engine(device_, {std::size_t{64} << 20, 0}, kernels_);
  query::Session session_{{.threads = 2, .gpu = query::gpu_use::off}};
};

TEST_F(partitions, stay_on_the_device_for_an_apply_that_runs_there) {
  std::vector<std::pair<std::size_t, double>> seen;  // rows, and the first of them
  const auto q = parted(3).apply([](std::span<const double>) -> std::vector<int> { throw std::runtime_error("the CPU's form ran"); },
                                 query::on_gpu([&](auto& rows) {
                                   const double* in = rows.rows();
                                   EXPECT_EQ(reinterpret_cast<std::uintptr_t>(in) % 256, 0u);
                                   rows.wait();
                                   seen.emplace_back(rows.size(), rows.size() ? in[0] : -1.0);
                                   (void)rows.results(0);
                                 }));
  EXPECT_TRUE(q.in(session_).to_vector().empty());
  EXPECT_EQ(seen, (std::vector<std::pair<std::size_t, double>>{{334, 0.0}, {0, -1.0}, {666, 334.0}}));
  EXPECT_LT(moved().bytes_down, 8 * n / 2);  // counters and ends, not rows
  EXPECT_EQ(moved().bytes_up, 8 * n);
  EXPECT_EQ(q.in(session_).explain().find("went to the cpu"), std::string::npos);
}

TEST_F(partitions, come_to_the_host_with_their_ends) {
  const auto lengths = parted(3).apply([](std::span<const double> rows) { return std::vector<std::size_t>{rows.size()}; });
  EXPECT_EQ(lengths.in(session_).to_vector(), (std::vector<std::size_t>{334, 0, 666}));
  const auto firsts = parted(3).select([](auto x) { return x + 1; }).on(query::engine::cpu).apply([](std::span<const double> rows) {
    return std::vector<double>(rows.begin(), rows.begin() + (rows.empty() ? 0 : 1));
  });
  EXPECT_EQ(firsts.in(session_).to_vector(), (std::vector<double>{1, 335}));
}

// Of a number that the engine chooses the empty ones do not count.
TEST_F(partitions, that_are_empty_count_where_their_number_was_named) {
  starts_.assign(16, n);
  starts_[0] = 0;
  const auto lengths = [](const auto& q) {
    return q.apply([](std::span<const double> rows) { return std::vector<std::size_t>{rows.size()}; });
  };
  EXPECT_EQ(lengths(parted(16)).in(session_).to_vector().size(), 16u);
  EXPECT_EQ(lengths(parted(0)).in(session_).to_vector(), std::vector<std::size_t>{n});
}

TEST_F(partitions, that_begin_in_no_order_are_made_by_the_cpu) {
  starts_ = {0, 500, 400};
  const auto q = parted(3).apply([](std::span<const double> rows) { return std::vector<std::size_t>{rows.size()}; }).in(session_);
  std::size_t all = 0;
  for (const std::size_t length : q.to_vector()) {
    EXPECT_TRUE(length == 0 || length == n);  // one key
    all += length;
  }
  EXPECT_EQ(all, n);
  EXPECT_NE(q.explain().find("partitions begin in no order"), std::string::npos) << q.explain();
}

TEST_F(partitions, of_no_rows_are_empty_ones) {
  numbers_.clear();
  const auto lengths = [](std::span<const double> rows) { return std::vector<std::size_t>{rows.size()}; };
  EXPECT_EQ(parted(3).apply(lengths).in(session_).to_vector(), std::vector<std::size_t>(3));
  EXPECT_TRUE(parted(0).apply(lengths).in(session_).to_vector().empty());
}

TEST_F(partitions, of_rows_as_they_lie_move_nothing) {
  const auto lengths = [](std::span<const double> rows) { return std::vector<std::size_t>{rows.size()}; };
  const auto runs = query::from(numbers_).as_accelerated().partitioned(3);
  EXPECT_NE(runs.in(session_).explain().find("gpu: driver double"), std::string::npos);
  EXPECT_EQ(runs.apply(lengths).in(session_).to_vector(), (std::vector<std::size_t>{334, 333, 333}));
  EXPECT_EQ(runs.in(session_).to_vector(), numbers_);
}

}  // namespace
