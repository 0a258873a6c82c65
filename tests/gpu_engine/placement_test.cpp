// Where vertices run, and why: costs from fixed rates, the work that plans are judged to be, plans under those rates.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/fixed_rates.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/costs/calibration.hpp"
#include "gpu_engine/costs/gpu_costs.hpp"
#include "gpu_engine/plans_of_runs.hpp"
#include "gpu_engine/temporary_folder.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/executor.hpp"
#include "runtime/session_state.hpp"
#include "runtime/thread_pool.hpp"

namespace {

using namespace query::gpu_engine;

struct Trade {
  std::int32_t symbol;
  std::int32_t qty;
  double price;
};
QUERY_RECORD(Trade, symbol, qty, price);

work scan_of(double rows) { return {rows * 8, rows * 16, 0, 0, {{operation::row_wise, rows, rows * 8, 5}, {operation::collect, 1, 0, 0}}}; }
work sort_of(double rows) { return {rows * 16, rows * 16, rows * 16, 0, {{operation::sort, rows, rows * 32, 0}}}; }

TEST(placement_costs, grow_with_rows_and_bytes) {
  const rates r = fixed_rates();
  for (const auto make : {scan_of, sort_of})
    for (double rows = 1000; rows < 1e10; rows *= 1.7) {
      EXPECT_LT(gpu_seconds(r, make(rows)), gpu_seconds(r, make(rows * 1.7)));
      EXPECT_LE(cpu_seconds(r, make(rows)), cpu_seconds(r, make(rows * 1.7)));
    }
  work w = sort_of(1e6);
  const double before = gpu_seconds(r, w);
  w.down *= 2;
  EXPECT_GT(gpu_seconds(r, w), before);
  const double here = cpu_seconds(r, w);
  w.on_device = 1e8;
  EXPECT_GT(cpu_seconds(r, w), here) << "rows on the device must be fetched for the CPU";
}

TEST(placement_costs, of_faster_parts_are_less) {
  const work w{8e8, 8e8, 1e8, 1e6, {{operation::row_wise, 1e8, 8e8, 50}, {operation::group, 1e8, 8e8, 0}}};
  const rates r = fixed_rates();
  for (double rates::*speed : {&rates::up, &rates::down, &rates::device_memory}) {
    rates faster = r;
    faster.*speed *= 4;
    EXPECT_LT(gpu_seconds(faster, w), gpu_seconds(r, w));
  }
  rates slower = r;
  slower.launch *= 10;
  EXPECT_GT(gpu_seconds(slower, w), gpu_seconds(r, w));
  work here = w;
  here.on_device = 0;  // nothing to fetch
  EXPECT_EQ(cpu_seconds(slower, here), cpu_seconds(r, here));
  slower = r;
  for (double& x : slower.row) x *= 10;
  EXPECT_GT(cpu_seconds(slower, w), cpu_seconds(r, w));
}

TEST(placement_costs, leave_one_pass_over_host_rows_here_and_send_large_sorts_away) {
  const rates r = fixed_rates();
  EXPECT_GT(gpu_seconds(r, scan_of(1e5)), cpu_seconds(r, scan_of(1e5)));
  EXPECT_LT(gpu_seconds(r, sort_of(1e8)), cpu_seconds(r, sort_of(1e8)));
  EXPECT_GT(gpu_seconds(r, sort_of(1e4)), cpu_seconds(r, sort_of(1e4)));
  work there = scan_of(1e8);
  there.on_device = there.on_host;
  there.up = there.on_host = 0;
  EXPECT_LT(gpu_seconds(r, there), cpu_seconds(r, there));
}

TEST(placement_costs, count_the_threads_that_few_rows_leave_idle) {
  rates r = fixed_rates();
  const work few{0, 0, 0, 0, {{operation::group, 1 << 16, 0, 0}}}, many{0, 0, 0, 0, {{operation::group, 1 << 24, 0, 0}}};
  const double one_thread = cpu_seconds(r, few), all = cpu_seconds(r, many);
  r.threads = 16;
  EXPECT_GT(cpu_seconds(r, few), 3 * one_thread);
  EXPECT_EQ(cpu_seconds(r, many), all);
}

TEST(placement_costs, are_shown_in_the_unit_that_fits) {
  EXPECT_EQ(shown_seconds(12e-6), "12 us");
  EXPECT_EQ(shown_seconds(1.24e-3), "1.2 ms");
  EXPECT_EQ(shown_seconds(0.0404), "40 ms");
  EXPECT_EQ(shown_seconds(3.41), "3.4 s");
}

TEST(placement_rates, survive_their_text_and_nonsense_does_not) {
  const rates r = fixed_rates();
  const auto again = rates_from(text_of(r));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->up, r.up);
  EXPECT_EQ(again->start, r.start);
  EXPECT_EQ(again->row, r.row);
  EXPECT_FALSE(rates_from(""));
  EXPECT_FALSE(rates_from("up 1\n"));
  EXPECT_FALSE(rates_from("no numbers"));
  rates bad = r;
  bad.down = 0;
  EXPECT_FALSE(rates_from(text_of(bad)));
  bad.down = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(rates_from(text_of(bad)));
}

