// Device functions of the user's: kernels that call them are generated, compiled and linked, in all forms of code; needs NVRTC and
// nvJitLink and no GPU. The engine runs on the driver double, whose kernels do what the test says.
#include <gtest/gtest.h>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/linker.hpp"
#include "planned_there.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;
using query::device_form;
using query::device_function;

struct Trade {
  std::int32_t symbol;
  double price;
  std::int64_t qty;
  std::array<float, 3> x;
  std::optional<int> lot;
};
QUERY_RECORD(Trade, symbol, price, qty, x, lot);
struct Named {
  std::string name;
  double price;
};
QUERY_RECORD(Named, name, price);
struct Pair {
  std::int64_t a;
  double b;
};
QUERY_RECORD(Pair, a, b);

constexpr const char* value_source = R"(
  extern "C" __device__ double value(const Trade* t) { return t->price * t->qty + t->x[2] + (t->lot.has_value ? t->lot.value : 0); }
)";
double value(const Trade& t) { return t.price * static_cast<double>(t.qty) + static_cast<double>(t.x[2]) + t.lot.value_or(0); }

std::string bytes_of(const compiled& c) { return {reinterpret_cast<const char*>(c.cubin.data()), c.cubin.size()}; }

class device_functions : public testing::Test {
 protected:
  void SetUp() override {
    if (!compiler::find()) GTEST_SKIP() << "SKIPPED: no NVRTC: " << compiler::why_not();
    if (!linker::find()) GTEST_SKIP() << "SKIPPED: no nvJitLink: " << linker::why_not();
    for (const char* entry : {"collect_rows", "fold_rows", "sample_groups", "init_table", "grow_table", "aggregate_rows", "emit_table",
                              "aggregate_shared_rows", "merge_partials"})
      fake_.add_kernel(entry, [](void**) {});
    pretended_.emplace(fake_.calls(), 0);
    kernels_.emplace(kernel_cache::settings{
        .headers = embedded_sources(),
        .options = {},
        .folder = "",
        .compile = [](std::string_view source,
                      int) { return image_of(source, compiler::find()->compile(source, embedded_sources(), 90, {})); },
        .link =
            [this](std::string_view source, std::span<const device_code> functions, int) {
              ++linked_;
              return image_of(source, link_program(source, functions, embedded_sources(), {}, 90));
            }});
    engine_ = make_engine(*pretended_, {std::size_t{64} << 20, 0}, *kernels_);
    session_.add_engine(engine_);
  }

  template <class Q> void links(const char* what, const Q& q, int programs = 1) {
    SCOPED_TRACE(what);
    const auto here = q.in(session_);
    EXPECT_TRUE(planned_there(here.explain()));
    const int before = linked_;
    EXPECT_NO_THROW((void)here.to_vector());
    EXPECT_GE(linked_, before + programs);
  }
  template <class Q> std::string error_of(const Q& q) {
    try {
      (void)q.in(session_).to_vector();
    } catch (const query::user_error& e) {
      return e.what();
    }
    return "no user_error";
  }
  // What the engine says of each vertex that it does not take.
  template <class Q> std::string why_not(const Q& q) {
    const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.separate_result = true, .gpu_status = ""});
    std::string all;
    for (const auto& v : g->vertices)
      if (const auto answer = engine_->accepts(*v); !answer) all += answer.why + "\n";
    return all;
  }
  auto trades() { return query::from(trades_).as_accelerated(); }
  static auto accelerated(device_function d) { return query::accelerated(value, std::move(d)); }

  std::vector<Trade> trades_ = std::vector<Trade>(3000);
  driver_double fake_;
  std::optional<device> pretended_;
  std::optional<kernel_cache> kernels_;
  std::shared_ptr<query::runtime::engine> engine_;
  query::Session session_{{.threads = 2, .gpu = query::gpu_use::off}};
  int linked_ = 0;
};

