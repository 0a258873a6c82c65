// What matrix.csv says that a GPU runs, its plans place there: for each verb a plan, made for a device that is only pretended. Whether
// the results are right the conformance tests show on a GPU.
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <query/run_all.hpp>

#include "conformance/cpu_reasons.hpp"
#include "conformance/engines.hpp"
#include "conformance/rows.hpp"
#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/kernel_cache.hpp"
#include "runtime/session_state.hpp"

namespace conformance {
namespace {

using namespace query::gpu_engine;

const auto key = [](auto t) { return t.key; };
const auto price = [](auto t) { return t.price; };
const auto amount = [](auto t) { return t.amount; };
const auto dear = [](auto t) { return t.price > 1; };
const auto counted = [](auto g) { return std::make_pair(g.key(), g.count()); };
const auto both = [](auto a, auto b) { return a.amount + b.amount; };

class gpu_plans : public testing::Test {
 protected:
  gpu_plans() {
    session_.state()->take_gpu(make_engine(pretended_, {std::size_t{64} << 20, 0}, kernels_));
    keyed();
    sequence();
    terminals();
    words();
  }

  auto rows() { return query::from(rows_).in(session_).as_accelerated(); }
  auto dear_rows() { return rows().where(dear); }
  auto numbers() { return rows().select(amount); }

  // One verb, by a query that has it.
  template <class F> void plan(const char* verb, F f) {
    EXPECT_TRUE(plans_.emplace(verb, [f] { return f().explain(); }).second) << verb;
  }
  template <class F> void text(const char* verb, F f) { EXPECT_TRUE(plans_.emplace(verb, f).second) << verb; }

  void keyed() {
    plan("group_by", [this] { return rows().group_by(key).select(counted); });
    plan("group_by.select", [this] { return rows().group_by(key).select([](auto g) { return g.sum([](auto t) { return t.price; }); }); });
    plan("group_by.count", [this] { return rows().group_by(key).count(); });
    plan("group_by.keys", [this] { return rows().group_by(key).keys(); });
    plan("group_by.groups", [this] { return rows().group_by(key).groups(); });
    plan("count_by", [this] { return rows().count_by(key); });
    plan("aggregate_by", [this] {
      return rows().aggregate_by(key, std::int64_t{0}, [](auto s, auto t) { return s + t.amount; }, [](auto a, auto b) { return a + b; });
    });
    plan("aggregate", [this] { return rows().aggregate([](auto g) { return g.sum([](auto t) { return t.amount; }); }); });
    plan("order_by", [this] { return rows().order_by(price); });
    plan("order_by_descending", [this] { return rows().order_by_descending(price); });
    plan("then_by", [this] { return rows().order_by(key).then_by(price); });
    plan("then_by_descending", [this] { return rows().order_by(key).then_by_descending(price); });
    plan("order", [this] { return numbers().order(); });
    plan("order_descending", [this] { return numbers().order_descending(); });
    plan("top", [this] { return rows().top(5, price); });
    const auto either = [](auto a, auto b) { return query::iff(a.has_value(), a->amount, 0) + query::iff(b.has_value(), b->amount, 0); };
    const auto maybe = [](auto a, auto b) { return a.amount + query::iff(b.has_value(), b->amount, 0); };
    plan("join", [this] { return rows().join(dear_rows(), key, key, both); });
    plan("left_join", [this, maybe] { return rows().left_join(dear_rows(), key, key, maybe); });
    plan("right_join", [this] {
      return rows().right_join(rows(), key, key, [](auto a, auto b) { return b.amount + query::iff(a.has_value(), a->amount, 0); });
    });
    plan("full_join", [this, either] { return rows().full_join(rows(), key, key, either); });
    plan("semi_join", [this] { return rows().semi_join(dear_rows(), key, key); });
    plan("anti_join", [this] { return rows().anti_join(dear_rows(), key, key); });
    plan("cross_join", [this] { return rows().cross_join(rows(), both); });
    plan("group_join", [this] {
      return rows().group_join(rows(), key, key,
                               [](auto t, auto own) { return t.amount + query::sum(own, [](auto o) { return o.amount; }); });
    });
    plan("group_by.distinct", [this] { return rows().group_by(key).distinct(); });
    plan("group_by.distinct_by", [this] { return rows().group_by(key).distinct_by(price); });
    plan("group_by.elements", [this] { return rows().group_by(key).elements(price); });
    plan("distinct", [this] { return numbers().distinct(); });
    plan("distinct_by", [this] { return rows().distinct_by(key); });
    plan("union_with", [this] { return numbers().union_with(numbers()); });
    plan("union_with_by", [this] { return rows().union_with_by(rows(), key); });
    plan("intersect", [this] { return numbers().intersect(numbers()); });
    plan("intersect_by", [this] { return rows().intersect_by(rows(), key); });
    plan("except", [this] { return numbers().except(numbers()); });
    plan("except_by", [this] { return rows().except_by(rows(), key); });
  }