class placement_plans : public testing::Test {
 protected:
  void SetUp() override {
    fake_.allow_unknown_kernels();
    engine_ = make_engine(device_, {std::size_t{256} << 20, 0}, kernels_);
    session_.add_engine(engine_);
    expect_rates(fixed_rates(), *engine_, session_);
  }
  auto trades(std::size_t n) {
    rows_.resize(n, Trade{1, 2, 3.0});
    return query::from(rows_).as_accelerated().in(session_);
  }
  static std::string engine_line(const std::string& plan, const std::string& verb) {
    for (std::size_t at = 0; at < plan.size();) {
      const std::size_t end = std::min(plan.find('\n', at), plan.size());
      const std::string line = plan.substr(at, end - at);
      if (const std::size_t v = line.find(verb); v != std::string::npos && line.find("pu: ", v) != std::string::npos)
        return line.substr(line.find("pu: ", v) - 1);
      at = end + 1;
    }
    return "none in\n" + plan;
  }

  std::vector<Trade> rows_;
  driver_double fake_;
  device device_{fake_.calls(), 0};
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  std::shared_ptr<query::runtime::engine> engine_;
  query::Session session_{{.threads = 2, .gpu = query::gpu_use::off}};
};

const auto by_price = [](auto t) { return t.price; };

TEST_F(placement_plans, name_both_times) {
  EXPECT_EQ(engine_line(trades(4000000).order_by(by_price).explain(), "order_by"),
            "gpu: " + device_.name() + ": 3.2 ms here, 21 ms on the CPU");
  EXPECT_EQ(engine_line(trades(1000).order_by(by_price).explain(), "order_by"), "cpu: not on gpu: 321 us there, 25 us here");
}

TEST_F(placement_plans, know_that_the_first_few_rows_need_no_sort_on_the_cpu) {
  EXPECT_EQ(engine_line(trades(4000000).order_by(by_price).take(10).explain(), "order_by").substr(0, 4), "cpu:");
}

TEST_F(placement_plans, obey_orders_against_the_model) {
  const std::string forced = engine_line(trades(1000).order_by(by_price).on(query::engine::gpu).explain(), "order_by");
  EXPECT_EQ(forced, "gpu: " + device_.name() + ", as on(engine::gpu) orders for order_by");
  EXPECT_EQ(engine_line(trades(1000).order_by(by_price).require_gpu().explain(), "order_by"), "gpu: " + device_.name());
  EXPECT_EQ(engine_line(trades(4000000).order_by(by_price).on(query::engine::cpu).explain(), "order_by"),
            "cpu: on(engine::cpu) after order_by");
}

