// What matrix.csv says of verbs that a GPU does not run, or that are easily taken for such, is what their plans say. It needs no GPU:
// plans are made for a device that is only pretended.
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <unistd.h>

#include "conformance/cpu_reasons.hpp"
#include "conformance/engines.hpp"
#include "conformance/rows.hpp"
#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/kernel_cache.hpp"

namespace conformance {
namespace {

using namespace query::gpu_engine;

std::vector<tick> halves(std::span<const tick> r) { return {r.begin(), r.begin() + static_cast<std::ptrdiff_t>(r.size() / 2)}; }

class gpu_reasons : public testing::Test {
 protected:
  gpu_reasons() { session_.add_engine(make_engine(pretended_, {std::size_t{64} << 20, 0}, kernels_)); }

  template <class Q> auto planned(const Q& q) { return q.in(session_).as_accelerated(); }
  auto rows() { return planned(query::from(rows_)).where([](auto t) { return t.price > 1; }); }
  auto numbers() { return planned(query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); })); }
  auto file() { return planned(query::read_csv<tick>(file_)); }

  // The plan of a query with the verb in it.
  std::string plan(std::string_view verb) {
    if (verb == "apply") return rows().apply(halves).explain();
    if (verb == "apply_all") return rows().apply_all(halves).explain();
    if (verb == "asof_join") {
      const auto key = [](auto t) { return t.key; };
      const auto time = [](auto t) { return t.amount; };
      return rows().asof_join(rows(), key, key, time, time).explain();
    }
    if (verb == "join_where")
      return rows().join_where(rows(), [](auto a, auto b) { return a.amount < b.amount; }).explain();
    if (verb == "over")
      return rows().over([](auto t) { return t.key; }).select([](const auto&, const auto& w) { return w.row_number(); }).explain();
    if (verb == "group_by.top") return rows().group_by([](auto t) { return t.key; }).top(2, [](auto t) { return t.price; }).explain();
    if (verb == "approx_count_distinct" || verb == "approx_quantile" || verb == "top_k_frequent")
      return rows().explain(verb, [](auto t) { return t.price; });
    if (verb == "of_type") return planned(query::from(variants_)).of_type<tick>().explain();
    if (verb == "try_count") return rows().explain();
    if (verb == "pivot")
      return rows().pivot([](auto t) { return t.key; }, [](auto t) { return t.id; }, std::array{1, 2}, [](auto g) { return g.count(); })
          .explain();
    if (verb == "generate") return numbers().where([](auto x) { return x > 3; }).explain();
    if (verb == "read_binary") return planned(query::read_binary<tick>(file_)).where([](auto t) { return t.price > 1; }).explain();
    if (verb == "read_json_lines") return planned(query::read_json_lines<tick>(file_)).where([](auto t) { return t.price > 1; }).explain();
    if (verb == "read_csv") return file().where([](auto t) { return t.price > 1; }).explain();
    if (verb == "verify") return rows().verify().explain();
    return rows().explain(verb == "end" ? "begin" : std::string(verb));
  }

  std::vector<tick> rows_ = std::vector<tick>(1000);
  std::vector<std::variant<tick, std::string>> variants_ = std::vector<std::variant<tick, std::string>>(1000);
  std::string file_ = testing::TempDir() + "query_gpu_reasons_" + std::to_string(::getpid()) + ".csv";
  driver_double fake_;
  device pretended_{fake_.calls(), 0};
  kernel_cache kernels_{{.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view, int) { return compiled{}; }}};
  query::Session session_{{.threads = 1, .gpu = query::gpu_use::off}};
};

bool says(const std::string& plan, const std::string& words) { return plan.find(words) != std::string::npos; }
// A vertex runs there.
bool there(const std::string& plan) { return says(plan, "  gpu: driver double"); }

TEST_F(gpu_reasons, every_verb_runs_there_or_has_one) {
  std::set<std::string_view> with_reason;
  for (const cpu_reason& r : cpu_reasons()) {
    EXPECT_TRUE(with_reason.insert(r.verb).second) << r.verb;
    EXPECT_TRUE(covered().contains(r.verb)) << r.verb << " is no verb that a test names";
    EXPECT_NE(r.text(), "") << r.verb;
    EXPECT_EQ(r.text().find(','), std::string::npos) << r.text();
  }
  for (const auto& [verb, tests] : covered())
    EXPECT_NE(on_the_gpu(verb), with_reason.contains(verb)) << verb << ": put it into one of the lists of engines.cpp";
}

