// Every kernel that the operators generate compiles, for the forms of rows, keys and aggregates that change its text. Needs
// NVRTC and no GPU: the engine runs on the driver double, whose kernels do nothing, so that results mean nothing either.
#include <gtest/gtest.h>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/embedded_sources.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/operators/group_kernels.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::gpu_engine;

struct Trade {
  std::int32_t symbol;
  double price;
  std::int64_t qty;
  float weight;
  std::optional<int> lot;
  std::array<float, 4> x;
  bool hot;
  std::int16_t level;
  std::string name;
};
QUERY_RECORD(Trade, symbol, price, qty, weight, lot, x, hot, level, name);
struct Pair {
  int a;
  double b;
};
QUERY_RECORD(Pair, a, b);
struct Triple {
  int a;
  double b;
  std::int64_t c;
};
QUERY_RECORD(Triple, a, b, c);
struct Symbol {
  std::int32_t id;
  double rate;
};
QUERY_RECORD(Symbol, id, rate);

struct Place {
  std::int32_t tag;
  std::array<float, 20> x;
};
QUERY_RECORD(Place, tag, x);

class generated_kernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!compiler::find()) GTEST_SKIP() << "SKIPPED: no NVRTC: " << compiler::why_not();
    for (const char* entry :
         {"collect_rows",          "fold_rows",      "sample_groups", "init_table",  "grow_table",   "aggregate_rows", "emit_table",
          "aggregate_shared_rows", "merge_partials", "gather_rows",   "map_build",   "lookup_probe", "keep_rows",      "count_build",
          "shuffle_build",         "scan_sizes",     "count_output",  "scan_output", "list_output",  "expand_output"})
      fake_.add_kernel(entry, [](void**) {});
    for (int i = 0; i < 8; ++i)
      for (const char* pass : {"count_", "sweep_"}) fake_.add_kernel(pass + std::to_string(i), [](void**) {});
    pretended_.emplace(fake_.calls(), 0);
    // What compiles is checked; the double does not look at the code.
    kernels_.emplace(
        kernel_cache::settings{.headers = embedded_sources(), .options = {}, .folder = "", .compile = [this](std::string_view source, int) {
                                 ++compiled_;
                                 compiled result = compiler::find()->compile(source, embedded_sources(), 90, {});
                                 // The double takes an image that lists its entries.
                                 const std::string image = "image:" + std::string(source);
                                 result.cubin.assign(reinterpret_cast<const std::byte*>(image.data()),
                                                     reinterpret_cast<const std::byte*>(image.data() + image.size() + 1));
                                 return result;
                               }});
    engine_ = make_engine(*pretended_, {std::size_t{64} << 20, 0}, *kernels_);
    session_.add_engine(engine_);
  }

  // The query's vertices run on the double; it has kernels to compile.
  template <class Q> void compiles(const char* what, const Q& q) {
    SCOPED_TRACE(what);
    const auto here = q.in(session_);
    EXPECT_NE(here.explain().find("gpu: "), std::string::npos) << here.explain();
    const int before = compiled_;
    EXPECT_NO_THROW((void)here.to_vector());
    EXPECT_GT(compiled_, before) << "the same kernels as before";
  }
  auto trades() { return query::from(trades_).as_accelerated(); }

  std::vector<Trade> trades_ = std::vector<Trade>(3000);
  std::vector<Symbol> symbols_ = std::vector<Symbol>(100);
  driver_double fake_;
  std::optional<device> pretended_;
  std::optional<kernel_cache> kernels_;
  std::shared_ptr<query::runtime::engine> engine_;
  query::Session session_{{.threads = 2, .gpu = query::gpu_use::off}};
  int compiled_ = 0;
};

TEST_F(generated_kernels, of_row_wise_verbs) {
  compiles("select", trades().select([](auto t) { return t.price * query::cast<double>(t.qty); }));
  compiles("where, select", trades().where([](auto t) { return t.qty > 3 && t.name == "IBM"; }).select([](auto t) {
    return query::make<Pair>(t.symbol, t.price);
  }));
  compiles("an optional", trades().where([](auto t) { return t.lot.has_value(); }).select([](auto t) { return t.lot; }));
  compiles("an array", trades().select([](auto t) { return t.x; }));
}

TEST_F(generated_kernels, of_orders) {
  const std::vector<Triple> rows(5000);
  const auto all = query::from(rows).as_accelerated();
  compiles("double", all.order_by([](auto t) { return t.b; }));
  compiles("descending, then by", all.order_by_descending([](auto t) { return t.a; }).then_by([](auto t) { return t.c; }));
  compiles("after where", all.where([](auto t) { return t.a > 1; }).order_by([](auto t) { return query::make<Pair>(t.a, t.b); }));
  compiles("top", all.order_by([](auto t) { return t.c; }).take(10));
}