// What the executor says when the GPU refuses the fold of a query's rows.
template <class Q> std::string said_of_fold(const Q& q) {
  const auto g = query::planner::make_machine_graph(q.to_pipe(), "count", {.gpu_status = ""});
  try {
    query::runtime::check_orders_of_result(g->result, "the reason");
  } catch (const query::user_error& e) {
    const std::string text = e.what();
    return text.substr(0, text.find(';'));
  }
  return "nothing";
}

TEST_F(placement_plans, demand_the_gpu_for_what_a_terminal_verb_folds) {
  const auto large = [](const Trade& t) { return t.qty > 1; };
  const auto demanded = trades(1000).require_gpu();
  EXPECT_EQ(said_of_fold(demanded.where(large)), "require_gpu: where runs on the CPU: the reason");
  EXPECT_EQ(said_of_fold(demanded.where(large).select([](auto t) { return t.qty; })), "require_gpu: select runs on the CPU: the reason");
  EXPECT_EQ(said_of_fold(trades(1000).where(large).require_gpu()), "require_gpu: where runs on the CPU: the reason");
  EXPECT_EQ(said_of_fold(demanded).substr(0, 13), "require_gpu: ");
  EXPECT_EQ(said_of_fold(trades(1000).where(large)), "nothing");
}

TEST_F(placement_plans, demand_the_gpu_for_the_joins_of_what_a_terminal_verb_folds) {
  const auto symbol = [](auto t) { return t.symbol; };
  const auto sum = [](const Trade& a, const Trade& b) { return a.qty + b.qty; };
  const std::vector<Trade> few(1000, Trade{1, 2, 3.0});
  const auto others = query::from(few).in(session_);
  EXPECT_EQ(said_of_fold(trades(1000).join(others, symbol, symbol, sum).require_gpu()), "require_gpu: join runs on the CPU: the reason");
  EXPECT_EQ(said_of_fold(trades(1000).join(others, symbol, symbol, sum)), "nothing");
}

TEST_F(placement_plans, orders_overrule_the_least_number_of_rows) {
  query::Session session({.threads = 2, .gpu = query::gpu_use::off});
  session.add_engine(make_engine(device_, {std::size_t{256} << 20, 5000}, kernels_));
  const auto q = trades(1000).in(session).order_by(by_price);
  EXPECT_NE(q.explain().find("its 1000 rows cost less on the CPU"), std::string::npos);
  EXPECT_EQ(engine_line(q.on(query::engine::gpu).explain(), "order_by"),
            "gpu: " + device_.name() + ", as on(engine::gpu) orders for order_by");
}

TEST_F(placement_plans, charge_for_kernels_until_the_cpu_has_lost_as_much) {
  const temporary_folder folder;
  costs_of(*engine_).kernels().keep_in(disk_cache(folder.path()), "a device", kernels_);
  const auto q = trades(1000000).order_by(by_price);  // saves 4 ms; 350 ms to compile
  int refused = 0;
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(engine_line(q.explain(), "order_by"), "cpu: not on gpu: 1.0 ms there and 350 ms to compile it, 5.2 ms here") << "looking";
  while (refused < 200 && engine_line(plan_of_run(q, session_), "order_by").starts_with("cpu:")) ++refused;
  EXPECT_NEAR(refused, 350 / 4.2, 4);
}