  void sequence() {
    plan("where", [this] { return dear_rows(); });
    plan("select", [this] { return rows().select(price); });
    plan("select_many", [this] {
      return rows().select_many([](auto t) { return std::array{t.amount / 1, t.amount / 3}; });
    });
    plan("as_dynamic", [this] { return rows().as_dynamic().where("price > 3").order_by("price"); });
    plan("unpivot", [this] { return rows().unpivot(key, query::field(1, amount), query::field(2, price)); });
    plan("index", [this] { return dear_rows().index(); });
    plan("values", [this] { return query::from(lots_).in(session_).as_accelerated().values(); });
    plan("as_type", [this] { return numbers().as_type<double>(); });
    plan("take", [this] { return dear_rows().take(10).order_by(price); });
    plan("skip", [this] { return dear_rows().skip(10); });
    plan("take_last", [this] { return dear_rows().take_last(10); });
    plan("skip_last", [this] { return dear_rows().skip_last(10); });
    plan("slice", [this] { return dear_rows().slice(1, -1); });
    plan("shuffle", [this] { return rows().shuffle(3); });
    plan("sequence", [this] { return query::sequence(0, 9000, 3).in(session_).as_accelerated().order_descending(); });
    plan("take_while", [this] { return rows().take_while(dear); });
    plan("skip_while", [this] { return rows().skip_while(dear); });
    plan("default_if_empty", [this] { return dear_rows().default_if_empty(); });
    plan("concat", [this] { return rows().concat(rows()); });
    plan("append", [this] { return numbers().append(std::int64_t{3}); });
    plan("prepend", [this] { return numbers().prepend(std::int64_t{3}); });
    plan("reverse", [this] { return rows().reverse(); });
    plan("sample", [this] { return rows().sample(10, 1); });
    plan("zip", [this] { return rows().zip(rows(), both); });
    plan("chunk", [this] { return numbers().chunk(3); });
    plan("window", [this] { return numbers().window(3, [](auto run) { return query::sum(run); }); });
    // Made for an apply: its form for the GPU runs on each of them.
    const auto there = query::on_gpu([](auto& r) { r.keep(0); });
    const auto here = [](std::span<const tick> r) { return std::vector<tick>(r.begin(), r.end()); };
    plan("partitioned", [=, this] { return dear_rows().partitioned(3).apply(here, there); });
    plan("hash_partitioned_by", [=, this] { return rows().hash_partitioned_by(key, 3).apply(here, there); });
    plan("range_partitioned_by", [=, this] { return rows().range_partitioned_by(key, 3).apply(here, there); });
    plan("range", [this] { return query::range(std::int64_t{0}, std::int64_t{1000}).in(session_).as_accelerated().order_descending(); });
    plan("repeat", [this] { return query::repeat(std::int64_t{3}, 1000).in(session_).as_accelerated().distinct(); });
    plan("empty", [this] { return query::empty<tick>().in(session_).as_accelerated().order_by(price); });
    plan("do_while", [this] {
      return numbers().do_while([](auto q) { return q.select([](auto x) { return x + 1; }); }, query::times(3));
    });
    plan("broadcast", [this] {
      return rows().select([t = query::broadcast(rows_)](auto r) { return t.sum(r, [](auto r, auto o) { return r.amount + o.amount; }); });
    });
  }