TEST_F(gpu_reasons, are_the_words_of_plans) {
  query::from(rows_).write_csv(file_);
  for (const cpu_reason& r : cpu_reasons()) {
    const std::string text = plan(r.verb);
    // There, words about the variant's type follow.
    const std::string words(r.verb == "of_type" ? "" : r.plan);
    if (r.verb == "of_type") {
      EXPECT_TRUE(says(text, "cpu: not on gpu: the predicate of of_type is opaque: its rows are, or hold, values that are not traced"))
          << text;
    }
    EXPECT_TRUE(words.empty() || says(text, "cpu: not on gpu: " + words + "\n") || says(text, "cpu: " + words + "\n")) << r.verb << "\n"
                                                                                                                       << text;
    // What else is said of them: verbs beside them run there. Generators and functions with two forms are below.
    const bool below = r.verb == "generate" || r.verb == "apply" || r.verb == "apply_all";
    EXPECT_EQ(there(text), !r.beside.empty() && !below) << r.verb << "\n" << text;
  }
  std::remove(file_.c_str());
}

TEST_F(gpu_reasons, functions_with_a_form_for_it_run_there) {
  const auto g = query::on_gpu([](auto& r) { r.keep(0); });
  EXPECT_TRUE(there(rows().apply(halves, g).explain())) << rows().apply(halves, g).explain();
  EXPECT_TRUE(there(rows().apply_all(halves, g).explain())) << rows().apply_all(halves, g).explain();
}

// What one says of keys by oneself is the host's.
TEST_F(gpu_reasons, partitions_by_functions_of_the_users_stay_on_the_cpu) {
  const auto key = [](auto t) { return t.key; };
  const auto same = [](std::int32_t a, std::int32_t b) { return a == b; };
  const auto hash = [](std::int32_t a) { return static_cast<std::size_t>(a); };
  const auto less = [](std::int32_t a, std::int32_t b) { return a < b; };
  const std::string hashed = rows().hash_partitioned_by(key, 3, same, hash).apply(halves).explain();
  EXPECT_TRUE(says(hashed, "cpu: not on gpu: keys have an equality of the user's own")) << hashed;
  const std::string ranged = rows().range_partitioned_by(key, 3, less).apply(halves).explain();
  EXPECT_TRUE(says(ranged, "cpu: not on gpu: the order is the user's own function")) << ranged;
}

TEST_F(gpu_reasons, streams_are_read_there_by_what_wants_all_their_rows) {
  const auto groups = numbers().group_by([](auto x) { return x % 10; }).select([](auto g) { return std::make_pair(g.key(), g.count()); });
  EXPECT_TRUE(there(groups.explain())) << groups.explain();
  EXPECT_TRUE(there(numbers().order().explain())) << numbers().order().explain();
  const auto one = numbers().aggregate([](auto g) { return std::make_pair(g.count(), g.last([](auto x) { return x; })); });
  EXPECT_TRUE(there(one.explain())) << one.explain();
  const auto all_at_once = numbers().aggregate([](auto g) { return g.median([](auto x) { return x; }); });
  EXPECT_TRUE(says(all_at_once.explain(), "its rows come from a stream")) << all_at_once.explain();
  const auto g = query::planner::make_machine_graph(numbers().to_pipe(), "sum", {.gpu_status = ""});
  const auto e = make_engine(pretended_, {std::size_t{64} << 20, 0}, kernels_);
  const auto verdict = e->accepts(query::planner::fold_vertex(*g, query::detail::fold_kind::sum));
  EXPECT_TRUE(static_cast<bool>(verdict)) << verdict.why;
}

TEST_F(gpu_reasons, verbs_that_look_like_the_hosts_run_there) {
  const std::vector<std::int32_t> ids(1000);
  const std::vector<std::int64_t> amounts(1000);
  const std::vector<double> prices(1000);
  const auto columns = planned(query::from(query::columns<tick>(ids, ids, amounts, prices))).where([](auto t) { return t.price > 1; });
  EXPECT_TRUE(there(columns.explain())) << columns.explain();
  const auto key = [](auto t) { return t.key; };
  EXPECT_TRUE(there(rows().group_by(key).keys().explain())) << rows().group_by(key).keys().explain();
  EXPECT_TRUE(says(rows().explain("to_lookup", key), "to_lookup (group_by)")) << rows().explain("to_lookup", key);
  EXPECT_TRUE(there(rows().explain("to_lookup", key))) << rows().explain("to_lookup", key);
}

}  // namespace
}  // namespace conformance