TEST_F(placement_plans, do_not_charge_for_kernels_that_ran) {
  const temporary_folder folder;
  costs_of(*engine_).kernels().keep_in(disk_cache(folder.path()), "a device", kernels_);
  const auto sorted = [&](const query::Session& s, std::int32_t least) {
    trades(4000000);
    return query::from(rows_).as_accelerated().in(s).where([least](auto t) { return t.qty > least; }).order_by(by_price);
  };
  EXPECT_EQ(engine_line(sorted(session_, 1).explain(), "order_by").substr(0, 4), "cpu:");
  (void)sorted(session_, 1).on(query::engine::gpu).to_vector();
  EXPECT_EQ(engine_line(sorted(session_, 2).explain(), "order_by").substr(0, 4), "gpu:") << "another capture, the same kernels";
  // Another process finds that in the folder.
  query::Session later({.threads = 2, .gpu = query::gpu_use::off});
  const auto engine = make_engine(device_, {std::size_t{256} << 20, 0}, kernels_);
  expect_rates(fixed_rates(), *engine, later);
  costs_of(*engine).kernels().keep_in(disk_cache(folder.path()), "a device", kernels_);
  later.add_engine(engine);
  EXPECT_EQ(engine_line(sorted(later, 3).explain(), "order_by").substr(0, 4), "gpu:");
}

TEST_F(placement_plans, know_kernels_by_their_sources_and_not_by_their_place) {
  const temporary_folder folder;
  costs_of(*engine_).kernels().keep_in(disk_cache(folder.path()), "a device", kernels_);
  const auto sorted = [&](auto key) { return trades(4000000).order_by(key); };  // one place
  const auto engine_of = [&](const auto& q) { return engine_line(q.explain(), "order_by").substr(0, 4); };
  (void)sorted(by_price).on(query::engine::gpu).to_vector();
  EXPECT_EQ(engine_of(sorted(by_price)), "gpu:");
  EXPECT_EQ(engine_of(sorted([](auto t) { return std::tuple(t.qty, t.symbol); })), "cpu:") << "other kernels at the same place";
  EXPECT_EQ(engine_of(trades(4000000).order_by([](auto t) { return t.price; })), "gpu:") << "the same kernels at another";
}

// The passes are there from another sort.
TEST_F(placement_plans, charge_a_new_sort_for_its_own_kernels_only) {
  const temporary_folder folder;
  costs_of(*engine_).kernels().keep_in(disk_cache(folder.path()), "a device", kernels_);
  const auto line = [&] { return engine_line(trades(1000000).order_by([](auto t) { return t.price * t.price; }).explain(), "order_by"); };
  EXPECT_NE(line().find("350 ms to compile"), std::string::npos) << line();
  (void)trades(1000).order_by(by_price).on(query::engine::gpu).to_vector();
  EXPECT_NE(line().find("110 ms to compile"), std::string::npos) << line();
}

TEST_F(placement_plans, know_the_kernels_of_folds_too) {
  const temporary_folder folder;
  costs_of(*engine_).kernels().keep_in(disk_cache(folder.path()), "a device", kernels_);
  expect_rates([] {
    rates r = fixed_rates();
    r.row[static_cast<std::size_t>(operation::row_wise)] = 0.1e-9;  // few cores
    return r;
  }(), *engine_, session_);
  const auto heavy = trades(2000000).select(
      [](auto t) { return query::exp(query::sin(t.price) * query::cos(t.price)) + query::sqrt(t.price); });
  const auto sum = query::detail::fold_kind::sum;
  const auto accepted = [&] {  // in a plan of its own
    const auto g = query::planner::make_machine_graph(heavy.to_pipe(), "sum", {.gpu_status = ""});
    query::runtime::compile_debts::of_plan saved;
    return static_cast<bool>(query::runtime::weighing(*engine_, *session_.state(), saved).asked(query::planner::fold_vertex(*g, sum)));
  };
  EXPECT_FALSE(accepted());
  const auto g = query::planner::make_machine_graph(heavy.on(query::engine::gpu).to_pipe(), "sum", {.gpu_status = ""});
  const auto fold = query::planner::fold_vertex(*g, sum);
  ASSERT_TRUE(engine_->accepts(fold));
  query::runtime::cancel_flag cancel;
  query::runtime::run_context context{*session_.state()->scheduler, session_.state()->pool, cancel};
  (void)query::runtime::run_on(*engine_, fold, *session_.state()->cpu, context);
  EXPECT_TRUE(accepted());
}

