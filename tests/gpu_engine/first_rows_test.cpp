// first, any, last and their kin over rows on the device: no more of them are computed than it takes to find the wanted ones, and
// rows that fail behind those are not the user's concern. On the driver double, whose kernels are written here.
#include <gtest/gtest.h>

#include <numeric>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

using word = std::uint64_t;
template <class T> T* at(word address) { return reinterpret_cast<T*>(address); }

class first_rows : public testing::Test {
 protected:
  static constexpr word n = 5'000'000;

  void SetUp() override {
    rows_.resize(n);
    std::iota(rows_.begin(), rows_.end(), word{0});
    // x / 7 >= low, 7 is text; words: column, errors, low, out, rows, temporary, count, halt.
    fake_.add_kernel("collect_rows", [this](void** a) {
      const word* w = static_cast<const word*>(a[0]);
      word kept = 0;
      computed_ += w[4];
      for (word i = 0; i < w[4]; ++i)
        if (const word x = at<word>(w[0])[i]; x / 7 >= w[2]) at<word>(w[3])[kept++] = x;
      *at<word>(w[6]) = kept;
      if (fails_) *at<word>(w[1]) = 1;
    }, 8 * 8);
    pretended_.emplace(fake_.calls(), 0);
    kernels_.emplace(kernel_cache::settings{
        .headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }});
    session_.emplace(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    session_->add_engine(make_engine(*pretended_, {std::size_t{512} << 20, 0}, *kernels_));
  }
  auto from(word low) {
    return query::from(rows_).as_accelerated().in(*session_).cached().where([low](auto x) { return x / 7u >= low; });
  }

  std::vector<word> rows_;
  driver_double fake_;
  word computed_ = 0;
  bool fails_ = false;
  std::optional<device> pretended_;
  std::optional<kernel_cache> kernels_;
  std::optional<query::Session> session_;
};

TEST_F(first_rows, are_found_from_the_beginning_in_growing_parts) {
  for (const word low : {word{0}, word{1000}, word{400'000}, n / 7, n}) {
    computed_ = 0;
    const auto q = from(low);
    EXPECT_EQ(q.first_or_none(), low * 7 < n ? std::optional(low * 7) : std::nullopt) << low;
    EXPECT_EQ(q.any(), low * 7 < n) << low;
    EXPECT_GT(computed_, 0u);
    EXPECT_EQ(computed_ == 2u * (1 << 20), low * 7 < 1 << 20) << "the first part of the rows, twice";
    EXPECT_NE(q.explain("any").find("any (take(1))"), std::string::npos);
    EXPECT_EQ(q.explain("any").find("cpu: not on gpu"), std::string::npos) << q.explain("any");
  }
}

TEST_F(first_rows, are_found_from_the_end_where_the_last_are_wanted) {
  for (const word low : {word{0}, n / 7 - 1, n}) {
    computed_ = 0;
    EXPECT_EQ(from(low).last_or_none(), low * 7 < n ? std::optional(n - 1) : std::nullopt) << low;
    EXPECT_EQ(computed_, low * 7 < n ? word{1} << 20 : (word{1} << 20) + n) << low;
  }
}

TEST_F(first_rows, bring_a_row_over_and_no_more) {
  const auto q = from(5);
  (void)q.any();
  const std::size_t before = fake_.bytes_down();
  EXPECT_EQ(q.first(), 35u);
  EXPECT_EQ(q.element_at(3), 38u);
  EXPECT_TRUE(q.any());
  EXPECT_LT(fake_.bytes_down() - before, 8192u) << "status words, and a few rows";
}

TEST_F(first_rows, leave_it_to_the_cpu_whether_a_row_that_fails_is_wanted) {
  fails_ = true;
  const auto q = from(10);
  const auto one = q.take(1);
  EXPECT_EQ(q.first(), 70u);
  EXPECT_EQ(one.to_vector(), std::vector<word>{70});
  EXPECT_NE(one.explain().find("a row failed that may not be wanted"), std::string::npos) << one.explain();
  EXPECT_THROW((void)q.to_vector(), query::user_error);
  fails_ = false;
  EXPECT_EQ(one.to_vector(), std::vector<word>{70});
  EXPECT_EQ(one.explain().find("a row failed that may not be wanted"), std::string::npos) << one.explain();
}

}  // namespace
