// Cuts around opaque functions: an engine that takes verbs whose functions can be seen gets those before and behind the others, and all
// answers stay.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "planner/engines_of_plan.hpp"
#include "planner/orders.hpp"
#include "runtime/local_engine.hpp"
#include "runtime/session_state.hpp"

namespace {

using query::planner::branch;
using query::planner::vertex;

// Takes what traces, row-wise work alone where it is told or has to, and has the CPU engine run it.
class seeing_engine final : public query::runtime::engine {
 public:
  std::atomic<int> runs{0};
  bool takes_rows = false;

  std::string_view name() const override { return "gpu"; }
  bool is_gpu() const override { return true; }
  query::runtime::verdict accepts(const vertex& v) const override {
    if (!v.accelerated) return {false, "not accelerated"};
    if (v.limit != ~0ull && !v.node) return {false, "a part of the rows"};
    bool joins = false;
    for (const branch& b : v.inputs) {
      if (std::string why = why_not(b); !why.empty()) return {false, why};
      for (const auto& s : b.stages) joins = joins || s.join;
    }
    if (!v.node && (!joins || v.folds) && !takes_rows && !query::planner::demands_gpu(v)) return {false, "row-wise work"};
    if (v.node && !seen(*v.node)) return {false, "the function of " + v.node->label + " is opaque"};
    return {true, "takes it"};
  }
  std::unique_ptr<query::runtime::running_vertex> start(const vertex& v, std::span<query::runtime::input_port* const> inputs,
                                                        query::runtime::output_port& output,
                                                        query::runtime::run_context& context) override {
    ++runs;
    return cpu_->start(v, inputs, output, context);
  }