TEST_F(placement_plans, charge_again_for_kernels_that_are_gone) {
  const temporary_folder folder, compiled;
  const auto compile = [](std::string_view source, int) { return image_of(source); };
  const auto planned = [&](bool run) {
    kernel_cache kernels({.headers = {}, .options = {}, .folder = compiled.path(), .compile = compile});
    query::Session session({.threads = 2, .gpu = query::gpu_use::off});
    const auto engine = make_engine(device_, {std::size_t{256} << 20, 0}, kernels);
    expect_rates(fixed_rates(), *engine, session);
    costs_of(*engine).kernels().keep_in(disk_cache(folder.path()), "a device", kernels);
    session.add_engine(engine);
    const auto q = trades(4000000).in(session).order_by(by_price);
    if (run) (void)q.on(query::engine::gpu).to_vector();
    return engine_line(q.explain(), "order_by").substr(0, 4);
  };
  EXPECT_EQ(planned(false), "cpu:");
  EXPECT_EQ(planned(true), "gpu:");
  EXPECT_EQ(planned(false), "gpu:") << "another process: the kernels are in the folder";
  std::filesystem::remove_all(compiled.path());
  EXPECT_EQ(planned(false), "cpu:") << "they were removed";
}

TEST_F(placement_plans, weigh_the_first_rows_by_what_must_be_looked_at) {
  const auto host = trades(4000000);
  EXPECT_EQ(engine_line(host.explain("first"), "first").substr(0, 4), "cpu:") << host.explain("first");
  const auto there = host.cached();
  const auto found = there.where([](auto t) { return t.qty > 1; });
  EXPECT_EQ(engine_line(found.explain("any"), "any").substr(0, 4), "gpu:") << found.explain("any");
}

TEST_F(placement_plans, keep_work_where_its_rows_lie) {
  // A pass over rows of the host stays; over rows that the device has it is cheap there.
  const auto pass = [](const auto& q) {
    return q.where([](auto t) { return t.qty > 1; }).group_by([](auto t) { return t.price > 1.0; }).select([](auto g) {
      return g.count();
    });
  };
  const auto host = trades(3000000);
  expect_rates([] {
    rates r = fixed_rates();
    r.row[static_cast<std::size_t>(operation::group)] = r.row[static_cast<std::size_t>(operation::group_few)] = 0.2e-9;
    return r;
  }(), *engine_, session_);
  EXPECT_EQ(engine_line(pass(host).explain(), "group_by").substr(0, 4), "cpu:") << pass(host).explain();
  const auto there = host.cached();
  EXPECT_EQ(engine_line(there.explain(), "cached"), "gpu: " + device_.name()) << "what is cached is for queries to come";
  EXPECT_EQ(engine_line(pass(there).explain(), "group_by").substr(0, 4), "gpu:") << pass(there).explain();
}

// The values of a group are sorted for its median; costly arguments and many aggregates are work as any other.
TEST_F(placement_plans, count_what_aggregates_do) {
  expect_rates([] {
    rates r = fixed_rates();
    r.row[static_cast<std::size_t>(operation::group)] = r.row[static_cast<std::size_t>(operation::group_few)] = 0.2e-9;
    return r;
  }(), *engine_, session_);
  const auto groups = trades(3000000).group_by([](auto t) { return t.qty % 10; });
  const auto placed = [](const auto& q) { return engine_line(q.explain(), "group_by").substr(0, 4); };
  EXPECT_EQ(placed(groups.select([](auto g) { return g.sum(by_price); })), "cpu:");
  EXPECT_EQ(placed(groups.select([](auto g) { return g.median(by_price); })), "gpu:");
  EXPECT_EQ(placed(groups.select([](auto g) {
    return g.sum([](auto t) { return query::exp(query::sin(t.price) * query::cos(t.price)) + query::log(t.price); });
  })), "gpu:");
  EXPECT_EQ(placed(groups.select([](auto g) {
    return std::tuple(g.count(), g.sum(by_price), g.mean(by_price), g.min(by_price), g.max(by_price), g.variance(by_price),
                      g.stddev(by_price));
  })), "gpu:");
}

