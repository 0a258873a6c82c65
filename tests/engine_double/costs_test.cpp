// An engine with costs of its own: it is placed by them and the CPU engine's, whatever kind of engine it is.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "runtime/cpu_costs.hpp"
#include "runtime/local_engine.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::runtime;

class priced_engine final : public engine, public cost_model {
 public:
  double price = 1e-3;
  missing_code code;
  std::string refusal;
  mutable int accepted = 0;

  std::string_view name() const override { return "priced"; }
  std::string refuses(const query::planner::vertex&) const override { return refusal; }
  verdict accepts(const query::planner::vertex& v) const override {
    ++accepted;
    if (!v.node || v.node->what != query::detail::verb::order_by) return {false, "sorts alone"};
    return {.yes = true, .why = "a device", .notes = "; noted"};
  }
  const cost_model* costs() const override { return this; }
  std::unique_ptr<running_vertex> start(const query::planner::vertex& v, std::span<input_port* const> inputs, output_port& output,
                                        run_context& context) override {
    return cpu_->start(v, inputs, output, context);
  }

  bool known() const override { return price > 0; }
  double seconds(const work&, const work_terms& = {}) const override { return price; }
  double brought(double) const override { return 0; }
  missing_code to_compile(const query::planner::vertex&, const work&) const override { return code; }

 private:
  std::unique_ptr<local_engine> cpu_ = make_cpu_engine();
};

struct engine_costs : testing::Test {
  engine_costs() {
    session.add_engine(other);
    host_rates r;
    r.host_memory = 100e9;
    r.start = 20e-6;
    r.plain_operation = r.call = 1e-9;
    r.row.fill(500e-9);  // 20,000 rows are sorted in 10 ms
    session.state()->cpu->expects([r] { return &r; });
  }
  auto sorted() { return query::from(rows).in(session).order(); }
  bool says(const std::string& what) { return sorted().explain().find(what) != std::string::npos; }

  const std::vector<double> rows = std::vector<double>(20'000, 1.5);
  std::shared_ptr<priced_engine> other = std::make_shared<priced_engine>();
  query::Session session{{.threads = 2, .gpu = query::gpu_use::off}};
};

TEST_F(engine_costs, decide_beside_those_of_the_cpu) {
  EXPECT_TRUE(says("priced: a device: 1.0 ms here, 10 ms on the CPU; noted")) << sorted().explain();
  other->price = 0.1;
  EXPECT_TRUE(says("cpu: not on priced: 100 ms there, 10 ms here\n")) << sorted().explain();
}

TEST_F(engine_costs, that_nobody_knows_leave_the_engine_what_it_accepts) {
  other->price = 0;
  EXPECT_TRUE(says("priced: a device; noted")) << sorted().explain();
  other->price = 0.1;
  session.state()->cpu->expects([] { return nullptr; });
  EXPECT_TRUE(says("priced: a device; noted")) << sorted().explain();
}

TEST_F(engine_costs, are_asked_before_code_is_looked_up_where_the_cpu_is_quick) {
  const std::vector<double> few(100, 1.5);
  const auto q = query::from(few).in(session).order();
  EXPECT_NE(q.explain().find("cpu: not on priced: 1.0 ms there, "), std::string::npos) << q.explain();
  EXPECT_EQ(other->accepted, 0);
  other->refusal = "closed";
  EXPECT_TRUE(says("cpu: not on priced: closed")) << sorted().explain();
  EXPECT_EQ(other->accepted, 0);
}

// 9 ms are saved by each run: the third pays for 25 ms.
TEST_F(engine_costs, of_compiling_are_paid_when_runs_have_lost_as_much) {
  other->code = {25e-3, "a sort"};
  const std::string refused = "not on priced: 1.0 ms there and 25 ms to compile it, 10 ms here";
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(says(refused)) << "looking costs nothing";
  for (int run = 0; run < 2; ++run) {
    EXPECT_FALSE(says("priced: a device")) << run;
    (void)sorted().to_vector();
  }
  EXPECT_TRUE(says("priced: a device")) << sorted().explain();
  // Once it was compiled, what was lost is forgotten.
  other->code.seconds = 0;
  (void)sorted().to_vector();
  other->code.seconds = 25e-3;
  EXPECT_FALSE(says("priced: a device")) << sorted().explain();
}

}  // namespace
