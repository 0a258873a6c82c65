// Which kernels a query's fast_math() reaches, and that the compiler and the linker are told of it. Needs NVRTC and no GPU; what comes
// of it is compared on a card (tests/conformance/fast_math_test.cpp).
#include "gpu_engine/generated_kernels.hpp"
#include "gpu_engine/linker.hpp"

namespace {

using namespace generated;
using query::gpu_engine::fast_math;

class fast_math_kernels : public generated_kernels {
 protected:
  struct counted {
    std::size_t fast = 0, others = 0;
  };
  template <class Q> counted kernels_of(const Q& q) {
    kernel_source::witness w(true);
    plan_ = q.in(session_).explain();
    counted c;
    for (const std::string& text : w.texts()) ++(text.starts_with(fast_math) ? c.fast : c.others);
    return c;
  }
  template <class Q> void all_fast(const Q& q) {
    const counted c = kernels_of(q);
    EXPECT_GT(c.fast, 0u) << plan_;
    EXPECT_EQ(c.others, 0u) << plan_;
    EXPECT_NE(plan_.find("fast math on the GPU"), plan_.npos) << plan_;
  }
  template <class Q> void some_fast(const Q& q) { EXPECT_GT(kernels_of(q).fast, 0u) << plan_; }
  template <class Q> void none_fast(const Q& q) {
    const counted c = kernels_of(q);
    EXPECT_EQ(c.fast, 0u) << plan_;
    EXPECT_GT(c.others, 0u) << plan_;
    EXPECT_EQ(plan_.find("fast math"), plan_.npos) << plan_;
  }
  std::string plan_;
};

TEST_F(fast_math_kernels, are_those_of_verbs_for_which_it_was_said) {
  const auto value = [](auto t) { return t.price * t.weight; };
  none_fast(trades().select(value));
  all_fast(trades().fast_math().select(value));
  all_fast(trades().select(value).fast_math());
  all_fast(trades().where([](auto t) { return t.qty > 1; }).fast_math().select(value));  // one kernel
  const auto by_symbol = trades().group_by([](auto t) { return t.symbol; });
  const auto total = [](auto g) { return g.sum([](auto t) { return t.price * t.weight; }); };
  none_fast(by_symbol.select(total));
  some_fast(by_symbol.fast_math().select(total));
  some_fast(trades().fast_math().group_by([](auto t) { return t.symbol; }).select(total));
  some_fast(trades().order_by(value).fast_math().then_by([](auto t) { return t.qty; }));
}

TEST_F(fast_math_kernels, are_compiled_and_linked_as_such) {
  const std::string program =
      "extern \"C\" __global__ void kernel(const float* x, float* out) { out[threadIdx.x] = x[0] * x[1] + x[2] / x[3]; }\n";
  const std::string fast = std::string(fast_math) + program;
  const std::vector<std::string> ieee{separate_products};
  const compiler& c = *compiler::find();
  const auto of = [&](const std::string& source, std::span<const std::string> options) { return c.compile(source, {}, 90, options).cubin; };
  EXPECT_EQ(of(program, ieee), of(program, ieee));  // else the next ones say nothing
  EXPECT_NE(of(program, ieee), of(program, {}));
  EXPECT_NE(of(fast, ieee), of(program, ieee));
  EXPECT_NE(of(fast, ieee), of(program, {}));
  EXPECT_EQ(of(fast, ieee), of(fast, {}));

  if (!linker::find()) GTEST_SKIP() << "SKIPPED: no nvJitLink: " << linker::why_not();
  // The linker makes the machine code of LTO-IR, and decides about products anew.
  const std::vector<std::string> later{separate_products, compiler::link_later};
  const auto linked = [&](const std::string& source, bool with_fast_math) {
    const compiled ir = c.compile(source, {}, 90, later);
    const link_input in{query::device_form::lto_ir, {reinterpret_cast<const char*>(ir.cubin.data()), ir.cubin.size()}, "query.cu"};
    std::vector<std::byte> cubin;
    std::string log;
    EXPECT_TRUE(linker::find()->link({&in, 1}, 90, cubin, log, with_fast_math)) << log;
    return cubin;
  };
  EXPECT_NE(linked(program, false), linked(fast, true));
  EXPECT_NE(linked(program, false), linked(program, true));
}

}  // namespace
