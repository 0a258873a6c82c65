// The engine that only compiles: kernels of its queries reach NVRTC, and what NVRTC refuses is told.
#include "conformance/compiled_kernels.hpp"

#include <algorithm>

#include "conformance/engines.hpp"
#include "gpu_engine/nvrtc.hpp"

namespace conformance {
namespace {

using query::gpu_engine::compiler;

const engine_config& only_compiling() {
  return *std::find_if(engines().begin(), engines().end(), [](const engine_config& e) { return !computes(e); });
}

TEST(compiled_kernels, are_those_of_queries) {
  const engine_config& e = only_compiling();
  if (!e.missing.empty()) GTEST_SKIP() << "SKIPPED: " << e.missing;
  const std::size_t before = kernels_here().texts();
  const std::vector<std::int64_t> rows = {3, 1, 2};
  const auto q = source(e, rows).where([](auto x) { return x * 5 % 77 < 50; });
  EXPECT_EQ(q.to_vector(), rows);  // by the CPU
  EXPECT_NE(q.explain().find("gpu: driver double"), std::string::npos) << q.explain();
  EXPECT_GT(kernels_here().texts(), before);
  EXPECT_TRUE(kernels_here().left_to_the_cpu().empty());
  (void)source(e, rows).where([](const std::int64_t& x) { return x > 1; }).order().to_vector();
  EXPECT_EQ(kernels_here().left_to_the_cpu(),
            (std::set<std::string>{"rows: the predicate of where is opaque: its parameter is not generic (write `auto`)"}));
}

TEST(compiled_kernels, that_do_not_compile_are_told_for_each_gpu) {
  if (!compiler::find()) GTEST_SKIP() << "SKIPPED: generated kernels were not compiled: no NVRTC: " << compiler::why_not();
  EXPECT_EQ(compiled_kernels::refusal_of("extern \"C\" __global__ void f(int* x) {\n  *x = 1;\n}\n"), "");
  const std::string why = compiled_kernels::refusal_of("extern \"C\" __global__ void f(int* x) {\n  *x = undeclared;\n}\n");
  for (const char* text : {"compute capability 80", "compute capability 90", "undeclared"})
    EXPECT_NE(why.find(text), std::string::npos) << why;
  const std::string old = "extern \"C\" __global__ void f(int* x) {\n  *x = __CUDA_ARCH__ >= 900 ? 1 : undeclared;\n}\n";
  EXPECT_NE(compiled_kernels::refusal_of("#if __CUDA_ARCH__ < 900\n#error too old\n#endif\n" + old).find("too old"), std::string::npos);
}

}  // namespace
}  // namespace conformance