TEST_F(device_functions, link_in_every_form_of_code) {
  // As nvcc would make them, with records of their own.
  const std::string own =
      "struct T { int symbol; double price; long long qty; float x[3]; int lot; bool has; };"
      "extern \"C\" __device__ double value(const T* t) { return t->price * t->qty + t->x[2] + (t->has ? t->lot : 0); }";
  const compiler& c = *compiler::find();
  const std::vector<std::string> lto{"-dlto"}, relocatable{"--relocatable-device-code=true"};
  links("CUDA", trades().select(accelerated({.symbol = "value", .code = value_source})));
  links("LTO-IR",
        trades().select(accelerated({.symbol = "value", .form = device_form::lto_ir, .code = bytes_of(c.compile(own, {}, 90, lto))})));
  links("cubin", trades().select(
                     accelerated({.symbol = "value", .form = device_form::cubin, .code = bytes_of(c.compile(own, {}, 90, relocatable))})));
  links("PTX", trades().select(accelerated({.symbol = "value", .form = device_form::ptx, .code = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .func (.param .b64 result) value(.param .b64 row) {
  .reg .b64 %p; .reg .f64 %v;
  ld.param.u64 %p, [row];
  ld.f64 %v, [%p+8];
  st.param.f64 [result], %v;
  ret;
}
)"})));
}

TEST_F(device_functions, serve_verbs_of_rows_and_groups) {
  const auto v = accelerated({.symbol = "value", .code = value_source});
  const auto cheap =
      query::accelerated([](const Trade& t) { return t.price < 3; },
                         {.symbol = "cheap", .code = "extern \"C\" __device__ bool cheap(const Trade* t) { return t->price < 3; }"});
  const auto key = query::accelerated(
      [](const Trade& t) {
        return Pair{t.symbol, t.price};
      },
      {.symbol = "key", .code = "extern \"C\" __device__ Pair key(const Trade* t) { return {t->symbol, t->price}; }"});
  links("where and select, two functions", trades().where(cheap).select(v));
  links("a function of a row that another made",
        trades().select(key).select(
            query::accelerated([](const Pair& p) { return p.b; },
                               {.symbol = "second", .code = "extern \"C\" __device__ double second(const Pair* p) { return p->b; }"})));
  links("a key and an aggregate", trades().group_by(key).select([v](auto g) { return std::make_pair(g.key(), g.sum(v)); }));
  links("an aggregate of a function that the traced function makes", trades().group_by(key).select([](auto g) {
    return std::make_pair(g.key(), g.min(accelerated({.symbol = "value", .code = value_source})));
  }));
  links("numbers", trades().select([](auto t) { return t.price; }).where(query::accelerated([](double x) { return x > 1; },
        {.symbol = "above", .code = "extern \"C\" __device__ bool above(const double* x) { return *x > 1; }"})));
  const auto symbol_of = query::accelerated(
      [](const Trade& t) { return t.symbol; },
      {.symbol = "symbol_of", .code = "extern \"C\" __device__ int symbol_of(const Trade* t) { return t->symbol; }"});
  const auto both = query::accelerated(
      [](const Trade& t, const Pair& p) { return t.price * p.b; },
      {.symbol = "both", .code = "extern \"C\" __device__ double both(const Trade* t, const Pair* p) { return t->price * p->b; }"});
  const std::vector<Pair> pairs(100, Pair{1, 2});
  fake_.allow_unknown_kernels();  // those of joins
  const auto to = query::from(pairs).as_accelerated();
  links("keys and the result of a join", trades().join(to, symbol_of, [](auto p) { return query::cast<std::int32_t>(p.a); }, both), 2);
  const auto root = query::accelerated(
      query::library_function<double(double)>("libm.so.6", "sqrt"),
      {.symbol = "root", .code = "extern \"C\" __device__ double root(const double* x) { return sqrt(*x); }"});
  links("a function of the host's library", trades().select([](auto t) { return t.price; }).select(root));
  EXPECT_NE(trades().group_by(key).select([v](auto g) { return g.max(v); }).explain().find("max(value(row))"), std::string::npos)
      << trades().group_by(key).select([v](auto g) { return g.max(v); }).explain();
}

TEST_F(device_functions, that_do_not_fit_are_errors_with_verb_place_and_log) {
  const auto says = [&](device_function d, const char* what) {
    const std::string text = error_of(trades().select(accelerated(d)));
    EXPECT_EQ(text.substr(0, 7), "select:") << text;
    EXPECT_NE(text.find("device_functions_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find(what), std::string::npos) << text;
  };
  says({.symbol = "absent", .code = "extern \"C\" __device__ double other(const Trade* t) { return t->price; }"}, "absent");
  says({.symbol = "value", .code = "extern \"C\" __device__ double value(const Trade* t) { return t->cost; }"}, "cost");
  says({.symbol = "value", .code = "extern \"C\" __device__ float value(const Trade* t) { return 1; }"},
       "result f64: its size differs from the host's, 8");
  says({.symbol = "value",
        .code = "struct T { double price; int symbol; long long qty; float x[3]; int lot; bool has; };"
                "extern \"C\" __device__ double value(const T* t) { return t->price; }",
        .declares_records = true},
       "the field symbol lies elsewhere on the host, at byte 0");
  const std::string body = "struct T { int symbol; double price; }; extern \"C\" __device__ double value(const T* t) { return t->price; }";
  const std::vector<std::string> relocatable{"--relocatable-device-code=true"};
  says({.symbol = "value", .form = device_form::cubin, .code = bytes_of(compiler::find()->compile(body, {}, 100, relocatable))},
       "does not link for sm_90");
  says({.symbol = "elsewhere", .form = device_form::cubin, .code = bytes_of(compiler::find()->compile(body, {}, 90, relocatable))},
       "elsewhere");
  says({.symbol = "value", .form = device_form::cubin, .code = "code", .row = {.size = 24}},
       "its size is 24 on the device, 48 on the host");
  says({.symbol = "value", .form = device_form::cubin, .code = "code", .result = {.size = 4}}, "result f64: its size is 4");
  says({.symbol = "value", .form = device_form::cubin, .code = "code", .row = {.fields = {{"price", 4}}}}, "the offset of price is 4");
  says({.symbol = "value", .form = device_form::cubin, .code = "code", .row = {.fields = {{"cost", 4}}}}, "no field cost");
}

TEST_F(device_functions, of_rows_that_own_memory_run_on_the_host) {
  const std::vector<Named> rows(10, {"n", 2});
  const auto f = query::accelerated([](const Named& n) { return n.price; }, {.symbol = "price_of", .code = "never compiled"});
  const auto q = query::from(rows).as_accelerated().select(f).in(session_);
  EXPECT_NE(why_not(q).find("price_of gets rows that own memory"), std::string::npos) << why_not(q);
  EXPECT_EQ(q.to_vector(), std::vector<double>(10, 2));
}

// A function of a host's shared library is one like any other.
TEST(library_function, is_found_by_its_symbol) {
  const query::library_function<double(double)> root("libm.so.6", "sqrt");
  EXPECT_EQ(query::from(std::vector<double>{4, 9}).select(query::opaque(root)).to_vector(), (std::vector<double>{2, 3}));
  EXPECT_THROW((query::library_function<double(double)>("libm.so.6", "no_such_function")), query::user_error);
  EXPECT_THROW((query::library_function<double(double)>("no_such_library.so", "sqrt")), query::user_error);
}

// ---------------------------------------------------------------- apply
class apply_on_gpu : public device_functions {
 protected:
  // The double's memory is the host's: once the stream's work has ended, it can be read and written here.
  static auto halved() {
    return query::on_gpu([](auto& rows) {
      const double* prices = rows.column(&Trade::price);
      Pair* out = rows.results(rows.size());
      EXPECT_NE(rows.stream(), nullptr);
      EXPECT_EQ(rows.device(), 0);
      rows.wait();
      for (std::size_t i = 0; i < rows.size(); ++i) out[i] = {static_cast<std::int64_t>(i), prices[i] / 2};
      rows.keep(rows.size() - 1);
    });
  }
  static auto host() {
    return [](std::span<const Trade>) -> std::vector<Pair> { throw std::runtime_error("the CPU's form ran"); };
  }
};

TEST_F(apply_on_gpu, gets_columns_and_gives_rows) {
  for (std::size_t i = 0; i < trades_.size(); ++i) trades_[i].price = static_cast<double>(i);
  // A copy of a field is a kernel of the engine's: here it is the test's.
  fake_.add_kernel("lay_out_part", [](void** arguments) { (void)arguments; });
  const std::vector<double> prices = query::from(trades_).select([](auto t) { return t.price; }).to_vector();
  const auto q = query::from(prices).as_accelerated().apply_all(
      [](std::span<const double>) -> std::vector<Pair> { throw std::runtime_error("the CPU's form ran"); },
      query::on_gpu([](auto& rows) {
        const double* in = rows.rows();
        std::int64_t* a = rows.results(&Pair::a, rows.size());
        double* b = rows.results(&Pair::b, rows.size());
        rows.wait();
        for (std::size_t i = 0; i < rows.size(); ++i) a[i] = static_cast<std::int64_t>(i), b[i] = in[i] / 2;
        rows.keep(rows.size() - 1);
      }));
  const auto got = q.in(session_).to_vector();
  ASSERT_EQ(got.size(), prices.size() - 1);
  EXPECT_EQ(got[10].a, 10);
  EXPECT_EQ(got[11].b, 5.5);
  EXPECT_NE(q.in(session_).explain().find("with a form for the GPU"), std::string::npos);
}

TEST_F(apply_on_gpu, takes_one_partition_after_the_other) {
  std::vector<double> numbers(1000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i * 37 % 1000);
  const auto cpu = [](std::span<const double>) -> std::vector<Pair> { throw std::runtime_error("the CPU's form ran"); };
  // The number of rows, and their sum: one row a partition; nothing of empty ones.
  const auto sums = query::on_gpu([](auto& rows) {
    const double* in = rows.rows();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(in) % 256, 0u);
    Pair* out = rows.results(rows.size() ? 1 : 0);
    rows.wait();
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) sum += in[i];
    if (rows.size()) out[0] = {static_cast<std::int64_t>(rows.size()), sum};
  });
  const auto got = [&](const auto& parted) {
    const auto q = parted.apply(cpu, sums).in(session_);
    EXPECT_NE(q.explain().find("with a form for the GPU"), std::string::npos) << q.explain();
    return q.to_vector();
  };
  const auto rows = query::from(numbers).as_accelerated();
  const auto runs = got(rows.partitioned(3));
  ASSERT_EQ(runs.size(), 3u);
  for (std::size_t p = 0, at = 0; p < 3; ++p) {
    double sum = 0;
    EXPECT_EQ(runs[p].a, p ? 333 : 334);
    for (std::int64_t i = 0; i < runs[p].a; ++i) sum += numbers[at++];
    EXPECT_EQ(runs[p].b, sum);
  }
  // Made by the CPU, whose bounds are then known there too (partitions_test.cpp: made by the GPU).
  const auto ranges = got(rows.range_partitioned_by([](auto x) { return x; }, 10).on(query::engine::cpu));
  ASSERT_EQ(ranges.size(), 10u);
  for (std::size_t p = 0; p < 10; ++p) EXPECT_EQ(ranges[p].b, 100 * (100.0 * static_cast<double>(p)) + 4950) << p;
  const auto few = got(rows.hash_partitioned_by([](auto x) { return query::cast<std::int64_t>(x) % 2; }, 64).on(query::engine::cpu));
  ASSERT_LE(few.size(), 2u);
  double all = 0;
  for (const Pair& p : few) all += p.b;
  EXPECT_EQ(all, 499500);
}

TEST_F(apply_on_gpu, lays_a_field_out_by_a_kernel_that_compiles) {
  fake_.add_kernel("lay_out_part", [](void**) {});
  EXPECT_EQ(trades().skip(1).apply(host(), halved()).in(session_).to_vector().size(), trades_.size() - 2);
  EXPECT_EQ(fake_.launches("lay_out_part"), 1u);  // rows of the host's are asked for by field
  EXPECT_EQ(trades().apply(host(), halved()).in(session_).to_vector().size(), trades_.size() - 1);
  EXPECT_EQ(fake_.launches("lay_out_part"), 1u);
}

TEST_F(apply_on_gpu, is_left_out_where_it_cannot_run) {
  const auto cpu = [](std::span<const Trade> r) { return std::vector<Pair>(r.size()); };
  EXPECT_EQ(query::from(trades_).apply(cpu, halved()).in(session_).to_vector().size(), trades_.size());
  EXPECT_NE(query::from(trades_).apply(cpu, halved()).in(session_).explain().find("as_accelerated() was not said"), std::string::npos);
  const auto parted = trades().partitioned(3).where([](auto t) { return t.price > -1; }).apply(cpu, halved()).in(session_);
  EXPECT_NE(why_not(parted).find("rows behind a partition were changed"), std::string::npos) << why_not(parted);
  EXPECT_EQ(parted.to_vector().size(), trades_.size());
  EXPECT_NE(why_not(trades().apply(cpu)).find("no form for the GPU"), std::string::npos);
}

TEST_F(apply_on_gpu, is_an_error_where_it_gives_no_rows_or_half_of_them) {
  const auto fails = [&](auto g) { return error_of(trades().apply(host(), query::on_gpu(g))); };
  EXPECT_NE(fails([](auto&) {}).find("apply: the function's form for the GPU gave no rows"), std::string::npos);
  EXPECT_NE(fails([](auto& r) { (void)r.results(&Pair::b, 4); }).find("no column for the field a"), std::string::npos);
  EXPECT_NE(fails([](auto& r) { (void)r.results(&Pair::b, 4), (void)r.results(&Pair::a, 5); }).find("the same number of rows: 4, 5"),
            std::string::npos);
  EXPECT_NE(fails([](auto& r) { (void)r.results(4), (void)r.results(&Pair::b, 4); }).find("not both"), std::string::npos);
  EXPECT_NE(fails([](auto& r) { (void)r.results(4), r.keep(5); }).find("keep: 5 rows"), std::string::npos);
  EXPECT_THROW((void)trades().apply(host(), query::on_gpu([](auto&) { throw std::out_of_range("mine"); })).in(session_).to_vector(),
               std::out_of_range);
}

// ---------------------------------------------------------------- on
TEST_F(device_functions, on_keeps_one_vertex_from_the_gpu) {
  const auto q = trades().group_by([](auto t) { return t.symbol; }).select([](auto g) { return std::make_pair(g.key(), g.count()); });
  EXPECT_TRUE(planned_there(q.in(session_).explain()));
  const std::string cpu = q.on(query::engine::cpu).in(session_).explain();
  EXPECT_NE(cpu.find("cpu: on(engine::cpu) after group_by"), std::string::npos) << cpu;
  EXPECT_NE(cpu.find(", on the CPU"), std::string::npos) << cpu;
  EXPECT_EQ(cpu.find("gpu: driver double"), std::string::npos) << cpu;
}

}  // namespace
