// An engine that finds a number that does not fit, and does not know in which row: the CPU finds the row, or that there is none.
#include <gtest/gtest.h>

#include <string>

#include <query/query.hpp>

#include "engine_double/second_engine.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query;
using engine_double::costs_for;
using engine_double::second_engine;

struct small {
  std::int64_t id;
  std::int32_t amount;
};
QUERY_RECORD(small, id, amount);

const auto made = [](auto x) { return make<small>(x, x * 1000); };

struct unknown_rows : testing::Test {
  std::shared_ptr<second_engine> second = std::make_shared<second_engine>(costs_for(0.4));
  Session session{{.threads = 4, .gpu = gpu_use::off}};
  std::vector<std::int64_t> rows;

  unknown_rows() : rows(300'000) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i % 1000);
    second->before = [](runtime::run_context&) { throw runtime::row_unknown("select: query::make: a number does not fit"); };
    session.add_engine(second);
  }
  auto query() { return from(rows).in(session).as_accelerated().select(made); }
  template <class F> static std::string thrown(F f) {
    try {
      f();
    } catch (const user_error& e) {
      return e.what();
    }
    return "nothing was thrown";
  }
  void names_the_row() {
    rows[200'000] = 4'000'000;
    const std::string row = "The row: {id: 4000000, amount: 4000000000}";
    EXPECT_NE(thrown([&] { (void)query().to_vector(); }).find(row), std::string::npos) << thrown([&] { (void)query().to_vector(); });
    const auto sum = thrown([&] { (void)query().sum([](auto r) { return r.amount; }); });
    EXPECT_NE(sum.find("4000000000 does not fit small.amount"), std::string::npos) << sum;
    // The CPU may come to the row before the other engine has begun its share.
    for (int again = 0; again < 50 && second->runs == 0; ++again) (void)thrown([&] { (void)query().to_vector(); });
    EXPECT_GE(second->runs, 1);
  }
};

TEST_F(unknown_rows, of_a_share_are_found_by_the_cpu) { names_the_row(); }

TEST_F(unknown_rows, of_a_whole_vertex_are_found_by_the_cpu) {
  second->takes_all = true;
  names_the_row();
}

TEST_F(unknown_rows, that_nobody_finds_leave_the_results_of_the_cpu) {
  for (const bool all : {false, true}) {
    second->takes_all = all;
    EXPECT_EQ(query().to_vector().size(), rows.size());
    EXPECT_EQ(query().sum([](auto r) { return r.amount; }), 300 * 499'500'000ll);
  }
  EXPECT_EQ(session.state()->history.fallbacks().first, 0u) << "the engine did not fail";
}

}  // namespace
