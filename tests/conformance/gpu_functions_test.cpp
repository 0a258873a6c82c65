// Functions of the user's with a form for the GPU: accelerated(f, device function), apply with on_gpu(g), and on(engine).

#include <map>

#include "conformance/compare.hpp"
#include "conformance/device_copy.hpp"
#include "conformance/compiled_kernels.hpp"
#include "conformance/engines.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

struct reading {
  std::int16_t level;
  double value;
  std::int32_t sensor;
  std::int64_t at;
};
QUERY_RECORD(reading, level, value, sensor, at);
struct span_of_time {
  std::int64_t begin;
  float value;
};
QUERY_RECORD(span_of_time, begin, value);

std::vector<reading> readings(std::size_t n = 50'000) {
  std::vector<reading> all;
  for (std::size_t i = 0; i < n; ++i)
    all.push_back({static_cast<std::int16_t>(i % 7), static_cast<double>(i * 37 % 1001) - 250, static_cast<std::int32_t>(i % 97),
                   static_cast<std::int64_t>(i) * 1000});
  return all;
}

double weigh(const reading& r) { return r.value * r.level + static_cast<double>(r.at % 64); }
auto weight() {
  return query::accelerated(weigh, query::device_function{.symbol = "weigh", .code = R"(
    static __device__ double scaled(const reading* r) { return r->value * r->level; }
    extern "C" __device__ double weigh(const reading* r) { return scaled(r) + double(r->at % 64); }
  )"});
}
auto is_high() {
  return query::accelerated([](const reading& r) { return r.value > 100 && r.level != 3; },
                            query::device_function{.symbol = "is_high", .code = R"(
    extern "C" __device__ bool is_high(const reading* r) { return r->value > 100 && r->level != 3; }
  )"});
}
auto hour() {
  return query::accelerated([](const reading& r) { return span_of_time{r.at / 3'600'000, static_cast<float>(r.level)}; },
                            query::device_function{.symbol = "hour", .code = R"(
    struct mine { long long begin; float value; };
    struct theirs { short level; double value; int sensor; long long at; };
    extern "C" __device__ mine hour(const theirs* r) { return {r->at / 3600000, float(r->level)}; }
  )", .declares_records = true});
}

// Without a GPU the CPU runs all; with one, `text` must say so.
void expect_gpu(const engine_config& e, const std::string& text) {
  if (e.accelerate) {
    EXPECT_TRUE(planned_there(text));
  }
}

CONFORMS(gpu_functions, accelerated_predicates_and_projections_give_what_the_host_gives, "accelerated", "where", "select") {
  const auto rows = readings();
  std::vector<double> weights;
  std::vector<span_of_time> hours;
  for (const reading& r : rows)
    if (r.value > 100 && r.level != 3) {
      weights.push_back(weigh(r));
      hours.push_back({r.at / 3'600'000, static_cast<float>(r.level)});
    }
  const auto w = source(e, rows).where(is_high()).select(weight());
  EXPECT_ROWS(w.to_vector(), weights);
  EXPECT_ROWS(source(e, rows).where(is_high()).select(hour()).to_vector(), hours);
  // A device function after a traced one, over a row that it made.
  EXPECT_ROWS(source(e, rows).where([](auto r) { return r.value > 100 && r.level != 3; }).select(hour()).to_vector(), hours);
  expect_gpu(e, w.explain());
  EXPECT_NE(w.explain().find("predicate: is_high"), std::string::npos);
  EXPECT_NE(w.explain().find("accelerated, by CUDA"), std::string::npos);
}

CONFORMS(gpu_functions, accelerated_keys_and_aggregates_give_what_the_host_gives, "accelerated", "group_by", "order_by", "sum") {
  const auto rows = readings();
  const auto bucket =
      query::accelerated([](const reading& r) { return r.sensor % 5; }, query::device_function{.symbol = "bucket", .code = R"(
    extern "C" __device__ int bucket(const reading* r) { return r->sensor % 5; }
  )"});
  std::map<std::int32_t, std::pair<double, std::int64_t>> sums;
  for (const reading& r : rows) {
    sums[r.sensor % 5].first += weigh(r);
    ++sums[r.sensor % 5].second;
  }
  std::vector<std::tuple<std::int32_t, double, std::int64_t>> expected;
  for (const auto& [k, s] : sums) expected.emplace_back(k, s.first, s.second);
  const auto groups = source(e, rows).group_by(bucket).select([](auto g) { return std::make_tuple(g.key(), g.sum(weight()), g.count()); });
  expect_gpu(e, groups.explain());
  EXPECT_ROWS_NEAR(groups.order_by([](auto t) { return std::get<0>(t); }).to_vector(), expected, 1e-9);

  std::vector<reading> sorted = rows;
  std::stable_sort(sorted.begin(), sorted.end(), [](const reading& a, const reading& b) { return weigh(a) < weigh(b); });
  EXPECT_ROWS(source(e, rows).order_by(weight()).to_vector(), sorted);
  double total = 0;
  for (const reading& r : rows) total += weigh(r);
  EXPECT_NEAR(source(e, rows).sum(weight()), total, 1e-9 * std::abs(total));
}

template <class F> std::string error_of(F f) {
  try {
    f();
  } catch (const query::user_error& error) {
    return error.what();
  }
  return "no user_error";
}

CONFORMS(gpu_functions, what_is_wrong_with_a_device_function_is_an_error_with_verb_and_place, "accelerated") {
  const auto rows = readings();
  const auto plain = [](const reading& r) { return r.value; };
  const auto says = [&](query::device_function d, const char* what, bool everywhere = false) {
    if (!everywhere && (!e.accelerate || !computes(e))) return;
    const std::string text = error_of([&] { (void)source(e, rows).select(query::accelerated(plain, d)).to_vector(); });
    EXPECT_EQ(text.substr(0, 7), "select:") << text;
    EXPECT_NE(text.find(what), std::string::npos) << text;
    EXPECT_NE(text.find("gpu_functions_test.cpp:"), std::string::npos) << text;
  };
  says({.symbol = "missing", .code = "extern \"C\" __device__ double other(const reading* r) { return r->value; }"}, "missing");
  says({.symbol = "broken", .code = "extern \"C\" __device__ double broken(const reading* r) { return r->price; }"}, "price");
  says({.symbol = "gives_float", .code = "extern \"C\" __device__ float gives_float(const reading* r) { return r->value; }"},
       "its size differs");
  says({.symbol = "other_row", .code = "struct r16 { double value; long long at; };"
                                       "extern \"C\" __device__ double other_row(const r16* r) { return r->value; }",
        .declares_records = true}, "differ");
  says({.symbol = "no_ptx", .form = query::device_form::ptx, .code = "this is no PTX"}, "does not link for sm_");
  says({.symbol = "later", .form = query::device_form::ptx,
        .code = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .func (.param .b64 r) early(.param .b64 p) { ret; }\n"}, "later");
  says({.symbol = "of_40_bytes", .form = query::device_form::cubin, .code = "cubin", .row = {.size = 40}}, "its size is 40", true);
  says({.symbol = "of_offset", .form = query::device_form::ptx, .code = "ptx", .row = {.fields = {{"value", 0}}}},
       "the offset of value is 0", true);
  EXPECT_NE(error_of([&] { (void)query::accelerated(plain, {.symbol = "no name", .code = "x"}); }).find("accelerated:"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)query::accelerated(plain, {.symbol = "f", .file = "/no/such/file"}); }).find("/no/such/file"),
            std::string::npos);
}

CONFORMS(gpu_functions, ptx_is_linked, "accelerated") {
  const auto f = query::accelerated([](const reading& r) { return r.value * 2; },
                                    query::device_function{.symbol = "twice",
                                                           .form = query::device_form::ptx,
                                                           .code = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .func (.param .b64 result) twice(.param .b64 row) {
  .reg .b64 %p; .reg .f64 %v;
  ld.param.u64 %p, [row];
  ld.f64 %v, [%p+8];
  add.f64 %v, %v, %v;
  st.param.f64 [result], %v;
  ret;
}
)",
                                                           .row = {.size = sizeof(reading), .fields = {{"value", 8}}},
                                                           .result = {.size = 8}});
  const auto rows = readings();
  std::vector<double> expected;
  for (const reading& r : rows) expected.push_back(r.value * 2);
  EXPECT_ROWS(source(e, rows).select(f).to_vector(), expected);
}

CONFORMS(gpu_functions, apply_runs_the_form_of_its_engine, "apply", "apply_all") {
  if (!computes(e)) return;
  const auto rows = readings();
  int here = 0, there = 0;
  const auto copies = [&](std::span<const reading> r) {
    ++here;
    return std::vector<reading>(r.begin(), r.end());
  };
  const auto copies_there = query::on_gpu([&](auto& r) {
    ++there;
    copy_on_device(r.results(r.size()), r.rows(), r.size() * sizeof(reading), r.stream());
  });
  std::vector<reading> kept;
  for (const reading& r : rows)
    if (r.level > 2) kept.push_back(r);
  const auto q = source(e, rows).where([](auto r) { return r.level > 2; }).apply_all(copies, copies_there);
  EXPECT_ROWS(q.to_vector(), kept);
  EXPECT_EQ(there > 0, e.accelerate) << q.explain();
  EXPECT_EQ(here > 0, !e.accelerate);
  EXPECT_NE(q.explain().find("with a form for the GPU"), std::string::npos);
  expect_gpu(e, q.explain());
  // Its rows are read where they lie.
  EXPECT_EQ(q.count([](auto r) { return r.sensor == 5; }), query::from(kept).count([](auto r) { return r.sensor == 5; }));
}

CONFORMS(gpu_functions, apply_gives_columns_and_fewer_rows, "apply") {
  const auto rows = readings();
  const auto form = query::on_gpu([](auto& r) {
    const std::size_t n = r.size();
    copy_on_device(r.results(&span_of_time::begin, n), r.column(&reading::at), n * sizeof(std::int64_t), r.stream());
    float* values = r.results(&span_of_time::value, n);
    void* zero = r.scratch(n * sizeof(float));
    copy_on_device(values, zero, n * sizeof(float), r.stream());
    copy_on_device(values, r.column(&reading::level), n * sizeof(std::int16_t), r.stream());  // bits of numbers, not their values
    r.wait();
    r.keep(n / 2);
  });
  // One call for all: the CPU's form halves the same way.
  const auto q = source(e, rows).apply_all([](std::span<const reading> r) {
    std::vector<span_of_time> out;
    for (std::size_t i = 0; i < r.size() / 2; ++i) out.push_back({r[i].at, 0});
    return out;
  }, form).select([](auto s) { return s.begin; });
  std::vector<std::int64_t> expected;
  for (std::size_t i = 0; i < rows.size() / 2; ++i) expected.push_back(rows[i].at);
  EXPECT_ROWS(q.to_vector(), expected);
}

CONFORMS(gpu_functions, what_is_wrong_with_an_apply_there_is_an_error, "apply") {
  if (!e.accelerate || !computes(e)) return;
  const auto rows = readings();
  const auto copies = [](std::span<const reading> r) { return std::vector<reading>(r.begin(), r.end()); };
  const auto fails = [&](auto g) { return error_of([&] { (void)source(e, rows).apply(copies, query::on_gpu(g)).to_vector(); }); };
  EXPECT_NE(fails([](auto&) {}).find("gave no rows"), std::string::npos);
  EXPECT_NE(fails([](auto& r) { (void)r.results(&reading::at, 10); }).find("no column for the field level"), std::string::npos);
  EXPECT_NE(fails([](auto& r) { (void)r.results(&reading::at, 10), (void)r.results(&reading::value, 11); }).find("same number of rows"),
            std::string::npos);
  EXPECT_NE(fails([](auto& r) { (void)r.results(10), r.keep(11); }).find("keep: 11"), std::string::npos);
  EXPECT_THROW((void)source(e, rows).apply(copies, query::on_gpu([](auto&) { throw std::out_of_range("mine"); })).to_vector(),
               std::out_of_range);
}

CONFORMS(gpu_functions, on_orders_one_verb_to_an_engine, "on") {
  const auto rows = readings();
  const auto level = [](auto r) { return r.level; };
  const auto count = [](auto g) { return std::make_pair(g.key(), g.count()); };
  const auto q = source(e, rows).group_by(level).select(count).on(query::engine::cpu).order_by([](auto p) { return p.first; });
  const std::string text = q.explain();
  if (e.accelerate) {
    EXPECT_NE(text.find("cpu: on(engine::cpu) after"), std::string::npos) << text;
    EXPECT_TRUE(planned_there(text, "order_by"));
  }
  std::vector<std::pair<std::int16_t, std::int64_t>> expected;
  for (std::int16_t k = 0; k < 7; ++k) expected.emplace_back(k, query::from(rows).count([k](auto r) { return r.level == k; }));
  EXPECT_ROWS(q.to_vector(), expected);
  EXPECT_EQ(source(e, rows).where([](auto r) { return r.level > 3; }).on(query::engine::cpu).count(),
            query::from(rows).count([](auto r) { return r.level > 3; }));

  const auto there = query::from(rows).in(e.session).group_by(level).select(count).on(query::engine::gpu);
  const auto opaque = query::from(rows).in(e.session).where([](const reading& r) { return r.level > 3; }).on(query::engine::gpu);
  if (e.accelerate) {
    EXPECT_NE(there.explain().find("as on(engine::gpu) orders for"), std::string::npos) << there.explain();
    EXPECT_SAME_ROWS(there.to_vector(), expected);
    EXPECT_NE(error_of([&] {
                (void)opaque.to_vector();
              }).find("on: where is ordered to the GPU but runs on the CPU: not on gpu: the predicate of where is opaque"),
              std::string::npos)
        << error_of([&] { (void)opaque.to_vector(); });
    EXPECT_NE(error_of([&] { (void)opaque.count(); }).find("on: where is ordered to the GPU"), std::string::npos);
    const auto demanded = source(e, rows).require_gpu().where([](const reading& r) { return r.level > 3; });
    EXPECT_NE(error_of([&] { (void)demanded.count(); }).find("require_gpu: where runs on the CPU: "), std::string::npos);
    EXPECT_NE(error_of([&] { (void)demanded.to_vector(); }).find("require_gpu: where runs on the CPU: "), std::string::npos);
    EXPECT_EQ(source(e, rows).require_gpu().where([](auto r) { return r.level > 3; }).count(),
              query::from(rows).count([](auto r) { return r.level > 3; }));
    EXPECT_NE(error_of([&] {
                (void)source(e, rows)
                    .where([](auto r) { return r.level > 3; })
                    .on(query::engine::cpu)
                    .group_by(level)
                    .select(count)
                    .on(query::engine::gpu)
                    .to_vector();
              }).find("but one vertex runs both"),
              std::string::npos);
  } else {
    EXPECT_NE(error_of([&] { (void)there.to_vector(); }).find("is ordered to the GPU: "), std::string::npos);
  }
}

}  // namespace
}  // namespace conformance