TEST_F(placement_plans, count_the_operations_of_functions) {
  expect_rates([] {
    rates r = fixed_rates();
    r.row[static_cast<std::size_t>(operation::row_wise)] = 0.1e-9;  // few cores
    return r;
  }(), *engine_, session_);
  const auto heavy = trades(2000000).select(
      [](auto t) { return query::exp(query::sin(t.price) * query::cos(t.price)) + query::sqrt(t.price) * query::log(t.price + 1.0); });
  EXPECT_EQ(engine_line(heavy.explain(), "collect").substr(0, 4), "gpu:") << heavy.explain();
  const auto light = trades(2000000).select([](auto t) { return t.price + 1.0; });
  EXPECT_EQ(engine_line(light.explain(), "collect").substr(0, 4), "cpu:") << light.explain();
}

// A pass that the CPU and the bus are about as fast at, on 16 threads.
struct divided_plans : placement_plans {
  divided_plans() : wide_({.threads = 16, .gpu = query::gpu_use::off}) {}
  void SetUp() override {
    placement_plans::SetUp();
    wide_.add_engine(engine_);
    rates r = fixed_rates();
    r.host_memory = 4000e9;
    r.up_thread = 100e9;
    expect_rates(r, *engine_, wide_);
  }
  auto pass(std::size_t n) {
    rows_.resize(n, Trade{1, 2, 3.0});
    return query::from(rows_).as_accelerated().in(wide_).where([](auto t) { return t.price > 1.0; }).select([](auto t) {
      return t.price * 2.0 + t.price / 3.0;
    });
  }
  query::Session wide_;
};

TEST_F(divided_plans, say_who_gets_how_much) {
  const std::string plan = pass(8000000).explain("sum");
  const std::string said = "sum: split: about 47% gpu: " + device_.name() + ", 53% cpu: 2.1 ms here; 2.8 ms and 2.5 ms alone";
  EXPECT_NE(plan.find(said), std::string::npos) << plan;
  EXPECT_NE(plan.find("; generated on the gpu\n"), std::string::npos) << plan;
}

TEST_F(divided_plans, obey_orders) {
  const auto q = pass(8000000);
  const auto divides = [](const std::string& plan) { return plan.find("split: ") != std::string::npos; };
  EXPECT_TRUE(divides(q.explain("sum")));
  EXPECT_FALSE(divides(q.on(query::engine::cpu).explain("sum")));
  EXPECT_FALSE(divides(q.on(query::engine::gpu).explain("sum")));
  EXPECT_FALSE(divides(q.on(query::engine::gpu).explain()));
  EXPECT_FALSE(divides(q.require_gpu().explain()));
  EXPECT_FALSE(divides(pass(100000).explain("sum"))) << "few rows";
}

TEST_F(divided_plans, move_the_bytes_of_what_they_take) {
  const auto q = pass(8000000);
  ASSERT_NE(q.explain("sum").find("split: about 47%"), std::string::npos) << q.explain("sum");
  const std::size_t before = fake_.bytes_up();
  (void)q.sum();
  // The GPU begins with seven tenths of its share; how much it takes then depends on who is faster.
  const double moved = static_cast<double>(fake_.bytes_up() - before), all = 8e6 * sizeof(double);
  EXPECT_GE(moved, 0.7 * 0.46 * all);
  EXPECT_LE(moved, 1.01 * all);
}

