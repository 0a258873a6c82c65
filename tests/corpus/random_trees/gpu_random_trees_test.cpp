// Random lambdas have kernels too, which NVRTC compiles: half of them, as it takes longer than all the rest of this folder. Where there is
// a GPU, all of them run there and give what runs natively, to the last bit; but those that call functions such as exp, whose last bit is
// CUDA's, and which conversions and comparisons make any difference of.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <future>
#include <sstream>

#include "corpus/forms.hpp"
#include "corpus/random_trees/batch.hpp"
#include "gpu_engine/codegen/row_function.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/nvrtc.hpp"
#include "gpu_engine/upload.hpp"
#include "gpu_engine/vertex_run.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;
using random_trees::sample;
using random_trees::tree;

constexpr std::size_t rows_of_tree = 300, trees_of_program = 5;

bool rounds_as_cuda_does(const tree& t) {
  const std::string text = query::ir::show(t.trace);
  for (const char* f : {"exp(", "log(", "sin(", "cbrt(", "pow(", "atan2(", "hypot("})
    if (text.find(f) != std::string::npos) return true;
  return false;
}

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

struct program {
  kernel_source source;
  std::vector<const tree*> trees;
};
std::string entry_of(std::size_t i) { return "tree_" + std::to_string(i); }

// Rows of the tree for which it has a value, and these natively.
std::vector<sample> rows_of(const tree& t, corpus::values& native) {
  std::vector<sample> kept;
  for (sample& row : random_trees::awkward_rows(rows_of_tree, t.from)) {
    try {
      t.native(row, native.at(kept.size()));
      native.constructed = kept.size() + 1;
      kept.push_back(std::move(row));
    } catch (const random_trees::trap&) {
    }
  }
  return kept;
}

TEST(gpu_random_trees, give_on_the_gpu_what_runs_natively) {
  const device* d = device::first();
  if (!d || !compiler::find()) GTEST_SKIP() << "SKIPPED: no GPU: " << (d ? compiler::why_not() : device::why_not());
  std::vector<tree> trees;
  for (auto batch : {random_trees::first_batch, random_trees::second_batch, random_trees::third_batch, random_trees::fourth_batch})
    for (tree& t : batch())
      if (t.trace && same_shape(t.trace.root->type, t.result) && !rounds_as_cuda_does(t)) trees.push_back(std::move(t));
  std::vector<program> programs;
  for (const tree& t : trees) {
    if (programs.empty() || programs.back().trees.size() == trees_of_program) programs.emplace_back().source.may_run_again();
    add(programs.back().source, t, entry_of(programs.back().trees.size()));
    programs.back().trees.push_back(&t);
  }

  kernel_cache kernels({.headers = embedded_sources(), .options = {"--fmad=false"}, .folder = {}, .compile = {}});
  std::vector<std::future<void>> compiling;
  for (const program& p : programs)
    compiling.push_back(std::async(std::launch::async, [&] { (void)kernels.get(p.source.text(), entry_of(0), *d); }));
  for (auto& c : compiling) c.get();

  const auto gpu = std::make_shared<gpu_session>(*d, 0, kernels);
  query::runtime::session_state session({});
  query::runtime::cancel_flag cancel;
  query::runtime::run_context context{*session.scheduler, session.pool, cancel};
  const std::vector<query::planner::binding> none;
  const query::ir::type* from = query::ir::describe<sample>();
  std::size_t compared = 0;
  for (program& p : programs) {
    for (std::size_t i = 0; i < p.trees.size(); ++i) {
      const tree& t = *p.trees[i];
      SCOPED_TRACE("seed " + std::to_string(t.from) + "\n" + query::ir::show(t.trace).substr(0, 4000));
      corpus::values native(t.result, rows_of_tree), there(t.result, rows_of_tree);
      const std::vector<sample> rows = rows_of(t, native);
      vertex_run run(gpu, none, context);
      query::detail::row_block block;
      block.rows = const_cast<sample*>(rows.data());
      block.n = rows.size();
      if (rows.empty()) continue;
      const auto in = upload_rows(gpu, block, from, {{0, from}}, run.on(), context);
      const device_buffer out = run.allocate(rows.size() * device_layout(t.result).size);
      const auto kernel = run.compile(p.source, entry_of(i).c_str());
      if (p.source.makes_texts()) run.make_room(64);  // too little
      do {
        run.launch(p.source, *kernel, {blocks_for(rows.size(), 256), 256, 0}, {},
                   std::array<std::uint64_t, 3>{in->column(0), out.address(), rows.size()});
      } while (!run.finish_texts(p.source));
      if (same_on_device(t.result)) {
        gpu->copies().download_plain(there.at(0), out.address(), rows.size() * t.result->size, run.on(), context.scheduler, cancel);
      } else {
        t.result->life.construct(there.at(0), rows.size());
        download_owning_values(*gpu, t.result, out.address(), rows.size(), static_cast<std::byte*>(there.at(0)), t.result->size, run.on(),
                               context);
      }
      there.constructed = rows.size();
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (corpus::same(t.result, native.at(row), there.at(row), 0)) continue;
        std::ostringstream text;
        text << "row " << row << ": native ";
        corpus::print(text, t.result, native.at(row));
        text << ", on the GPU ";
        corpus::print(text, t.result, there.at(row));
        ADD_FAILURE() << text.str();
        break;
      }
      ++compared;
    }
  }
  std::printf("%zu trees compared on %s\n", compared, d->name().c_str());
  EXPECT_GE(compared, 20u);
}

}  // namespace
