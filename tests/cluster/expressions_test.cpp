// Functions whose closures hold addresses, of strings, vectors, variables by reference: their expressions go to other processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "cluster/cluster_under_test.hpp"
#include "cluster/lambdas.hpp"
#include "runtime/session_state.hpp"

namespace expressions_test {

struct item {
  std::int32_t id, shelf;
  double price;
  std::string name;
  friend bool operator==(const item&, const item&) = default;
};
QUERY_RECORD(item, id, shelf, price, name);
struct tag {
  std::string name;
  long long weight;
  friend bool operator==(const tag&, const tag&) = default;
};
QUERY_RECORD(tag, name, weight);

namespace {

const std::string long_name = "a name that is too long to lie within the string itself";

std::vector<item> items(int n = 6000) {
  std::vector<item> all;
  for (int i = 0; i < n; ++i)
    all.push_back({i, i * 7 % 101, i % 97 ? i / 8.0 : -0.0, i % 5 ? "item " + std::to_string(i % 40) : long_name});
  return all;
}

class expressions : public ::testing::Test {
 protected:
  const std::vector<item> rows = items();
  const query::Session many = query::Session::cluster(query::tests::three_processes(), {.threads = 2, .gpu = query::gpu_use::off});
  const std::string wanted = long_name, brief = "item 7";
  const std::vector<double> rates{0.5, 1.25, 3};

