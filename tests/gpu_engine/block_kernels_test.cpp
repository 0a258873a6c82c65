// The kernels that only blocks need compile: spilled groups, keys of sorted blocks, partitions by key. By NVRTC, on the
// driver double, whose kernels do nothing.
#include <gtest/gtest.h>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"

namespace {

using namespace query::gpu_engine;

struct Trade {
  std::int64_t id;
  std::int32_t symbol;
  double price;
  std::optional<std::int16_t> lot;
};
QUERY_RECORD(Trade, id, symbol, price, lot);
struct Symbol {
  std::int32_t id;
  double rate;
};
QUERY_RECORD(Symbol, id, rate);

class block_kernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!compiler::find()) GTEST_SKIP() << "SKIPPED: no NVRTC: " << compiler::why_not();
    fake_.allow_unknown_kernels();
    session_.add_engine(make_engine(device_, {std::size_t{16} << 20, 0}, kernels_, 3000));
  }
  template <class Q> void compiles(const char* what, const Q& q, const char* kernel) {
    SCOPED_TRACE(what);
    compiled_.clear();
    const auto here = q.in(session_);
    (void)here.to_vector();
    EXPECT_EQ(here.explain().find("went to the cpu"), std::string::npos) << here.explain();
    EXPECT_NE(compiled_.find(kernel), std::string::npos);
  }

  std::vector<Trade> trades_ = std::vector<Trade>(60'000);
  std::vector<Symbol> symbols_ = std::vector<Symbol>(40'000);
  driver_double fake_;
  device device_{fake_.calls(), 0};
  std::string compiled_;
  kernel_cache kernels_{
      {.headers = embedded_sources(), .options = {}, .folder = "", .compile = [this](std::string_view source, int) {
         compiled_ += source;
         return image_of(source, compiler::find()->compile(source, embedded_sources(), 90, {}));
       }}};
  query::Session session_{{.threads = 2, .gpu = query::gpu_use::off}};
};

TEST_F(block_kernels, compile) {
  const auto all = query::from(trades_).as_accelerated();
  const auto symbol = [](auto t) { return t.symbol; };
  compiles(
      "order",
      all.order_by([](auto t) { return t.lot; }).then_by_descending([](auto t) { return t.price; }).select([](auto t) {
        return t.id;
      }),
      "write_keys");
  compiles("groups", all.group_by(symbol).select([](auto g) { return g.sum([](auto t) { return t.price; }); }),
           "pair_groups");
  compiles("groups of two words",
           all.group_by([](auto t) { return query::make<Symbol>(t.symbol, t.price); }).select([](auto g) {
             return std::make_tuple(g.count(), g.stddev([](auto t) { return t.price; }));
           }),
           "pair_groups");
  compiles("groups that need their rows",
           all.where([](auto t) { return t.id >= 0; }).group_by([](auto t) { return t.lot; }).select([](auto g) {
             return g.first([](auto t) { return t.price; });
           }),
           "place_rows");
  compiles(
      "a large build side",
      all.join(
          query::from(symbols_), symbol, [](auto s) { return s.id; }, [](auto t, auto s) { return t.price * s.rate; }),
      "place_rows");
}

}  // namespace