  void terminals() {
    for (const char* verb : {"count", "to_vector", "first", "first_or_none", "first_or_default", "last", "last_or_none", "last_or_default",
                             "single", "single_or_default", "any"})
      text(verb, [this, verb] { return dear_rows().explain(verb); });
    for (const char* verb : {"sum", "min", "max", "average", "mean"}) text(verb, [this, verb] { return numbers().explain(verb); });
    for (const char* verb : {"min_by", "max_by"}) text(verb, [this, verb] { return rows().explain(verb, price); });
    for (const char* verb : {"element_at", "element_at_or_default"}) text(verb, [this, verb] { return dear_rows().explain(verb, 5); });
    text("all", [this] { return rows().explain("all", dear); });
    text("contains", [this] { return numbers().explain("contains", std::int64_t{5}); });
    text("sequence_equal", [this] { return dear_rows().explain("sequence_equal"); });
    text("reduce", [this] { return rows().aggregate([](auto g) { return g.max([](auto t) { return t.price; }); }).explain(); });
    text("to_pivot", [this] {  // what it does before it puts the groups into its table
      return rows().group_by([](auto t) { return std::pair(t.key, t.id); }).as_ordered().select(counted).explain();
    });
    text("to_lookup", [this] { return rows().explain("to_lookup", key); });
    text("run_all", [this] { return query::together(dear_rows().order_by(price), rows().group_by(key).select(counted)).explain(); });
    plan("value_of", [this] { return query::value_of(numbers()).sum(); });
  }

  // About how and where: their queries run there as others do.
  void words() {
    plan("as_accelerated", [this] { return dear_rows(); });
    plan("as_ordered", [this] { return rows().group_by(key).select(counted).as_ordered(); });
    plan("cached", [this] { return dear_rows().cached(); });
    plan("checkpoint", [this] { return dear_rows().checkpoint("dear"); });
    plan("named", [this] { return dear_rows().named("dear"); });
    plan("from", [this] { return dear_rows(); });
    plan("Query", [this] { return query::Query<tick>(dear_rows()); });
    plan("as_query", [this] { return dear_rows().as_query(); });
    plan("accelerated", [this] {
      const query::device_function f{.symbol = "f", .code = "extern \"C\" __device__ double f(const tick* t) { return t->price; }"};
      return rows().select(query::accelerated([](const tick& t) { return t.price; }, f));
    });
    plan("on", [this] { return rows().order_by(price).on(query::engine::gpu); });
    plan("times", [this] { return numbers().do_while([](auto q) { return q.select([](auto x) { return x + 1; }); }, query::times(2)); });
    plan("require_gpu", [this] { return dear_rows().require_gpu(); });
    plan("fast_math", [this] { return dear_rows().fast_math(); });
    plan("in", [this] { return dear_rows().in(session_); });
    plan("timeout", [this] { return dear_rows().timeout(3600.0); });
    plan("stop_on", [this] { return dear_rows().stop_on(stop_.get_token()); });
    plan("on_progress", [this] { return dear_rows().on_progress([](auto) {}); });
    plan("explain", [this] { return dear_rows(); });
    text("explain_dot", [this] { return dear_rows().explain_dot(); });
    text("explain_json", [this] { return dear_rows().explain_json(); });
    plan("columns", [this] {
      return query::from(query::columns<tick>(ids_, ids_, amounts_, prices_)).in(session_).as_accelerated().where(dear);
    });
  }

  std::vector<tick> rows_ = std::vector<tick>(1000);
  std::vector<std::int32_t> ids_ = std::vector<std::int32_t>(1000);
  std::vector<std::int64_t> amounts_ = std::vector<std::int64_t>(1000);
  std::vector<std::optional<std::int64_t>> lots_ = std::vector<std::optional<std::int64_t>>(1000);
  std::vector<double> prices_ = std::vector<double>(1000);
  std::stop_source stop_;
  driver_double fake_;
  device pretended_{fake_.calls(), 0};
  kernel_cache kernels_{{.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view, int) { return compiled{}; }}};
  query::Session session_{{.threads = 1}};
  std::map<std::string, std::function<std::string()>, std::less<>> plans_;
};

TEST_F(gpu_plans, place_every_verb_of_the_gpus_column_there) {
  for (const auto& [verb, tests] : covered()) {
    if (!on_the_gpu(verb) || verb == "fork" || verb == "report") continue;  // these have no plan: the queries that they run have
    SCOPED_TRACE(verb);
    const auto found = plans_.find(verb);
    if (found == plans_.end()) {
      ADD_FAILURE() << "no plan: add one above";
      continue;
    }
    const std::string text = found->second();
    // Other forms than text name the engine apart from the device.
    const char* there = verb == "explain_dot" ? "\\ngpu\"" : verb == "explain_json" ? "\"engine\": \"gpu\"" : "gpu: driver double";
    EXPECT_NE(text.find(there), std::string::npos) << text;
    EXPECT_EQ(text.find("not on gpu"), std::string::npos) << text;
    EXPECT_EQ(text.find("rows: cpu"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace conformance