  // f gives a query of the rows that are read: its answer there is the one here, and it is divided there.
  template <class F> void same(F f, const char* at) {
    SCOPED_TRACE(at);
    const auto there = f(query::from(rows).in(many));
    const std::string plan = there.explain();
    EXPECT_NE(plan.find("cluster graph: each of 3 partitions"), plan.npos) << plan;
    EXPECT_NE(plan.find("runs by its expression, as its closure cannot travel"), plan.npos) << plan;
    EXPECT_EQ(there.to_vector(), f(query::from(rows)).to_vector());
  }
};

TEST_F(expressions, of_row_wise_verbs) {
  same([&](auto q) { return q.where([w = wanted](auto r) { return r.name == w; }); }, "where, a long string");
  same([&](auto q) { return q.where([w = brief](auto r) { return r.name == w; }); }, "where, a short one");
  same([&](auto q) { return q.where([w = wanted](auto r) { return r.name != w; }).select([](auto r) { return r.price * 3; }); }, "a chain");
  same([&](auto q) { return q.select([w = wanted](auto r) { return query::make<item>(r.id, r.shelf, r.price, w); }); }, "a string given");
  same([&](auto q) { return q.select([v = rates](auto r) { return r.price * v[0] + v[2]; }); }, "elements of a vector");
  same(
      [&](auto q) {
        const std::vector<std::string> some{"item 3", long_name, ""};
        return q.where([some](auto r) { return r.name == some[0] || r.name == some[1] || r.name == some[2]; });
      },
      "strings in a vector");
  same(
      [&](auto q) {
        return q.where([w = wanted](auto r) { return r.name == w; })
            .select(query::opaque([](const item& r) { return r.id + 1; }))
            .where([&, limit = 10](auto x) { return x > limit + static_cast<int>(rates.size()); });
      },
      "an opaque function between them");
}

TEST_F(expressions, of_variables_by_reference) {
  double limit = 100;
  const auto q = query::from(rows).in(many).where([&](auto r) { return r.price < limit; });
  const auto plan = q.explain("count");
  EXPECT_NE(plan.find("where (expressions_test.cpp:"), plan.npos) << plan;
  EXPECT_NE(plan.find("runs by its expression"), plan.npos) << plan;
  for (const double l : {100.0, 50.0, -1.0}) {
    limit = l;
    EXPECT_EQ(q.count(), static_cast<std::uint64_t>(std::ranges::count_if(rows, [&](const item& r) { return r.price < l; })));
  }
}

TEST_F(expressions, of_groups) {
  same(
      [&](auto q) {
        return q.group_by([w = wanted](auto r) { return r.name == w; })
            .select([](auto g) { return std::tuple(g.key(), g.count(), g.sum([](auto r) { return r.price; })); })
            .order_by([](auto t) { return std::get<0>(t); });
      },
      "a key");
  same(
      [&](auto q) {
        return q.group_by([](auto r) { return r.shelf; })
            .select([w = wanted, v = rates](auto g) {
              return std::tuple(g.key(), g.sum([w, v](auto r) { return query::iff(r.name == w, r.price * v[0], v[1]); }), g.count());
            })
            .order_by([](auto t) { return std::get<0>(t); });
      },
      "aggregates");
  same(
      [&](auto q) {
        return q.group_by([w = wanted](auto r) { return query::iff(r.name == w, w, r.name); })
            .select([v = rates](auto g) { return std::tuple(g.key(), g.max([v](auto r) { return r.price + v[2]; }), g.count()); })
            .order_by([](auto t) { return std::get<0>(t); });
      },
      "both");
  same(
      [&](auto q) {
        return q.aggregate([v = rates](auto g) { return std::tuple(g.count(), g.max([v](auto r) { return r.price * v[0]; })); });
      },
      "of all rows");
  same(
      [&](auto q) {
        return q.distinct_by([w = wanted](auto r) { return query::iff(r.name == w, 1, r.shelf); }).order_by([](auto r) { return r.id; });
      },
      "distinct");
}

TEST_F(expressions, of_joins) {
  std::vector<tag> tags;
  for (int i = 0; i < 60; ++i) tags.push_back({i % 2 ? "item " + std::to_string(i) : long_name + std::to_string(i), i});
  tags.push_back({long_name, 1'000'000'000'000});
  const auto by_id = [](auto t) { return std::tuple(std::get<0>(t), std::get<2>(t)); };
  for (const std::size_t most_broadcast : {std::size_t{1} << 20, std::size_t{0}}) {
    many.state()->most_broadcast = most_broadcast;
    same(
        [&](auto q) {
          return q
              .join(query::from(tags), [w = wanted](auto r) { return query::iff(r.name == w, w, r.name); }, [](auto t) { return t.name; },
                    [v = rates](auto r, auto t) { return std::tuple(r.id, r.price * v[1], t.weight); })
              .order_by(by_id);
        },
        "an inner join");
    same(
        [&](auto q) {
          return q
              .left_join(query::from(tags), [](auto r) { return r.name; },
                         [w = wanted](auto t) { return query::iff(t.name == w, t.name, w); },
                         [v = rates](auto r, auto t) { return std::tuple(r.id, r.price * v[1], query::iff(t.has_value(), 1, 7)); })
              .order_by(by_id);
        },
        "a left join");
    same(
        [&](auto q) {
          return q
              .semi_join(query::from(tags), [w = wanted](auto r) { return query::iff(r.name == w, w, r.name); },
                         [](auto t) { return t.name; })
              .order_by([](auto r) { return r.id; });
        },
        "a semi join");
  }
}

TEST_F(expressions, beside_collections) {
  const auto table = query::broadcast(rates);
  const auto few = query::from(rows).where([w = wanted](auto r) { return r.name == w; });
  const auto lazy = query::broadcast(few.select([](auto r) { return r.id; }));
  const auto above = [](auto x, auto y) { return x.price > y; };
  const auto product = [](auto x, auto y) { return x.price * y; };
  same([&](auto q) { return q.where([table, above, w = wanted](auto r) { return r.name == w && table.any(r, above); }); }, "by value");
  same([&](auto q) { return q.select([&table, product, v = rates](auto r) { return table.sum(r, product) + v[0]; }); }, "by reference");
  same([&](auto q) { return q.where([lazy, w = brief](auto r) { return r.name == w || lazy.contains(r.id); }); }, "of a query");
}

TEST_F(expressions, of_shared_objects) {
  const auto prices = query::from(rows).select([](auto r) { return r.name; });
  const auto there = cluster_lambdas::named(prices.in(many), wanted);
  EXPECT_NE(there.explain().find("runs by its expression"), std::string::npos) << there.explain();
  EXPECT_EQ(there.to_vector(), cluster_lambdas::named(prices, wanted).to_vector());
}

TEST_F(expressions, are_what_opaque_functions_have_not) {
  const auto q = query::from(rows).in(many).where([w = wanted](auto r) { return r.name == w; }).where([w = wanted](const item& r) {
    return r.name.find(w) != w.npos;
  });
  const std::string plan = q.explain();
  EXPECT_NE(plan.find("in one process: where (expressions_test.cpp:"), plan.npos) << plan;
  EXPECT_NE(plan.find("Its expression cannot run in its place: "), plan.npos) << plan;
  EXPECT_EQ(q.count(), rows.size() / 5);
}

// Where the two are compared, functions run as compiled, in this process.
TEST_F(expressions, are_not_verified_elsewhere) {
  const auto q = query::from(rows).in(many).verify().where([w = wanted](auto r) { return r.name == w; });
  EXPECT_NE(q.explain().find("in one process: where ("), std::string::npos) << q.explain();
  EXPECT_EQ(q.count(), rows.size() / 5);
}

// The rest of the query runs in all processes, whatever a function of partitions or windows has captured.
TEST_F(expressions, of_partitions_may_stay_alone) {
  std::int64_t seen = 0;
  const auto groups = query::from(rows).in(many).group_by([](auto r) { return r.name; }).select([](auto g) { return g.count(); });
  const auto counted = groups.hash_partitioned_by([](auto n) { return n; }, 5).apply([&](std::span<const std::int64_t> all) {
    seen += std::ssize(all);
    return std::ssize(all);
  });
  const std::string plan = counted.explain();
  EXPECT_NE(plan.find("in one partition: its function cannot run in another process: it captures an address"), plan.npos) << plan;
  EXPECT_NE(plan.find("exchange of groups by hash"), plan.npos) << plan;
  EXPECT_EQ(counted.to_vector().size(), 5u);
  EXPECT_EQ(seen, groups.count());
  double limit = 3;
  const auto ranked = query::from(rows).in(many).over([](auto r) { return r.name; }).where([&](const item& r, const auto& w) {
    return r.price < limit || w.row_number() == 1;
  });
  EXPECT_NE(ranked.explain().find("in one partition: its function cannot run in another process"), std::string::npos) << ranked.explain();
  EXPECT_GT(ranked.count(), 0);
}

// QUERY_CLUSTER_REQUIRED=1: who pays for three processes is told where one of them does all.
struct undescribed {
  int id;
  const char* text;
};
TEST_F(expressions, are_required) {
  struct required {
    required() { ::setenv("QUERY_CLUSTER_REQUIRED", "1", 1); }
    ~required() { ::unsetenv("QUERY_CLUSTER_REQUIRED"); }
  } const set;
  double limit = 10;
  const auto traced = query::from(rows).in(many).where([&](auto r) { return r.price < limit; });
  EXPECT_EQ(traced.count(), static_cast<std::uint64_t>(std::ranges::count_if(rows, [](const item& r) { return r.price < 10; })));
  const auto error_of = [](const auto& run) -> std::string {
    try {
      run();
    } catch (const query::user_error& e) {
      return e.what();
    }
    return "none";
  };
  const auto opaque = query::from(rows).in(many).where([&](const item& r) { return r.price < limit; });
  const std::string error = error_of([&] { (void)opaque.count(); });
  for (const char* part : {"where: ", "would run in one process", "captures an address", "[x]", "write `auto`", "expressions_test.cpp:"})
    EXPECT_NE(error.find(part), error.npos) << part << " in " << error;
  const auto bare = query::from(rows).in(many).select([](const item& r) { return undescribed{r.id, "text"}; }).reverse();
  const std::string rows_stay = error_of([&] { (void)bare.to_vector(); });
  for (const char* part : {"would run in one process", "QUERY_RECORD", "expressions_test.cpp:"})
    EXPECT_NE(rows_stay.find(part), rows_stay.npos) << part << " in " << rows_stay;
  // Plans show what a run refuses.
  for (const std::string& plan : {opaque.explain("count"), bare.explain("to_vector")})
    for (const char* part : {"in one p", "QUERY_CLUSTER_REQUIRED=1 forbids one process: this query would throw when it runs"})
      EXPECT_NE(plan.find(part), plan.npos) << part << " in " << plan;
  const auto here = query::from(rows).where([&](const item& r) { return r.price < limit; });  // without a cluster
  EXPECT_EQ(here.count(), traced.count());
}

}  // namespace
}  // namespace expressions_test
