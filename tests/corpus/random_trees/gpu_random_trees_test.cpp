// Random lambdas have kernels too, which NVRTC compiles: half of them, as it takes longer than all the rest of this folder.
#include <gtest/gtest.h>

#include "corpus/forms.hpp"
#include "corpus/random_trees/batch.hpp"
#include "gpu_engine/codegen/row_function.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/nvrtc.hpp"

namespace {

using namespace query::gpu_engine;
using random_trees::sample;
using random_trees::tree;


void add(kernel_source& k, const tree& t, const std::string& entry) {
  const query::ir::type* from = query::ir::describe<sample>();
  const std::string function = generate_function(k, t.trace, from, "seed " + std::to_string(t.from), {});
  const std::string row = k.type_name(from), result = k.type_name(t.trace.root->type);
  const std::string to = k.argument(1, result + "*"), rows = k.argument(0, "const " + row + "*");
  k.add("extern \"C\" __global__ void " + entry + "(const __grid_constant__ words p) {\n" +
        "  const u64 i = blockIdx.x * 256ull + threadIdx.x;\n" +
        "  if (i < " + k.argument(2, "u64") + ") (" + to + ")[i] = " + function + "(p, (" + rows + ")[i]);\n}\n");
}

TEST(gpu_random_trees, compile) {
  if (!compiler::find()) GTEST_SKIP() << "SKIPPED: no NVRTC: " << compiler::why_not();
  std::size_t compiled = 0;
  for (auto batch : {random_trees::first_batch, random_trees::third_batch}) {
    const std::vector<tree> trees = batch();
    kernel_source program;
    program.may_run_again();
    std::size_t added = 0;
    for (const tree& t : trees) {
      if (!t.trace) continue;
      try {
        kernel_source alone;  // a tree that fails half way would spoil the batch
        alone.may_run_again();
        add(alone, t, "tree");
      } catch (const not_generated& e) {
        ADD_FAILURE() << "seed " << t.from << ": " << e.what() << "\n" << query::ir::show(t.trace).substr(0, 2000);
        continue;
      }
      add(program, t, "tree_" + std::to_string(added++));
    }
    EXPECT_NO_THROW((void)compiler::find()->compile(program.text(), embedded_sources(), 90, {})) << "seeds from " << trees.front().from;
    compiled += added;
  }
  EXPECT_GE(compiled, 75u);
}

}  // namespace
