// accelerated() in the forms that gpu_functions_test.cpp leaves out: LTO-IR and cubins, which NVRTC makes here of such functions for the
// device at hand, keys and results of joins, and functions of the host's shared libraries.
#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/compare.hpp"
#include "conformance/compiled_kernels.hpp"
#include "conformance/engines.hpp"
#include "conformance/rows.hpp"
#include "gpu_engine/device.hpp"
#include "gpu_engine/linker.hpp"
#include "gpu_engine/nvrtc.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

using namespace query::gpu_engine;

std::vector<tick> ticks(std::int32_t n) {
  std::vector<tick> all;
  for (std::int32_t i = 0; i < n; ++i) all.push_back({i, i * 7 % 501, std::int64_t{i} * 3, (i % 64) / 8.0});
  return all;
}
double worth(const tick& t) { return t.price * static_cast<double>(t.amount); }

void ran_there(const engine_config& e, const std::string& plan) {
  if (!e.accelerate) return;
  EXPECT_TRUE(planned_there(plan));
  EXPECT_EQ(plan.find("went to the cpu"), std::string::npos) << plan;
}

// Records of its own, as in a file that nvcc compiles.
constexpr const char* worth_alone =
    "struct theirs { int id; int key; long long amount; double price; };"
    "extern \"C\" __device__ double worth(const theirs* t) { return t->price * double(t->amount); }";

CONFORMS(gpu_function_forms, lto_ir_and_cubins_are_linked, "accelerated", "select", "sum") {
  if (!computes(e)) return;
  if (e.accelerate && !linker::find()) GTEST_SKIP() << "SKIPPED: no nvJitLink: " << linker::why_not();
  const auto rows = ticks(20'000);
  std::vector<double> wanted;
  for (const tick& t : rows) wanted.push_back(worth(t));
  const auto compiled_as = [&](query::device_form form, const char* option) {
    std::string code = "never linked here";
    if (e.accelerate) {
      const auto made = compiler::find()->compile(worth_alone, {}, device::first()->compute_capability(), std::vector<std::string>{option});
      code.assign(reinterpret_cast<const char*>(made.cubin.data()), made.cubin.size());
    }
    return query::accelerated(worth, query::device_function{.symbol = "worth",
                                                            .form = form,
                                                            .code = code,
                                                            .row = {.size = sizeof(tick), .fields = {{"price", 16}, {"amount", 8}}},
                                                            .result = {.size = 8}});
  };
  for (const auto& f :
       {compiled_as(query::device_form::lto_ir, "-dlto"), compiled_as(query::device_form::cubin, "--relocatable-device-code=true")}) {
    const auto q = source(e, rows).select(f);
    EXPECT_ROWS(q.to_vector(), wanted);
    ran_there(e, q.explain());
    EXPECT_EQ(source(e, rows).where([](auto t) { return t.key == 7; }).select(f).count(), std::ssize(rows) / 501 + 1);
  }
}

CONFORMS(gpu_function_forms, keys_and_results_of_joins, "accelerated", "join", "left_join") {
  const auto rows = ticks(6000), others = ticks(800);
  const auto key = query::accelerated([](const tick& t) { return t.key % 100; },
                                      query::device_function{.symbol = "bucket", .code = R"(
    extern "C" __device__ int bucket(const tick* t) { return t->key % 100; }
  )"});
  const auto product = query::accelerated([](const tick& a, const tick& b) { return a.amount * 1000 + b.id; },
                                          query::device_function{.symbol = "product", .code = R"(
    extern "C" __device__ long long product(const tick* a, const tick* b) { return a->amount * 1000 + b->id; }
  )"});
  std::vector<std::int64_t> wanted;
  for (const tick& a : rows)
    for (const tick& b : others)
      if (a.key % 100 == b.key % 100) wanted.push_back(a.amount * 1000 + b.id);
  const auto q = source(e, rows).join(source(e, others), key, key, product);
  EXPECT_SAME_ROWS(q.to_vector(), wanted);
  ran_there(e, q.explain());
  // One side's key traces.
  const auto mixed = source(e, rows).join(source(e, others), key, [](auto t) { return t.key % 100; }, product);
  EXPECT_SAME_ROWS(mixed.to_vector(), wanted);
  ran_there(e, mixed.explain());
}

CONFORMS(gpu_function_forms, of_a_shared_library_of_the_host, "accelerated", "select") {
  const auto root = query::accelerated(query::library_function<double(double)>("libm.so.6", "sqrt"),
                                       query::device_function{.symbol = "root", .code = R"(
    extern "C" __device__ double root(const double* x) { return sqrt(*x); }
  )"});
  std::vector<double> rows, wanted;
  for (int i = 0; i < 5000; ++i) {
    rows.push_back(i * 0.37);
    wanted.push_back(std::sqrt(i * 0.37));
  }
  const auto q = source(e, rows).select(root);
  EXPECT_ROWS(q.to_vector(), wanted);
  ran_there(e, q.explain());
}

}  // namespace
}  // namespace conformance