TEST_F(divided_plans, do_not_wait_for_compilers_but_pay_for_them_once) {
  const temporary_folder folder;
  costs_of(*engine_).kernels().keep_in(disk_cache(folder.path()), "a device", kernels_);
  const auto q = pass(16000000);
  const std::string first = q.explain("sum");
  for (int i = 0; i < 200; ++i) ASSERT_EQ(q.explain("sum"), first) << "looking costs nothing";
  int asked = 1;
  while (asked < 200 && plan_of_run(q, wide_, query::detail::fold_kind::sum).find("split: ") == std::string::npos) ++asked;
  EXPECT_GT(asked, 1) << "its kernels are not there";
  EXPECT_LT(asked, 200) << "what dividing would have saved is held against that";
  (void)q.sum();
  query::Session later({.threads = 16, .gpu = query::gpu_use::off});
  const auto engine = make_engine(device_, {std::size_t{1} << 30, 0}, kernels_);
  rates r = fixed_rates();
  r.host_memory = 4000e9;
  r.up_thread = 100e9;
  expect_rates(r, *engine, later);
  costs_of(*engine).kernels().keep_in(disk_cache(folder.path()), "a device", kernels_);
  later.add_engine(engine);
  EXPECT_NE(q.in(later).explain("sum").find("split: "), std::string::npos) << "they have run";
}

TEST_F(placement_plans, take_a_stream_for_a_long_one) {
  const auto rows = query::generate([i = 0]() mutable { return i++ < 10 ? std::optional<Trade>(Trade{1, i, 2.0}) : std::nullopt; });
  const auto q = rows.as_accelerated().in(session_).order_by(by_price);
  EXPECT_EQ(engine_line(q.explain(), "order_by"), "gpu: " + device_.name() + ": 12 ms here, 87 ms on the CPU");
}

TEST_F(divided_plans, tell_cheap_operations_from_costly_ones) {
  pass(8000000);
  const auto rows = query::from(rows_).as_accelerated().in(wide_);
  const auto seconds = [&](const auto& q) {
    const auto g = query::planner::make_machine_graph(q.to_pipe(), "sum", {.gpu_status = ""});
    const auto e = row_expressions_of(g->result);
    return e ? seconds_a_row(fixed_rates(), *e) : -1;
  };
  const double sums = seconds(rows.select([](auto t) { return t.price * 2.0 + t.price; }));
  const double quotient = seconds(rows.select([](auto t) { return t.price / 3.0 + t.price; }));
  const double logarithm = seconds(rows.select([](auto t) { return query::log(t.price) + t.price; }));
  EXPECT_GT(sums, 0);
  EXPECT_GT(quotient, 4 * sums);
  EXPECT_GT(logarithm, quotient);
  EXPECT_EQ(
      seconds(rows.select([](const Trade& t) { return t.price; }).where([](const double& x) { return std::to_string(x).size() > 1; })), -1)
      << "opaque";
}

TEST(placement_calibration, is_measured_once_and_kept) {
  const temporary_folder folder;
  const disk_cache files(folder.path());
  driver_double fake;
  fake.allow_unknown_kernels();
  const device d(fake.calls(), 0);
  kernel_cache kernels(
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }});
  gpu_session gpu(d, std::size_t{256} << 20, kernels);
  query::runtime::thread_pool threads(2);
  const auto first = calibrated(gpu, threads, files);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->sensible());
  const auto transfers = gpu.copies().counters().transfers;
  EXPECT_GT(transfers, 0u);
  const auto again = calibrated(gpu, threads, files);
  ASSERT_TRUE(again);
  EXPECT_EQ(text_of(*again), text_of(*first));
  EXPECT_EQ(gpu.copies().counters().transfers, transfers) << "found, not measured";
  EXPECT_NE(calibration_key(d, 2), calibration_key(d, 3));
  gpu_session tight(d, std::size_t{1} << 20, kernels);
  EXPECT_FALSE(calibrated(tight, threads, disk_cache(""))) << "no memory to measure with: no model";
}

}  // namespace
