// Plans of 100,000 verbs, grown in loops: on a small stack, in linear time. One session runs them, as four runs of each are timed;
// longer_chains_test.cpp runs chains of thousands of verbs on every engine.
#include <algorithm>
#include <ctime>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <query/query.hpp>

#include "sanitized.hpp"
#include "small_stack.hpp"

namespace {

using rows = query::Query<int>;

using query::tests::on_small_stack;

// Sanitizers take more time for each step.
constexpr int many = query::tests::sanitized ? 10'000 : 100'000;

const std::vector<int> three{3, 1, 2};
const std::vector<int> seven{7};

using step = std::function<rows(const rows&, int)>;
rows grown(const step& more, int verbs) {
  rows q = query::from(three);
  for (int i = 0; i < verbs; ++i) q = more(q, i);
  return q;
}

// Grown and read in all the ways that plans are: by rows, as a fold, row by row, as text.
struct results {
  std::vector<int> all;
  std::int64_t count = 0;
  std::vector<int> one_by_one;
  std::size_t text = 0;
};
results read(const rows& q) {
  results r;
  r.all = q.to_vector();
  r.count = q.count();
  for (const int x : q) r.one_by_one.push_back(x);
  r.text = q.explain().size() + q.explain_dot("count").size() + q.explain_json().size();
  return r;
}

// Of all threads: what others do on the machine does not count.
double seconds_of(const std::function<void()>& f) {
  const std::clock_t begin = std::clock();
  f();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

std::vector<int> sorted(std::vector<int> all) {
  std::sort(all.begin(), all.end());
  return all;
}
// The results of of(verbs), on a small stack. Four times as many verbs take less than twelve times as long, where that is long
// enough to be told: caches make it more than four, a quadratic one takes sixteen. A tenth of them is read in all ways, which give
// the same.
std::vector<int> linear_of(const std::function<rows(int)>& of, int verbs) {
  std::vector<int> all;
  const auto run = [&](int n) { on_small_stack([&] { all = of(n).to_vector(); }); };
  double quarter = 0, whole = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {  // a busy machine has slow moments
    quarter = seconds_of([&] { run(verbs / 4); });
    whole = seconds_of([&] { run(verbs); });
    if (whole < std::max(12 * quarter, 1.0)) break;
  }
  EXPECT_LT(whole, std::max(12 * quarter, 1.0)) << verbs << " verbs, a quarter of them in " << quarter << " s";
  on_small_stack([&] {
    const results r = read(of(verbs / 10));
    EXPECT_EQ(r.count, std::ssize(r.all));
    EXPECT_EQ(sorted(r.one_by_one), sorted(r.all));
    EXPECT_GT(r.text, 0u);
  });
  return all;
}
std::vector<int> linear(const step& more, int verbs) {
  return linear_of([&](int n) { return grown(more, n); }, verbs);
}

TEST(long_plans, append) {
  std::vector<int> wanted = three;
  for (int i = 0; i < many; ++i) wanted.push_back(i);
  EXPECT_EQ(linear([](const rows& q, int i) -> rows { return q.append(i); }, many), wanted);
}

TEST(long_plans, prepend) {
  std::vector<int> wanted;
  for (int i = many; i-- > 0;) wanted.push_back(i);
  wanted.insert(wanted.end(), three.begin(), three.end());
  EXPECT_EQ(linear([](const rows& q, int i) -> rows { return q.prepend(i); }, many), wanted);
}

TEST(long_plans, concat_of_both_sides) {
  const auto more = [](const rows& q, int i) -> rows {
    return i % 2 ? q.concat(query::from(seven)) : query::from(seven).concat(q);
  };
  std::vector<int> wanted(many / 2, 7);
  wanted.insert(wanted.end(), three.begin(), three.end());
  wanted.resize(many + 3, 7);
  EXPECT_EQ(linear(more, many), wanted);
}

TEST(long_plans, where) {
  const auto more = [](const rows& q, int i) -> rows { return q.where([i](auto x) { return x != i + 3; }); };
  EXPECT_EQ(linear(more, many), (std::vector<int>{1, 2}));
}

TEST(long_plans, where_that_cannot_be_traced) {
  const auto more = [](const rows& q, int i) -> rows { return q.where([i](const int& x) { return x != i + 3; }); };
  EXPECT_EQ(linear(more, many), (std::vector<int>{1, 2}));
}

TEST(long_plans, select) {
  const auto more = [](const rows& q, int) -> rows { return q.select([](auto x) { return x + 1; }); };
  EXPECT_EQ(linear(more, many), (std::vector<int>{3 + many, 1 + many, 2 + many}));
}

TEST(long_plans, union_with) {
  const auto more = [](const rows& q, int i) -> rows { return q.union_with(query::from(std::vector<int>{i % 10})); };
  EXPECT_EQ(sorted(linear(more, many)), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(long_plans, take_and_skip) {
  const auto more = [](const rows& q, int i) -> rows { return i % 2 ? rows(q.take(2)) : rows(q.skip(0)); };
  EXPECT_EQ(linear(more, many / 2), (std::vector<int>{3, 1}));
}

TEST(long_plans, distinct) {
  EXPECT_EQ(linear([](const rows& q, int) -> rows { return q.distinct(); }, many), three);
}

TEST(long_plans, order_by) {
  const auto more = [](const rows& q, int) -> rows { return q.order_by([](auto x) { return x; }); };
  EXPECT_EQ(linear(more, many / 4), (std::vector<int>{1, 2, 3}));
}

// Each makes a query of one key more.
TEST(long_plans, then_by) {
  const auto of = [](const auto& more) {
    return [=](int verbs) -> rows {
      auto q = query::from(three).order_by([](auto x) { return x * 0; });
      for (int i = 0; i < verbs; ++i) q = more(q, i);
      return q;
    };
  };
  const std::vector<int> in_order{1, 2, 3};
  EXPECT_EQ(linear_of(of([](const auto& q, int i) { return q.then_by([i](auto x) { return x / (i % 4 + 1); }); }), many), in_order);
  EXPECT_EQ(linear_of(of([](const auto& q, int) { return q.then_by_descending([](const int& x) { return -x; }); }), many), in_order);
  EXPECT_EQ(linear_of(of([](const auto& q, int) { return q.then_by("value").named("more"); }), many / 10), in_order);
  const auto before = query::broadcast(query::from(three));
  const auto smaller = [before](auto x) { return before.count(x, [](auto x, auto y) { return y < x; }); };
  EXPECT_EQ(linear_of(of([=](const auto& q, int) { return q.then_by(smaller); }), many / 10), in_order);
}

// What the function of a key captures ends with the last query that sorts by it, also if it is a query made from the sort before.
TEST(long_plans, then_by_keeps_nothing_of_longer_sorts) {
  const auto alive = std::make_shared<int>(0);
  {
    const auto shorter = query::from(three).order_by([](auto x) { return x * 0; }).then_by([](auto x) { return x * 0; });
    {
      const auto earlier = query::broadcast(shorter);
      const auto longer = shorter.then_by([alive, earlier](auto x) { return earlier.count(x, [](auto x, auto y) { return y < x; }); });
      EXPECT_EQ(longer.to_vector(), (std::vector<int>{1, 2, 3}));
      EXPECT_GT(alive.use_count(), 1);
    }
    EXPECT_EQ(alive.use_count(), 1) << "the shorter sort keeps what the longer one captured";
    EXPECT_EQ(shorter.count(), 3u);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(long_plans, reverse) {
  EXPECT_EQ(linear([](const rows& q, int) -> rows { return q.reverse(); }, many / 4 * 2), three);
}

TEST(long_plans, reverse_between_tests) {
  const auto more = [](const rows& q, int i) -> rows { return i % 2 ? rows(q.reverse()) : rows(q.where([](auto x) { return x > 1; })); };
  EXPECT_EQ(linear(more, many / 5), (std::vector<int>{3, 2}));
}

TEST(long_plans, join) {
  const auto key = [](auto x) { return x; };
  const auto left = [](auto x, auto) { return x; };
  const auto more = [&](const rows& q, int) -> rows { return q.join(query::from(three), key, key, left); };
  EXPECT_EQ(sorted(linear(more, many / 25)), (std::vector<int>{1, 2, 3}));
}

TEST(long_plans, joined_with_the_chain) {
  const auto key = [](auto x) { return x; };
  const auto left = [](auto x, auto) { return x; };
  const auto of_group = [](auto x, const auto&) { return x; };
  const auto more = [&](const rows& q, int i) -> rows {
    const auto first = query::from(three);
    switch (i % 6) {
      case 0: return first.left_join(q, key, key, left);
      case 1: return first.right_join(q, key, key, [](auto, auto x) { return x; });
      case 2: return first.full_join(q, key, key, [](auto x, auto) { return x.value_or(0); });
      case 3: return first.semi_join(q, key, key);
      case 4: return first.group_join(q, key, key, of_group);
      default: return first.join(q, key, key, left);
    }
  };
  EXPECT_EQ(sorted(linear(more, many / 25)), (std::vector<int>{1, 2, 3}));
}

TEST(long_plans, group_by) {
  const auto more = [](const rows& q, int) -> rows { return q.group_by([](auto x) { return x; }).select([](auto g) { return g.key(); }); };
  EXPECT_EQ(sorted(linear(more, many / 2)), (std::vector<int>{1, 2, 3}));
}

TEST(long_plans, groups) {
  const auto more = [](const rows& q, int) -> rows {
    return q.group_by([](auto x) { return x; }).groups().select([](const query::Group<int, int>& g) { return g.key(); });
  };
  EXPECT_EQ(sorted(linear(more, many / 2)), (std::vector<int>{1, 2, 3}));
}

TEST(long_plans, top) {
  EXPECT_EQ(linear([](const rows& q, int) -> rows { return q.top(3, [](auto x) { return x; }); }, many / 2), (std::vector<int>{3, 2, 1}));
}

TEST(long_plans, zip) {
  const auto more = [](const rows& q, int) -> rows { return q.zip(query::from(three), [](auto a, auto) { return a; }); };
  EXPECT_EQ(linear(more, many / 4), three);
}

struct chain {
  const char* name;
  step more;
};
// Chains that keep the rows 1, 2 and 3.
void keep_three(const std::vector<chain>& chains, int verbs) {
  for (const chain& c : chains) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(sorted(linear(c.more, verbs)), (std::vector<int>{1, 2, 3}));
  }
}
const auto itself = [](auto x) { return x; };
const auto first_of_two = [](auto x, auto) { return x; };

TEST(long_plans, slices_shuffles_and_types) {
  keep_three({{"slice", [](const rows& q, int) -> rows { return q.slice(0, 3); }},
              {"slice from the end", [](const rows& q, int) -> rows { return q.slice(-3); }},
              {"slice between both", [](const rows& q, int) -> rows { return q.append(9).slice(0, -1); }},
              {"shuffle", [](const rows& q, int i) -> rows { return q.shuffle(static_cast<std::uint64_t>(i)); }},
              {"of_type", [](const rows& q, int) -> rows {
                return q.select([](const int& x) { return std::variant<int, double>(x); }).of_type<int>();
              }}},
             many / 50);
}

TEST(long_plans, windows_and_best_rows_of_groups) {
  const auto parity = [](auto x) { return x % 2; };
  keep_three({{"over.select", [=](const rows& q, int) -> rows {
                return q.over(parity).order_by(itself).select([](auto x, auto w) { return x + static_cast<int>(w.rank()) * 0; });
              }},
              {"over of all rows", [](const rows& q, int) -> rows { return q.over().select(first_of_two); }},
              {"over.where", [](const rows& q, int) -> rows {
                return q.over(itself).where([](auto, auto w) { return w.row_number() == 1; });
              }},
              {"group_by.top", [=](const rows& q, int) -> rows { return q.group_by(parity).top(3, itself); }}},
             many / 50);
}

TEST(long_plans, join_where) {
  const auto equal = [](auto a, auto b) { return a == b; };
  keep_three({{"left", [=](const rows& q, int) -> rows { return q.join_where(query::from(three), equal, first_of_two); }},
              {"right", [](const rows& q, int) -> rows {
                return query::from(three).join_where(q, [](auto a, auto b) { return a <= b && a >= b; }, first_of_two);
              }},
              {"of every pair", [](const rows& q, int) -> rows {
                return q.join_where(query::from(three), [](const int& a, const int& b) { return a == b; }, first_of_two);
              }}},
             many / 50);
}

TEST(long_plans, asof_join) {
  keep_three({{"left", [](const rows& q, int) -> rows { return q.asof_join(query::from(three), itself, itself, first_of_two); }},
              {"right", [](const rows& q, int) -> rows { return query::from(three).asof_join(q, itself, itself, first_of_two); }},
              {"with keys", [](const rows& q, int) -> rows {
                return q.asof_join(query::from(three), itself, itself, itself, itself, first_of_two);
              }}},
             many / 100);
}

TEST(long_plans, zip_of_three_and_four) {
  const auto r = query::from(three);
  keep_three({{"first", [=](const rows& q, int) -> rows { return q.zip(r, r, [](auto a, auto, auto) { return a; }); }},
              {"second", [=](const rows& q, int) -> rows { return r.zip(q, r, [](auto, auto b, auto) { return b; }); }},
              {"third", [=](const rows& q, int) -> rows { return r.zip(r, q, [](auto, auto, auto c) { return c; }); }},
              {"of four", [=](const rows& q, int) -> rows { return q.zip(r, r, r, [](auto a, auto, auto, auto) { return a; }); }}},
             many / 50);
}

TEST(long_plans, partitions) {
  const auto copied = [](std::span<const int> s) { return std::vector<int>(s.begin(), s.end()); };
  keep_three({{"apply", [=](const rows& q, int) -> rows { return q.apply(copied); }},
              {"apply_all", [=](const rows& q, int) -> rows { return q.apply_all(copied); }},
              {"hash_partitioned_by", [=](const rows& q, int) -> rows { return q.hash_partitioned_by(itself, 2).apply(copied); }},
              {"range_partitioned_by", [=](const rows& q, int) -> rows { return q.range_partitioned_by(itself, 2).apply(copied); }}},
             many / 50);
}

TEST(long_plans, do_while) {
  const auto more = [](const rows& q, int) -> rows {
    return q.do_while([](auto now) { return now.select([](auto x) { return x + 1; }); }, query::times(1));
  };
  EXPECT_EQ(linear(more, many / 2), (std::vector<int>{3 + many / 2, 1 + many / 2, 2 + many / 2}));
}

TEST(long_plans, captured_queries_in_each_other) {
  const auto more = [](const rows& q, int) -> rows {
    return query::from(three).where([before = query::broadcast(q)](auto x) {
      return before.any(x, [](auto x, auto y) { return x == y; });
    });
  };
  EXPECT_EQ(linear(more, many / 25), three);
}

TEST(long_plans, stop_on) {
  std::stop_source never;
  const auto more = [&](const rows& q, int) -> rows { return q.stop_on(never.get_token()); };
  EXPECT_EQ(linear(more, many), three);
  const auto beside = [&](const rows& q, int) -> rows { return q.concat(query::from(seven).stop_on(never.get_token())); };
  EXPECT_EQ(linear(beside, many / 4).size(), three.size() + many / 4);
  std::stop_source stop;
  const rows q = grown(more, many).stop_on(stop.get_token()).concat(grown(more, many));
  EXPECT_EQ(q.count(), 6);
  stop.request_stop();
  EXPECT_THROW(q.count(), query::cancelled);
}

// Each observer is told once, even if queries that share it are put together many times.
TEST(long_plans, on_progress) {
  int ends = 0;
  const auto more = [&](const rows& q, int) -> rows {
    return q.on_progress([&](double fraction) { ends += fraction == 1; });
  };
  EXPECT_EQ(linear(more, many), three);
  rows q = grown(more, 100);
  for (int i = 0; i < 20; ++i) q = q.concat(q);
  ends = 0;
  EXPECT_EQ(q.count(), 3 << 20);
  EXPECT_EQ(ends, 100);
}

TEST(long_plans, cached) {
  EXPECT_EQ(linear([](const rows& q, int) -> rows { return q.cached(); }, many / 4), three);
  const auto between = [](const rows& q, int) -> rows { return q.select([](auto x) { return x + 1; }).cached(); };
  EXPECT_EQ(linear(between, many / 25), (std::vector<int>{3 + many / 25, 1 + many / 25, 2 + many / 25}));
}

TEST(long_plans, a_loop_over_concatenated_sources_begins_at_once) {
  rows q = grown([](const rows& q, int i) -> rows { return q.append(i); }, many);
  int first = 0;
  for (const int x : q) {
    first = x;
    break;
  }
  EXPECT_EQ(first, 3);
}

TEST(long_plans, a_generator_without_an_end_goes_through_many_tests) {
  const auto generated = [n = 0]() mutable -> std::optional<int> { return n++; };
  on_small_stack([&] {
    rows q = query::generate(generated);
    for (int i = 0; i < 1'000; ++i) q = q.where([i](auto x) { return x != i; });
    EXPECT_EQ(q.first(), 1'000);
  });
}

TEST(long_plans, a_stream_through_too_many_verbs_is_an_error) {
  const auto generated = [n = 0]() mutable -> std::optional<int> { return n++; };
  on_small_stack([&] {
    rows q = query::generate(generated);
    for (int i = 0; i < 5'000; ++i) q = q.skip_while([](auto x) { return x < 0; });
    try {
      (void)q.first();
      FAIL() << "read through 5,000 streams";
    } catch (const query::user_error& e) {
      EXPECT_NE(std::string(e.what()).find("too many verbs hand the rows of one source on"), std::string::npos) << e.what();
    }
  });
}

TEST(long_plans, loops_nested_too_deep_are_an_error) {
  const std::function<rows(const rows&, int)> nested = [&](const rows& q, int depth) -> rows {
    if (!depth) return q.select([](auto x) { return x + 1; });
    return q.do_while([&](const rows& now) { return nested(now, depth - 1); }, query::times(1));
  };
  EXPECT_EQ(nested(query::from(three), 50).to_vector(), (std::vector<int>{4, 2, 3}));
  try {
    (void)nested(query::from(three), 100).to_vector();
    FAIL() << "a hundred loops within each other ran";
  } catch (const query::user_error& e) {
    EXPECT_NE(std::string(e.what()).find("do_while: loops are nested more than 64 deep"), std::string::npos) << e.what();
  }
}

// Conditions within each other, and sums of many terms.
template <class F> std::string plan_of(const F& f) { return query::from(three).select(f).explain(); }

TEST(long_plans, long_expressions_are_traced_as_far_as_they_can_be_run) {
  const auto sum = [](int terms) {
    return [terms](auto x) {
      auto all = x + 0;
      for (int i = 0; i < terms; ++i) all = all + x;
      return all;
    };
  };
  const auto wanted = [](int terms) {
    std::vector<int> all;
    for (const int x : three) all.push_back(x * (terms + 1));
    return all;
  };
  on_small_stack([&] {
    query::Session interpreting({.interpret = true});
    for (const int terms : {1'000, 30'000, 100'000})
      EXPECT_EQ(query::from(three).in(interpreting).select(sum(terms)).to_vector(), wanted(terms)) << terms << " terms";
    EXPECT_EQ(plan_of(sum(30'000)).find("opaque"), std::string::npos);
    EXPECT_NE(plan_of(sum(100'000)).find("opaque: the expression has more than 65536 nodes"), std::string::npos);
  });
}

TEST(long_plans, conditions_within_each_other_are_traced_as_far_as_they_can_be_run) {
  const auto chosen = [](int choices) {
    return [choices](auto x) {
      auto y = x + 0;
      for (int i = 0; i < choices; ++i) y = query::iff(query::lazy(y) > i, 100 / y, y + 1);
      return y;
    };
  };
  const auto wanted = [](int choices) {
    std::vector<int> all;
    for (int y : three) {
      for (int i = 0; i < choices; ++i) y = y > i ? 100 / y : y + 1;
      all.push_back(y);
    }
    return all;
  };
  on_small_stack([&] {
    query::Session interpreting({.interpret = true});
    for (const int choices : {10, 900, 20'000})
      EXPECT_EQ(query::from(three).in(interpreting).select(chosen(choices)).to_vector(), wanted(choices)) << choices << " choices";
    EXPECT_NE(plan_of(chosen(20'000)).find("opaque: the expression has more than 1000 conditions within each other"), std::string::npos);
  });
}

}  // namespace