TEST_F(generated_kernels, of_joins) {
  const auto symbols = query::from(symbols_);
  const auto id = [](auto s) { return s.id; };
  const auto symbol = [](auto t) { return t.symbol; };
  compiles("inner", trades().join(symbols, symbol, id, [](auto t, auto s) { return t.price * s.rate; }));
  compiles("left", trades().left_join(symbols, symbol, id,
                                      [](auto t, auto s) { return query::make<Pair>(t.symbol, s.has_value() ? s->rate : t.price); }));
  compiles("grouped", trades()
                          .join(symbols, symbol, id, [](auto t, auto s) { return query::make<Pair>(t.symbol, s.rate); })
                          .group_by([](auto p) { return p.a; })
                          .select([](auto g) { return g.sum([](auto p) { return p.b; }); }));
}

TEST_F(generated_kernels, of_folds) {
  const auto q = trades().select([](auto t) { return t.price; });
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  query::runtime::cancel_flag cancel;
  query::runtime::run_context context{*session_.state()->scheduler, session_.state()->pool, cancel};
  using query::detail::fold_kind;
  for (const fold_kind kind : {fold_kind::count, fold_kind::sum, fold_kind::min, fold_kind::max}) {
    ASSERT_TRUE(engine_->accepts_fold(g->result, g->captures, kind));
    query::detail::fold_state state;
    EXPECT_NO_THROW(engine_->fold(g->result, g->captures, kind, state, context));
  }
  EXPECT_EQ(compiled_, 4);
}

// All tiers, whatever a sample would say.
template <class Q> void group_programs_compile(const char* what, const Q& q) {
  SCOPED_TRACE(what);
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "", {.gpu_status = ""});
  for (const auto& v : g->vertices) {
    if (!v->node || v->node->what != query::detail::verb::group_by) continue;
    for (const group_program p : {group_program::sample, group_program::shared_thread, group_program::shared_warp,
                                  group_program::shared_block, group_program::partition_4, group_program::global}) {
      const group_kernels k = generate_group_kernels(*v, planned_layout(v->inputs.front(), group_fields(*v)), p);
      const bool atomics_only = p == group_program::shared_block || p == group_program::partition_4;
      if (atomics_only && !k.aggregates.atomic) continue;
      EXPECT_NO_THROW((void)compiler::find()->compile(k.source.text(), embedded_sources(), 90, {})) << "program " << static_cast<int>(p);
    }
  }
}

TEST_F(generated_kernels, of_groups) {
  group_programs_compile("sum", trades().group_by([](auto t) { return t.symbol; }).select([](auto g) {
    return std::make_tuple(g.key(), g.sum([](auto t) { return t.price; }));
  }));
  group_programs_compile(
      "all that atomics can", trades().where([](auto t) { return t.qty > 3; }).group_by([](auto t) { return t.lot; }).select([](auto g) {
        return std::make_tuple(g.key(), g.count(), g.mean([](auto t) { return t.weight; }), g.min([](auto t) { return t.price; }),
                               g.max([](auto t) { return t.level; }), g.min([](auto t) { return t.lot; }),
                               g.sum([](auto t) { return t.x; }), g.any([](auto t) { return t.hot; }), g.all([](auto t) { return t.hot; }));
      }));
  group_programs_compile("moments and firsts",
                         trades().group_by([](auto t) { return query::make<Triple>(t.symbol, t.price, t.qty); }).select([](auto g) {
                           return std::make_tuple(g.key(), g.stddev([](auto t) { return t.weight; }), g.first([](auto t) { return t.qty; }),
                                                  g.last([](auto t) { return t.qty; }));
                         }));
  // Sums of long arrays that lie in the input, behind a projection.
  const std::vector<Place> rows(100), middles(10);
  const auto places = query::from(rows).as_accelerated();
  const auto c = query::broadcast(middles);
  const auto near = places.select([c](auto p) {
    return std::pair(c.arg_min(p, [](auto p, auto m) { return query::squared_distance(p.x, m.x); }), p.x);
  });
  group_programs_compile("nearest", near.group_by([](auto a) { return a.first; }).select([](auto g) {
    return std::make_tuple(g.key(), g.sum([](auto a) { return a.second; }), g.count());
  }));
  group_programs_compile("names", trades().group_by([](auto t) { return t.name; }).select([](auto g) { return g.count(); }));
}

}  // namespace