 private:
  static bool seen(const query::detail::logical& n) {
    return std::all_of(n.functions.begin(), n.functions.end(), [](const auto& f) { return bool(f.trace()); });
  }
  static std::string why_not(const branch& b) {
    if (b.source && b.source->open) return "a stream";
    for (const auto& s : b.stages) {
      if (s.join && !seen(*s.join)) return "the function of " + s.join->label + " is opaque";
      for (const auto* n : s.nodes)
        if (!seen(*n)) return "the function of " + n->label + " is opaque";
    }
    return {};
  }
  std::unique_ptr<query::runtime::local_engine> cpu_ = query::runtime::make_cpu_engine();
};

struct Sale {
  std::int64_t shop;
  std::int32_t article;
  std::int64_t amount;
  auto operator<=>(const Sale&) const = default;
};
QUERY_RECORD(Sale, shop, article, amount);

std::vector<Sale> make_sales(int n) {
  std::vector<Sale> all;
  for (int i = 0; i < n; ++i) all.push_back({i * 7919ll % 211, i % 50, i % 1000});
  return all;
}

// Nothing can be seen of it.
Sale moved(const Sale& s) { return {static_cast<std::int64_t>(std::to_string(s.shop).size() * 100 + s.shop % 7), s.article, s.amount + 1}; }

struct opaque_cuts : testing::Test {
  std::shared_ptr<seeing_engine> engine = std::make_shared<seeing_engine>();
  query::Session session{{.threads = 3, .gpu = query::gpu_use::off}}, alone{{.threads = 3, .gpu = query::gpu_use::off}};
  std::vector<Sale> sales = make_sales(20'000);
  opaque_cuts() { session.add_engine(engine); }

  using engines = std::vector<std::string>;
  // `make` builds the query over a source; it is planned as wanted, and its rows are those of a session without the engine.
  template <class Make> void holds(const Make& make, const engines& wanted) {
    const auto mine = make(query::from(sales).in(session).as_accelerated());
    const std::string plan = mine.explain();
    EXPECT_EQ(engines_of(plan), wanted) << plan;
    const int before = engine->runs;
    EXPECT_TRUE(mine.to_vector() == make(query::from(sales).in(alone)).to_vector()) << plan;
    EXPECT_EQ(engine->runs - before, std::count(wanted.begin(), wanted.end(), "gpu"));
  }
};

const auto by_shop = [](auto s) { return s.shop; };
const auto sums = [](auto g) { return std::pair(g.key(), g.sum([](auto s) { return s.amount; })); };
const auto few = [](auto s) { return s.article < 20; };
const auto shop_of_pair = [](auto p) { return p.first; };

TEST_F(opaque_cuts, leave_groups_to_the_engine) {
  holds([](auto q) { return q.select(moved).group_by(by_shop).select(sums).order_by(shop_of_pair); }, {"cpu", "gpu", "gpu"});
}

TEST_F(opaque_cuts, go_through_loops_that_the_compiler_fused) {
  // where, select, where and select are one loop: what stands before and in the opaque one is called in batches.
  holds(
      [](auto q) {
        return q.where(few).select(moved).where([](auto s) { return s.amount > 10; }).select([](auto s) {
                  return query::make<Sale>(s.shop, s.article, s.amount * 2);
                }).group_by(by_shop).select(sums).order_by(shop_of_pair);
      },
      {"cpu", "gpu", "gpu"});
}

TEST_F(opaque_cuts, are_behind_the_last_of_several) {
  holds(
      [](auto q) {
        return q.select(moved).where([](const Sale& s) { return std::to_string(s.amount).size() > 2; }).where(few).order_by([](auto s) {
          return s.amount;
        });
      },
      {"cpu", "gpu"});
}

TEST_F(opaque_cuts, leave_joins_and_sets_to_the_engine) {
  const std::vector<Sale> others = make_sales(300);
  const auto amounts = [](auto a, auto b) { return a.amount * 3 + b.amount; };
  holds([&](auto q) { return q.select(moved).join(query::from(others), by_shop, by_shop, amounts); }, {"cpu", "cpu", "gpu"});
  holds([&](auto q) { return q.select(moved).union_with(query::from(others).select(moved)); }, {"cpu", "cpu", "gpu"});
  holds([&](auto q) { return q.select(moved).distinct_by(by_shop); }, {"cpu", "gpu"});
  holds(
      [&](auto q) {
        return q.select(moved).right_join(query::from(others), by_shop, by_shop, [](auto a, auto b) {
          if (a.has_value()) return a->amount + b.amount;
          return -b.amount;
        });
      },
      {"cpu", "gpu"});
}

TEST_F(opaque_cuts, give_each_side_the_collections_that_it_captured) {
  const auto totals = query::broadcast(query::from(make_sales(500)).in(session).select([](auto s) { return s.amount; }));
  const auto others = query::broadcast(query::from(make_sales(40)).in(session).select([](auto s) { return s.shop; }));
  const auto with = [totals](const Sale& s) { return Sale{s.shop + std::ssize(totals) % 3, s.article, s.amount}; };
  const auto make = [&](auto q) {
    const auto known = q.select(with).where([others](auto s) { return others.contains(s.shop % 100); });
    return known.group_by(by_shop).select(sums).order_by(shop_of_pair);
  };
  const auto mine = make(query::from(sales).in(session).as_accelerated());
  const std::string plan = mine.explain();
  EXPECT_NE(plan.find("gpu: takes it"), std::string::npos) << plan;
  std::vector<std::pair<std::int64_t, std::int64_t>> wanted;
  {
    std::map<std::int64_t, std::int64_t> by_hand;
    std::set<std::int64_t> known;
    for (const Sale& s : make_sales(40)) known.insert(s.shop);
    for (const Sale& s : sales)
      if (const std::int64_t shop = s.shop + 500 % 3; known.contains(shop % 100)) by_hand[shop] += s.amount;
    wanted.assign(by_hand.begin(), by_hand.end());
  }
  EXPECT_FALSE(wanted.empty());
  EXPECT_TRUE(mine.to_vector() == wanted) << plan;
}

TEST_F(opaque_cuts, are_made_in_each_round_of_a_loop) {
  const auto make = [&](auto q) {
    return q.do_while([](auto rows) {
      return rows.select(moved).group_by(by_shop).select([](auto g) {
        return query::make<Sale>(g.key(), query::cast<std::int32_t>(g.count()), g.sum([](auto s) { return s.amount; }));
      });
    }, query::times(3));
  };
  const auto mine = make(query::from(sales).in(session).as_accelerated());
  const std::string plan = mine.explain();
  EXPECT_NE(plan.find("gpu: takes it"), std::string::npos) << plan;
  auto rows = mine.to_vector(), wanted = make(query::from(sales).in(alone)).to_vector();
  EXPECT_EQ(engine->runs, 3);
  std::sort(rows.begin(), rows.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_TRUE(rows == wanted);
}

TEST_F(opaque_cuts, are_not_made_where_nothing_is_gained_or_rows_would_be_others) {
  // Row-wise work alone; a key that nobody sees; numbers of rows behind the cut; a stream.
  holds([](auto q) { return q.select(moved).where(few); }, {"cpu"});
  holds([](auto q) { return q.select(moved).group_by([](const Sale& s) { return s.shop; }).select(sums).order_by(shop_of_pair); },
        {"cpu", "gpu"});
  holds(
      [](auto q) {
        return q.select(moved).index().order_by([](auto p) { return -p.value.amount; }).select([](auto p) { return p.index; });
      },
      {"cpu", "cpu"});
  const auto numbers = query::generate([n = 0]() mutable { return n < 100 ? std::optional(n++) : std::nullopt; }).in(session);
  const auto digits = [](const int& i) { return std::to_string(i).size(); };
  const auto streamed = numbers.as_accelerated().select(digits).order_by([](auto s) { return s; });
  EXPECT_EQ(streamed.to_vector().back(), 2u);
  EXPECT_EQ(engines_of(streamed.explain()), engines({"cpu"})) << streamed.explain();
}

TEST_F(opaque_cuts, follow_orders) {
  query::Session with_gpu({.threads = 3});
  with_gpu.state()->take_gpu(engine);
  const auto by_amount = [](auto s) { return s.amount; };
  const auto q = query::from(sales).in(with_gpu).as_accelerated().select(moved);
  const auto there = q.order_by(by_amount).on(query::engine::gpu);
  EXPECT_EQ(engines_of(there.explain()), engines({"cpu", "gpu"})) << there.explain();
  EXPECT_TRUE(there.to_vector() == query::from(sales).in(alone).select(moved).order_by(by_amount).to_vector());
  EXPECT_EQ(engines_of(q.order_by(by_amount).require_gpu().explain()), engines({"cpu", "gpu"}));
  EXPECT_EQ(engines_of(q.order_by(by_amount).on(query::engine::cpu).explain()), engines({"cpu"}));
  // What is demanded of the opaque function itself cannot be.
  EXPECT_THROW(q.on(query::engine::gpu).order_by(by_amount).to_vector(), query::user_error);
  EXPECT_THROW(q.require_gpu().order_by(by_amount).to_vector(), query::user_error);
}

// An engine that takes all row-wise work, as the GPU of a session.
struct opaque_middles : opaque_cuts {
  query::Session with_gpu{{.threads = 3}};
  opaque_middles() {
    engine->takes_rows = true;
    with_gpu.state()->take_gpu(engine);
  }
  auto mine() { return query::from(sales).in(with_gpu).as_accelerated(); }
  // The plan of `make`'s query, whose rows are those of a session without the engine.
  template <class Make> void holds(const Make& make, const engines& wanted) {
    compare(make(mine()), make(query::from(sales).in(alone)), wanted);
  }
  template <class Q, class Other> void compare(const Q& q, const Other& same, const engines& wanted) {
    const std::string plan = q.explain();
    EXPECT_EQ(engines_of(plan), wanted) << plan;
    const int before = engine->runs;
    EXPECT_TRUE(q.to_vector() == same.to_vector()) << plan;
    EXPECT_EQ(engine->runs - before, std::count(wanted.begin(), wanted.end(), "gpu")) << plan;
  }
};

const auto some = [](auto s) { return s.amount > 10; };
const auto doubled = [](auto s) { return query::make<Sale>(s.shop, s.article, s.amount * 2); };
const auto amount = [](auto s) { return s.amount; };

TEST_F(opaque_middles, stand_between_two_vertices) {
  holds([](auto q) { return q.where(few).select(moved).where(some).select(doubled); }, {"gpu", "cpu", "gpu"});
  holds([](auto q) { return q.select(moved).where(some); }, {"cpu", "gpu"});
  // What is left of the result is the caller's.
  holds([](auto q) { return q.select(doubled).where(few).select(moved); }, {"gpu"});
  holds([](auto q) { return q.where(few).select(moved).where(few).select(moved).select(doubled); }, {"gpu", "cpu", "gpu"});
  opaque_cuts::holds([](auto q) { return q.where(few).select(moved).where(some); }, {"gpu", "cpu", "gpu"});
  opaque_cuts::holds([](auto q) { return q.where(few).select(moved); }, {"gpu", "cpu"});
}

TEST_F(opaque_middles, stand_before_verbs_that_read_all_rows) {
  holds([](auto q) { return q.select(doubled).select(moved).group_by(by_shop).select(sums).order_by(shop_of_pair); },
        {"gpu", "cpu", "gpu", "gpu"});
  // The verb's own function is the opaque one.
  holds([](auto q) { return q.select(doubled).order_by([](const Sale& s) { return s.amount; }).where(few); }, {"gpu", "cpu", "gpu"});
  const std::vector<Sale> others = make_sales(300);
  const auto sum = [](auto a, auto b) { return query::make<Sale>(a.shop, b.article, a.amount + b.amount); };
  holds([&](auto q) { return q.join(query::from(others), by_shop, by_shop, sum).select(moved).where(some); },
        {"cpu", "gpu", "cpu", "gpu"});
}

TEST_F(opaque_middles, stand_before_folds) {
  const auto both = mine().where(few).select(moved).select(amount);
  const auto first = mine().select(doubled).select([](const Sale& s) { return s.amount; });
  for (const std::string fold : {"sum", "max", "count"}) {
    EXPECT_EQ(engines_of(both.explain(fold)), engines({"gpu", "cpu"})) << both.explain(fold);
    EXPECT_NE(both.explain(fold).find(fold + ": gpu: takes it"), std::string::npos) << both.explain(fold);
    EXPECT_EQ(engines_of(first.explain(fold)), engines({"gpu"})) << first.explain(fold);
    EXPECT_NE(first.explain(fold).find(fold + ": cpu: not on gpu: the function of select is opaque"), std::string::npos)
        << first.explain(fold);
  }
  const auto here = query::from(sales).in(alone);
  EXPECT_EQ(both.sum(), here.where(few).select(moved).select(amount).sum());
  EXPECT_EQ(engine->runs, 2);
  EXPECT_EQ(first.max(), here.select(doubled).select(amount).max());
  EXPECT_EQ(engine->runs, 3);
  // Nothing behind it: no table for the fold alone.
  EXPECT_EQ(engines_of(mine().select(moved).explain("count")), engines());
}

TEST_F(opaque_middles, have_the_collections_that_they_captured) {
  const auto others = query::broadcast(query::from(make_sales(120)).in(with_gpu).select([](auto s) { return s.shop; }));
  const auto totals = query::broadcast(query::from(make_sales(500)).in(with_gpu).select(amount));
  const auto with = [totals](const Sale& s) { return Sale{s.shop + std::ssize(totals) % 3, s.article, s.amount}; };
  const auto known = [others](auto s) { return others.contains(s.shop % 100); };
  const auto q = mine().where(known).select(with).where(known).select(amount);
  std::set<std::int64_t> shops;
  for (const Sale& s : make_sales(120)) shops.insert(s.shop);
  std::vector<std::int64_t> wanted;
  for (const Sale& s : sales)
    if (shops.contains(s.shop % 100) && shops.contains((s.shop + 500 % 3) % 100)) wanted.push_back(s.amount);
  EXPECT_FALSE(wanted.empty());
  EXPECT_TRUE(q.to_vector() == wanted) << q.explain();
  EXPECT_EQ(engines_of(q.explain()).back(), "gpu") << q.explain();
  std::int64_t sum = 0;
  for (const std::int64_t x : wanted) sum += x;
  EXPECT_EQ(q.sum(), sum) << q.explain("sum");
}

TEST_F(opaque_middles, hold_over_columns_and_where_functions_are_interpreted) {
  const query::columns_of<Sale> columns = query::from(sales).in(alone).to_vectors();
  query::Session interpreting({.threads = 3, .interpret = true});
  interpreting.state()->take_gpu(engine);
  const auto twice = [](auto s) { return std::array{s.amount, s.amount + 1}; };
  const auto make = [&](auto q) {
    return q.where(few).select_many(twice).select([](const std::int64_t& x) { return x * 3; }).where([](auto x) { return x % 2 == 0; });
  };
  const auto wanted = make(query::from(sales).in(alone));
  compare(make(query::from(query::columns(columns)).in(with_gpu).as_accelerated()), wanted, {"gpu", "cpu", "gpu"});
  compare(make(query::from(query::columns(columns)).in(interpreting).as_accelerated()), wanted, {"gpu", "cpu", "gpu"});
  compare(make(query::from(sales).in(interpreting).as_accelerated()), wanted, {"gpu", "cpu", "gpu"});
  EXPECT_EQ(make(query::from(sales).in(interpreting).as_accelerated()).sum(), wanted.sum());
  // Columns made rows are no work.
  const auto opaque = query::from(query::columns(columns)).in(with_gpu).as_accelerated().select(moved);
  compare(opaque, query::from(sales).in(alone).select(moved), {});
}

TEST_F(opaque_middles, are_left_whole_where_only_first_rows_are_wanted) {
  const auto q = mine().where(few).select(moved).where(some);
  for (const char* terminal : {"first", "any", "begin"})
    EXPECT_EQ(q.explain(terminal).find("gpu: takes it"), std::string::npos) << q.explain(terminal);
  EXPECT_TRUE(q.first() == query::from(sales).in(alone).where(few).select(moved).where(some).first());
  EXPECT_EQ(q.take(5).explain().find("v2 "), std::string::npos) << q.take(5).explain();
  EXPECT_EQ(q.take_while(some).explain().find("v2 "), std::string::npos) << q.take_while(some).explain();
  const auto numbers = query::generate([n = 0]() mutable { return std::optional(n++); }).in(with_gpu).as_accelerated();
  const auto even = numbers.where([](auto i) { return i % 2 == 0; });
  const auto digits = even.select([](const int& i) { return std::to_string(i).size(); }).where([](auto d) { return d > 2u; });
  EXPECT_EQ(engines_of(digits.explain()), engines()) << digits.explain();
  EXPECT_EQ(digits.take(3).to_vector().size(), 3u);
}

TEST_F(opaque_middles, follow_orders_part_by_part) {
  using query::engine;
  this->engine->takes_rows = false;
  const auto there = mine().where(few).on(engine::gpu), here = mine().where(few);
  const auto same = query::from(sales).in(alone).where(few).select(moved).where(some);
  compare(here.select(moved).where(some), same, {});
  compare(there.select(moved).where(some), same, {"gpu"});
  compare(here.select(moved).where(some).on(engine::gpu), same, {"cpu", "gpu"});
  compare(there.select(moved).on(engine::cpu).where(some).on(engine::gpu), same, {"gpu", "cpu", "gpu"});
  compare(there.select(moved).where(some).group_by(by_shop).select(sums).on(engine::cpu).order_by(shop_of_pair),
          same.group_by(by_shop).select(sums).order_by(shop_of_pair), {"gpu", "cpu", "gpu"});
  const auto sum = mine().where(few).on(engine::gpu).select(moved).select(amount).on(engine::gpu);
  EXPECT_EQ(sum.sum(), query::from(sales).in(alone).where(few).select(moved).select(amount).sum());
  EXPECT_EQ(engines_of(sum.explain("sum")), engines({"gpu", "cpu"})) << sum.explain("sum");
  // Where no cut can be, and of the opaque function itself, it is an error as before.
  EXPECT_THROW((void)mine().where(few).on(engine::gpu).select(moved).first(), query::user_error);
  EXPECT_THROW((void)mine().where(few).select(moved).on(engine::gpu).to_vector(), query::user_error);
  EXPECT_THROW((void)mine().require_gpu().where(few).select(moved).count(), query::user_error);
  EXPECT_THROW((void)mine().where(few).on(engine::gpu).select(doubled).on(engine::cpu).select(moved).to_vector(), query::user_error);
}

}  // namespace
