// The other rows of a verb may be whatever query::from takes.
#include <array>
#include <list>
#include <map>
#include <memory>
#include <ranges>
#include <set>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"

namespace conformance {
namespace {

using numbers = std::vector<std::int64_t>;
const numbers rows{3, 1, 2};
const auto itself = [](auto x) { return x; };

CONFORMS(other_rows, keep_or_own_what_from_keeps_or_owns, "concat") {
  numbers kept{5};
  const auto q = source(e, rows);
  const auto of_container = q.concat(kept);
  const auto of_temporary = q.concat(numbers{7, 8});
  kept = {6, 6};
  EXPECT_ROWS(of_container.to_vector(), numbers{3, 1, 2, 6, 6});
  EXPECT_ROWS(of_temporary.to_vector(), numbers{3, 1, 2, 7, 8});
}

CONFORMS(other_rows, are_any_range, "concat") {
  const auto q = source(e, rows);
  const std::list<std::int64_t> list{4, 5};
  const std::int64_t plain[] = {6, 7};
  const std::array<std::int64_t, 1> array{8};
  [[maybe_unused]] const numbers odd_and_even{1, 2, 3};
  EXPECT_ROWS(q.concat(list).to_vector(), numbers{3, 1, 2, 4, 5});
  EXPECT_ROWS(q.concat(plain).to_vector(), numbers{3, 1, 2, 6, 7});
  EXPECT_ROWS(q.concat(array).to_vector(), numbers{3, 1, 2, 8});
  EXPECT_ROWS(q.concat(std::span<const std::int64_t>(plain, 1)).to_vector(), numbers{3, 1, 2, 6});
  EXPECT_ROWS(q.concat({9, 10}).to_vector(), numbers{3, 1, 2, 9, 10});
  EXPECT_ROWS(q.concat(std::set<std::int64_t>{12, 11}).to_vector(), numbers{3, 1, 2, 11, 12});
#if !defined(__clang__) || __clang_major__ >= 16  // older ones do not compile the views of libstdc++
  EXPECT_ROWS(q.concat(odd_and_even | std::views::filter([](std::int64_t x) { return x % 2 == 1; })).to_vector(), numbers{3, 1, 2, 1, 3});
#endif
  EXPECT_ROWS(q.concat(std::vector<std::int64_t>{}).to_vector(), rows);
}

CONFORMS(other_rows, of_joins, "join", "left_join", "right_join", "full_join", "semi_join", "anti_join", "group_join", "cross_join") {
  const auto q = source(e, rows);
  const std::list<std::int64_t> list{2, 2, 9};
  EXPECT_EQ(q.join(list, itself, itself).count(), 2);
  EXPECT_EQ(q.join(std::set<std::int64_t>{1, 2}, itself, itself, [](auto l, auto r) { return l + r; }).sum(), 6);
  EXPECT_EQ(q.left_join(list, itself, itself).count(), 4);
  EXPECT_EQ(q.right_join(list, itself, itself).count(), 3);
  EXPECT_EQ(q.full_join(list, itself, itself).count(), 5);
  EXPECT_ROWS(q.semi_join(list, itself, itself).to_vector(), numbers{2});
  EXPECT_EQ(q.anti_join(numbers{2}, itself, itself).count(), 2);
  EXPECT_EQ(q.group_join(list, itself, itself, [](auto, const auto& m) { return m.size(); }).sum(), 2u);
  EXPECT_EQ(q.cross_join(list).count(), 9);
  const std::map<std::int64_t, std::int64_t> names{{1, 10}, {3, 30}};
  EXPECT_EQ(q.join(
                 names, itself, [](const auto& p) { return p.first; }, [](auto, const auto& p) { return p.second; })
                .sum(),
            40);
  const auto equal = [](std::int64_t a, std::int64_t b) { return a % 2 == b % 2; };
  const auto hash = [](std::int64_t a) { return static_cast<std::size_t>(a % 2); };
  EXPECT_EQ(q.semi_join(numbers{1}, itself, itself, equal, hash).count(), 2);
}

CONFORMS(other_rows, of_sets_and_zip, "union_with", "union_with_by", "intersect", "intersect_by", "except", "except_by", "zip",
         "sequence_equal", "value_of") {
  const auto q = source(e, rows);
  const std::list<std::int64_t> list{2, 4};
  const auto odd = [](auto x) { return x % 2; };
  EXPECT_EQ(q.union_with(list).count(), 4);
  EXPECT_EQ(q.union_with({1, 4}).count(), 4);
  EXPECT_EQ(q.union_with_by(list, odd).count(), 2);
  EXPECT_ROWS(q.intersect(list).to_vector(), numbers{2});
  EXPECT_EQ(q.intersect_by(list, odd).count(), 1);
  EXPECT_EQ(q.except(list).count(), 2);
  EXPECT_EQ(q.except_by(numbers{4}, odd).count(), 1);
  EXPECT_EQ(q.zip(list).count(), 2);
  EXPECT_EQ(q.zip(list, [](auto a, auto b) { return a * b; }).sum(), 10);
  EXPECT_TRUE(q.sequence_equal(numbers{3, 1, 2}));
  const std::int64_t array[] = {3, 1, 2};
  EXPECT_TRUE(q.sequence_equal(array));
  EXPECT_FALSE(q.sequence_equal(array, std::not_equal_to<>()));
  EXPECT_EQ(q.union_with(array).count(), 3);
  EXPECT_EQ(query::value_of(rows).sum().get(), 6);
}

CONFORMS(other_rows, of_nearest_times_and_conditions, "asof_join", "join_where") {
  using value = std::int64_t;
  const auto q = source(e, rows);
  const std::list<value> list{5, 6};
  const value array[] = {7, 8, 9};
  const auto above = [](auto x, auto m) { return std::pair(x, m.value_or(-1)); };
  EXPECT_ROWS(q.asof_join(list, itself, itself, above).to_vector(), (std::vector<std::pair<value, value>>{{3, -1}, {1, -1}, {2, -1}}));
  EXPECT_ROWS(q.asof_join(std::set<value>{1, 2}, itself, itself, above).to_vector(),
              (std::vector<std::pair<value, value>>{{3, 2}, {1, 1}, {2, 2}}));
  EXPECT_EQ(q.asof_join(array, itself, itself, above, {.direction = query::nearest::forward}).sum([](auto p) { return p.second; }), 21);
  EXPECT_EQ(q.asof_join(array, itself, itself, itself, itself).count(), 3);
  EXPECT_ROWS(q.join_where(array, [](auto a, auto b) { return a + 6 == b; }).to_vector(),
              (std::vector<std::pair<value, value>>{{3, 9}, {1, 7}, {2, 8}}));
  const std::map<value, value> names{{1, 5}, {2, 6}};
  EXPECT_ROWS(q.join_where(names, [](const auto& a, const auto& p) { return a == p.first; }, [](const auto&, const auto& p) {
    return p.second;
  }).to_vector(), (numbers{5, 6}));
  const std::vector<bool> bits{true, false, true};
  EXPECT_EQ(q.join_where(bits, [](const value& a, const bool& b) { return b && a == 1; }).count(), 2);
}

// A C array in each place, beside a list in the others.
CONFORMS(other_rows, of_zip_with_three_and_four, "zip") {
  const auto q = source(e, rows);
  const std::list<std::int64_t> list{10, 20};
  const std::int64_t array[] = {100, 200, 300};
  const auto three = [](auto a, auto b, auto c) { return a + b + c; };
  const auto four = [](auto a, auto b, auto c, auto d) { return a + b + c + d; };
  const auto all = [](auto t) { return std::apply([](auto... x) { return (x + ...); }, t); };
  const numbers of_two{113, 221}, of_three{123, 241}, with_arrays{213, 421};
  EXPECT_ROWS(q.zip(array).select(all).to_vector(), (numbers{103, 201, 302}));
  EXPECT_ROWS(q.zip(array, list).select(all).to_vector(), of_two);
  EXPECT_ROWS(q.zip(list, array).select(all).to_vector(), of_two);
  EXPECT_ROWS(q.zip(array, list, three).to_vector(), of_two);
  EXPECT_ROWS(q.zip(list, array, three).to_vector(), of_two);
  EXPECT_ROWS(q.zip(array, array).select(all).to_vector(), (numbers{203, 401, 602}));
  EXPECT_ROWS(q.zip(array, list, list).select(all).to_vector(), of_three);
  EXPECT_ROWS(q.zip(list, array, list).select(all).to_vector(), of_three);
  EXPECT_ROWS(q.zip(list, list, array).select(all).to_vector(), of_three);
  EXPECT_ROWS(q.zip(array, list, list, four).to_vector(), of_three);
  EXPECT_ROWS(q.zip(list, array, list, four).to_vector(), of_three);
  EXPECT_ROWS(q.zip(list, list, array, four).to_vector(), of_three);
  EXPECT_ROWS(q.zip(array, list, array, four).to_vector(), with_arrays);
  EXPECT_ROWS(q.zip({std::int64_t{1}, std::int64_t{2}}, list, three).to_vector(), (numbers{14, 23}));
  const std::vector<bool> bits{true, false, true};
  EXPECT_EQ(q.zip(std::set<int>{1, 2}, std::map<int, int>{{1, 2}, {3, 4}}, bits).count(), 2);
}

CONFORMS(other_rows, are_groups, "zip", "group_by") {
  const auto q = source(e, rows);
  EXPECT_EQ(q.zip(q.group_by([](auto x) { return x % 2; })).count(), 2);
}
struct position {
  std::int32_t x;
  double y;
};
QUERY_RECORD(position, x, y);
CONFORMS(other_rows, are_columns, "concat", "columns") {
  const std::vector<position> first{{1, 2.0}};
  const std::vector<std::int32_t> x{3, 4};
  const std::vector<double> y{5.0, 6.0};
  EXPECT_EQ(source(e, first).concat(query::columns<position>(x, y)).sum([](auto p) { return p.x * p.y; }), 41);
}

CONFORMS(other_rows, of_broadcast, "broadcast", "where") {
  const auto q = source(e, rows);
  const std::int64_t plain[] = {2, 3};
  const auto inside = [&](const auto& wanted) { return q.where([wanted](auto x) { return wanted.contains(x); }).count(); };
  EXPECT_EQ(inside(query::broadcast(plain)), 2);
  EXPECT_EQ(inside(query::broadcast({std::int64_t{1}})), 1);
  const std::vector<bool> bits{true, true};
  EXPECT_EQ(query::broadcast(bits).size(), 2u);
}

// ---------------------------------------------------------------- rows that cannot be copied
CONFORMS(uncopied_rows, are_read_where_they_lie, "where", "select", "count", "sum", "any", "all", "for_each") {
  std::vector<std::unique_ptr<std::int64_t>> owners;
  for (const std::int64_t x : rows) owners.push_back(std::make_unique<std::int64_t>(x));
  const auto q = source(e, owners);
  EXPECT_EQ(q.count(), 3);
  EXPECT_EQ(q.where([](const auto& p) { return *p > 1; }).sum([](const auto& p) { return *p; }), 5);
  EXPECT_ROWS(q.select([](const auto& p) { return *p * 2; }).order().to_vector(), numbers{2, 4, 6});
  EXPECT_TRUE(q.any([](const auto& p) { return *p == 3; }) && q.all([](const auto& p) { return *p > 0; }) && q.any());
  EXPECT_FALSE(q.any([](const auto& p) { return *p == 4; }) || q.all([](const auto& p) { return *p > 1; }));
  std::int64_t sum = 0;
  q.for_each([&](const auto& p) { sum += *p; });
  EXPECT_EQ(sum, 6);
}
// A struct may hold a query of its own kind.
struct branch {
  std::int64_t leaves = 0;
  query::Query<branch> further;
};
TEST(uncopied_rows, rows_of_an_unfinished_type_can_be_copied) {
  const std::vector<branch> twigs(3, branch{2, {}});
  EXPECT_EQ((branch{1, query::from(twigs)}.further.sum([](const branch& b) { return b.leaves; })), 6);
}

// ---------------------------------------------------------------- a query that was given no rows
CONFORMS(empty_queries, are_queries_of_no_rows, "Query") {
  struct holder {
    query::Query<std::int64_t> q;
  };
  const holder h;
  const auto q = on(e, h.q);
  EXPECT_EQ(q.count(), 0);
  EXPECT_TRUE(q.to_vector().empty());
  EXPECT_EQ(q.sum(), 0);
  EXPECT_EQ(q.min(), std::nullopt);
  EXPECT_FALSE(q.any());
  EXPECT_TRUE(q.all([](auto x) { return x > 3; }));
  EXPECT_THROW(q.first(), query::user_error);
  EXPECT_EQ(q.first_or_none(), std::nullopt);
  EXPECT_EQ(q.where([](auto x) { return x > 0; }).select([](auto x) { return x * 2; }).count(), 0);
  EXPECT_EQ(q.order_by(itself).take(3).count(), 0);
  EXPECT_EQ(q.group_by(itself).count().count(), 0);
  EXPECT_EQ(q.join(rows, itself, itself).count(), 0);
  EXPECT_EQ(source(e, rows).left_join(q, itself, itself).count(), 3);
  EXPECT_EQ(q.concat(rows).count(), 3);
  EXPECT_EQ(q.distinct().count() + q.reverse().count() + q.zip(rows).count() + q.window(2).count() + q.union_with(q).count(), 0);
  EXPECT_EQ(q.default_if_empty(7).first(), 7);
  EXPECT_EQ(source(e, rows).except(q).count(), 3);
  for (const std::int64_t x : q) ADD_FAILURE() << x;
  EXPECT_NE(q.explain().find("\n  empty query of i64"), std::string::npos) << q.explain();
  EXPECT_FALSE(q.explain_dot().empty());
  EXPECT_EQ(query::Query<std::string>().count() + query::Query<bool>().count(), 0);
  const query::Query<std::pair<int, std::vector<double>>> pairs;
  EXPECT_TRUE(pairs.to_vector().empty());
}
CONFORMS(empty_queries, are_assigned, "Query") {
  query::Query<std::int64_t> q;
  q = source(e, rows);
  EXPECT_EQ(q.sum(), 6);
  q = {};
  EXPECT_EQ(q.sum(), 0);
}

}  // namespace
}  // namespace conformance
