// Functions of groups taken apart: the aggregates that they need and the expression over their results.
#include <gtest/gtest.h>

#include <cstring>

#include <ir/group_function.hpp>
#include <query/query.hpp>

namespace group_function_test {

using query::ir::aggregate_kind;
using query::ir::describe;
using query::ir::group_analysis;
using query::ir::plan_group_function;
using query::ir::show;

struct Fill {
  std::int32_t symbol;
  double price;
  std::int64_t qty;
  std::optional<double> fee;
  std::array<float, 3> at;
  std::string note;
};
QUERY_RECORD(Fill, symbol, price, qty, fee, at, note);
struct Vwap {
  std::int32_t symbol;
  double price;
  std::int64_t n;
};
QUERY_RECORD(Vwap, symbol, price, n);
struct Geometric {
  double log_sum;
  std::int64_t n;
};
QUERY_RECORD(Geometric, log_sum, n);

// The analysis of group_by(symbol).select(f), as the plan's node has it.
template <class F> group_analysis analyse(const F& f) {
  const auto q = query::from(std::vector<Fill>{}).group_by([](auto t) { return t.symbol; }).select(f);
  const auto pipe = q.to_pipe();
  const auto& n = *pipe.node;
  return plan_group_function(n.functions.back().trace(), n.key, n.row);
}

TEST(group_function, vwap_needs_two_sums_and_a_count_and_divides_at_the_end) {
  const auto a = analyse([](auto g) {
    return query::make<Vwap>(g.key(), g.sum([](auto t) {
      return t.price * query::cast<double>(t.qty);
    }) / query::cast<double>(g.sum([](auto t) { return t.qty; })),
                             g.count());
  });
  ASSERT_TRUE(a.plan) << a.reason;
  ASSERT_EQ(a.plan->calls.size(), 3u);
  EXPECT_EQ(a.plan->calls[0].what, aggregate_kind::sum);
  EXPECT_EQ(show(a.plan->calls[0].argument), "(price * f64(qty))");
  EXPECT_EQ(a.plan->calls[1].what, aggregate_kind::sum);
  EXPECT_EQ(a.plan->calls[1].source->type->k, query::ir::kind::i64);
  EXPECT_EQ(a.plan->calls[2].what, aggregate_kind::count);
  EXPECT_EQ(a.plan->calls[2].argument, nullptr);
  EXPECT_EQ(show(a.plan->finish), "Vwap{key, (sum((price * f64(qty))) / f64(sum(qty))), count()}");
  ASSERT_NE(a.plan->key, nullptr);
  EXPECT_EQ(a.plan->key->type, describe<std::int32_t>());
}

TEST(group_function, an_aggregate_that_is_used_twice_is_kept_once) {
  const auto a = analyse([](auto g) {
    return g.max([](auto t) { return t.price; }) - g.min([](auto t) { return t.price; }) / g.max([](auto t) { return t.price; });
  });
  ASSERT_TRUE(a.plan) << a.reason;
  EXPECT_EQ(a.plan->calls.size(), 2u);
  EXPECT_EQ(a.plan->key, nullptr);
}

TEST(group_function, nulls_and_ranks_are_part_of_the_call) {
  const auto a =
      analyse([](auto g) { return std::tuple(g.quantile([](auto t) { return t.fee; }, 0.25), g.median([](auto t) { return t.price; })); });
  ASSERT_TRUE(a.plan) << a.reason;
  const auto& low = a.plan->calls[0];
  EXPECT_EQ(low.what, aggregate_kind::quantile);
  EXPECT_EQ(low.rank, 0.25);
  EXPECT_TRUE(low.nullable);
  EXPECT_EQ(low.value, describe<double>());
  EXPECT_FALSE(a.plan->calls[1].nullable);
  EXPECT_EQ(a.plan->calls[1].rank, 0.5);
}

TEST(group_function, every_kind_of_aggregate_is_known) {
  const auto p = [](auto t) { return t.price; };
  const auto high = [](auto t) { return t.price > 3; };
  const auto a = analyse([=](auto g) {
    return std::tuple(g.count(high), g.mean(p), g.arg_min(p), g.arg_max(p), g.variance(p), g.stddev(p), g.first(p), g.last(p), g.any(high),
                      g.all(high), g.count_distinct(p), g.collect(p), g.sum([](auto t) { return t.at; }),
                      g.mean([](auto t) { return t.at; }), g.min([](auto t) { return t.note; }));
  });
  ASSERT_TRUE(a.plan) << a.reason;
  std::vector<aggregate_kind> kinds;
  for (const auto& c : a.plan->calls) kinds.push_back(c.what);
  using k = aggregate_kind;
  EXPECT_EQ(kinds, (std::vector<aggregate_kind>{k::count_if, k::mean, k::arg_min, k::arg_max, k::variance, k::stddev, k::first, k::last,
                                                k::any, k::all, k::count_distinct, k::collect, k::sum, k::mean, k::min}));
}

TEST(group_function, a_users_own_aggregate_is_four_expressions_over_rows_and_states) {
  const auto a = analyse([](auto g) {
    return g.aggregate(
        Geometric{}, [](auto s, auto t) { return query::make<Geometric>(s.log_sum + query::log(t.price), s.n + 1); },
        [](auto x, auto y) { return query::make<Geometric>(x.log_sum + y.log_sum, x.n + y.n); },
        [](auto s) { return query::exp(s.log_sum / query::cast<double>(s.n)); });
  });
  ASSERT_TRUE(a.plan) << a.reason;
  ASSERT_EQ(a.plan->calls.size(), 1u);
  const auto& c = a.plan->calls[0];
  EXPECT_EQ(c.what, aggregate_kind::custom);
  EXPECT_EQ(show(c.seed), "Geometric{0.0, 0}");
  EXPECT_EQ(show(c.update), "Geometric{(r.log_sum + log(price)), (r.n + 1)}");
  EXPECT_EQ(show(c.combine), "Geometric{(log_sum + r.log_sum), (n + r.n)}");
  EXPECT_EQ(show(c.finish), "exp((log_sum / f64(n)))");
}

TEST(group_function, what_cannot_be_planned_says_why) {
  EXPECT_NE(analyse([](auto g) { return g.sum(query::opaque([](auto t) { return t.price; })); }).reason.find("opaque"), std::string::npos);
  EXPECT_NE(analyse([](auto g) { return g.sum([](const Fill& t) { return t.price; }); }).reason.find("not generic"), std::string::npos);
  EXPECT_NE(analyse([](const query::Group<std::int32_t, Fill>& g) { return g.count(); }).reason.find("materialised"), std::string::npos);
  const auto lists = analyse([](auto g) {
    return g.aggregate(
        std::vector<double>{},
        [](std::vector<double> s, const Fill& t) {
          s.push_back(t.price);
          return s;
        },
        [](std::vector<double> x, std::vector<double> y) {
          x.insert(x.end(), y.begin(), y.end());
          return x;
        });
  });
  EXPECT_NE(lists.reason.find("user-defined"), std::string::npos) << lists.reason;
  const auto typed = analyse([](auto g) {
    return g.aggregate(
        0.0, [](double s, auto t) { return s + t.price; }, [](double x, double y) { return x + y; });
  });
  EXPECT_FALSE(typed.plan);
}

}  // namespace group_function_test
