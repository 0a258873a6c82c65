// Every form of the corpus that traces has a kernel, which NVRTC compiles; where there is a GPU, it gives what runs natively.
// Forms are compiled in batches: a kernel each, one program a batch.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "corpus/forms.hpp"
#include "gpu_engine/codegen/row_function.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/nvrtc.hpp"
#include "gpu_engine/upload.hpp"
#include "gpu_engine/vertex_run.hpp"
#include "runtime/session_state.hpp"

namespace {

using corpus::form;
using namespace query::gpu_engine;

constexpr std::size_t forms_of_program = 24;

std::vector<form> traced_forms() {
  std::vector<form> v;
  for (auto batch : {corpus::branches, corpus::arithmetic, corpus::records_and_arrays, corpus::strings_and_nulls, corpus::nested, corpus::groups,
                     corpus::library, corpus::black_boxes, corpus::members, corpus::times})
    for (form& f : batch())
      if (f.trace && f.expected == corpus::outcome::traced) v.push_back(std::move(f));
  return v;
}

struct program {
  kernel_source source;
  std::vector<const form*> forms;
};
std::string entry_of(std::size_t i) { return "form_" + std::to_string(i); }

void add(program& p, const form& f) {
  kernel_source& k = p.source;
  k.may_run_again();
  for (const auto& c : f.captures) k.know(c);
  const std::string function = generate_function(k, f.trace, f.row, f.name, {});
  const std::string row = k.type_name(f.row), result = k.type_name(f.trace.root->type);
  k.add("extern \"C\" __global__ void " + entry_of(p.forms.size()) +
        "(const __grid_constant__ words p) {\n  const u64 i = blockIdx.x * 256ull + threadIdx.x;\n  if (i < " + k.argument(2, "u64") +
        ") (" + k.argument(1, result + "*") + ")[i] = " + function + "(p, (" + k.argument(0, "const " + row + "*") + ")[i]);\n}\n");
  p.forms.push_back(&f);
}

std::vector<program> programs(const std::vector<form>& forms) {
  std::vector<program> all;
  for (const form& f : forms) {
    try {
      kernel_source alone;  // a form that fails half way would spoil a batch
      alone.may_run_again();
      (void)generate_function(alone, f.trace, f.row, f.name, {});
    } catch (const not_generated& e) {
      ADD_FAILURE() << f.batch << ": " << f.name << ": " << e.what();
      continue;
    }
    if (all.empty() || all.back().forms.size() == forms_of_program) all.emplace_back();
    add(all.back(), f);
  }
  return all;
}

TEST(gpu_lambda_forms, compile) {
  if (!compiler::find()) GTEST_SKIP() << "SKIPPED: no NVRTC: " << compiler::why_not();
  const std::vector<form> forms = traced_forms();
  std::size_t compiled = 0;
  for (const program& p : programs(forms)) {
    EXPECT_NO_THROW((void)compiler::find()->compile(p.source.text(), embedded_sources(), 90, {}))
        << "forms from " << p.forms.front()->name << " to " << p.forms.back()->name;
    compiled += p.forms.size();
  }
  EXPECT_GE(compiled, 350u);
}

TEST(gpu_lambda_forms, give_on_the_gpu_what_runs_natively) {
  const device* d = device::first();
  if (!d) GTEST_SKIP() << "SKIPPED: no GPU: " << device::why_not();
  kernel_cache kernels({.headers = embedded_sources(), .options = {"--fmad=false"}, .folder = {}, .compile = {}});
  const auto gpu = std::make_shared<gpu_session>(*d, 0, kernels);
  query::runtime::session_state session({});
  query::runtime::cancel_flag cancel;
  query::runtime::run_context context{*session.scheduler, session.pool, cancel};
  const std::vector<query::planner::binding> none;
  const std::vector<form> forms = traced_forms();
  std::size_t compared = 0;
  for (program& p : programs(forms)) {
    for (std::size_t i = 0; i < p.forms.size(); ++i) {
      const form& f = *p.forms[i];
      if (!same_shape(f.trace.root->type, f.result)) continue;
      SCOPED_TRACE(f.batch + ": " + f.name + ": " + f.source + "\n" + query::ir::show(f.trace));
      const std::string difference = corpus::compare(f, [&](const form&, const void* rows, std::size_t n, corpus::values& results) {
        vertex_run run(gpu, none, context);
        query::detail::row_block block;
        block.rows = const_cast<void*>(rows);
        block.n = n;
        const auto in = upload_rows(gpu, block, f.row, {{0, f.row}}, run.on(), context);
        const device_buffer out = run.allocate(n * device_layout(f.result).size);
        const auto kernel = run.compile(p.source, entry_of(i).c_str());
        if (p.source.makes_texts()) run.make_room(64);  // too little
        do {
          run.launch(p.source, *kernel, {blocks_for(n, 256), 256, 0}, {}, std::array<std::uint64_t, 3>{in->column(0), out.address(), n});
        } while (!run.finish_texts(p.source));
        if (same_on_device(f.result)) {
          gpu->copies().download_plain(results.at(0), out.address(), n * f.result->size, run.on(), context.scheduler, cancel);
        } else {
          f.result->life.construct(results.at(0), n);
          download_owning_values(*gpu, f.result, out.address(), n, static_cast<std::byte*>(results.at(0)), f.result->size, run.on(), context);
        }
        results.constructed = n;
      });
      EXPECT_EQ(difference, "");
      ++compared;
    }
  }
  EXPECT_GE(compared, 350u);
}

}  // namespace
