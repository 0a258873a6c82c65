#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include <query/broadcast.hpp>
#include <query/function.hpp>
#include <query/functions.hpp>

namespace {

struct Point {
  float x, y;
};
QUERY_RECORD(Point, x, y);

// A collection of a lazy query: it has no rows of its own.
template <class T> query::collection<T> lazily() {
  return query::collection<T>(query::detail::make_capture(query::ir::describe<T>(), std::make_shared<const int>(0)));
}
query::detail::binding bind(const auto& c, const auto& rows) { return {c.handle()->slot, rows.data(), rows.size()}; }

TEST(collection, answers_natively) {
  const auto c = query::broadcast(std::vector<int>{5, 2, 9, 2});
  EXPECT_EQ(c.size(), 4u);
  EXPECT_EQ(c[2], 9);
  EXPECT_EQ(std::vector<int>(c.begin(), c.end()), (std::vector<int>{5, 2, 9, 2}));
  EXPECT_EQ(c.arg_min([](int e) { return e; }), 1);  // the first of equals
  EXPECT_EQ(c.arg_max(10, [](int row, int e) { return row - e; }), 1);
  EXPECT_EQ(c.min([](int e) { return e; }), 2);
  EXPECT_EQ(c.max(1.5, [](double row, int e) { return row * e; }), 13.5);
  EXPECT_EQ(c.sum([](int e) { return e; }), 18);
  EXPECT_EQ(c.count([](int e) { return e == 2; }), 2);
  EXPECT_EQ(c.count(3, [](int row, int e) { return e > row; }) - 5, -3);  // a count is an i64, as a query's is
  EXPECT_TRUE(c.any([](int e) { return e > 8; }));
  EXPECT_FALSE(c.all(3, [](int row, int e) { return e > row; }));
  EXPECT_TRUE(c.contains(9));
  EXPECT_FALSE(c.contains(10));
  EXPECT_EQ(c.fold(0.5, [](double s, int e) { return s + e; }), 18.5);
  EXPECT_EQ(c.fold(2, 0, [](int row, int s, int e) { return s + row * e; }), 36);
  static_assert(std::is_same_v<decltype(c.count([](int e) { return e > 2; })), std::int64_t>);
  static_assert(std::is_same_v<decltype(c.sum([](int e) { return e; })), std::int64_t>);
}

TEST(collection, without_elements_has_no_extremes) {
  const auto c = query::broadcast(std::vector<int>{});
  EXPECT_EQ(c.arg_min([](int e) { return e; }), -1);
  EXPECT_EQ(c.arg_max([](int e) { return e; }), -1);
  EXPECT_EQ(c.sum([](int e) { return e; }), 0);
  EXPECT_FALSE(c.any([](int) { return true; }));
  EXPECT_TRUE(c.all([](int) { return false; }));
  EXPECT_THROW(c.min([](int e) { return e; }), query::user_error);
}

TEST(collection, has_no_elements_outside) {
  const auto c = query::broadcast(std::vector<int>{5, 2});
  EXPECT_EQ(c[1], 2);
  EXPECT_THROW(c[2], query::user_error);
  EXPECT_THROW(c[static_cast<std::size_t>(-1)], query::user_error);
}

TEST(collection, copies_share_the_rows) {
  const auto c = query::broadcast(std::vector<int>(1000, 1));
  const auto d = c;
  EXPECT_EQ(&c[0], &d[0]);
}

TEST(collection, is_found_among_the_captures_of_any_function) {
  const auto a = query::broadcast(std::vector<int>{1}), b = query::broadcast(std::vector<int>{2});
  auto opaque = [a, b, twice = a](const Point& p) { return p.x > static_cast<float>(a[0] + b[0] + twice[0]); };
  const auto found = query::detail::captures_of(opaque);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], a.handle());
  EXPECT_EQ(found[1], b.handle());
  EXPECT_TRUE(query::detail::captures_of([&a](int) { return a.size(); }).empty());
}

TEST(collection, that_is_captured_by_reference_is_found_in_the_trace) {
  const auto a = query::broadcast(std::vector<float>{1, 2});
  query::detail::capture_recorder recorder;
  EXPECT_TRUE(query::trace<Point>([&a](auto p) { return a.sum(p, [](auto q, auto e) { return q.x * e; }); }));
  ASSERT_EQ(recorder.found().size(), 1u);
  EXPECT_EQ(recorder.found()[0], a.handle());
}

TEST(recorders, nest) {
  const auto a = query::broadcast(std::vector<int>{1});
  const auto f = [a](int) { return a.size(); };
  query::detail::capture_recorder outer;
  EXPECT_EQ(query::detail::captures_of(f).size(), 1u);
  EXPECT_TRUE(outer.found().empty());
  const auto copy = a;
  EXPECT_EQ(outer.found().size(), 1u);
}

TEST(bindings, give_a_captured_query_its_rows) {
  const auto c = lazily<int>();
  const std::vector<int> first{1, 2, 3}, second{10};
  const query::detail::binding one[] = {bind(c, first)}, two[] = {bind(c, second)};
  {
    query::detail::binding_scope outer(one);
    EXPECT_EQ(c.sum([](int e) { return e; }), 6);
    {
      query::detail::binding_scope inner(two);
      EXPECT_EQ(c.size(), 1u);
    }
    EXPECT_EQ(c.size(), 3u);
  }
  try {
    (void)c.size();
    FAIL();
  } catch (const query::user_error& e) {
    EXPECT_NE(std::string(e.what()).find("a captured query was used outside the query that captures it"), std::string::npos);
  }
}

TEST(bindings, belong_to_a_thread) {
  const auto c = lazily<int>();
  const std::vector<int> rows{1, 2, 3};
  const query::detail::binding one[] = {bind(c, rows)};
  query::detail::binding_scope scope(one);
  bool threw = false;
  std::thread([&] {
    try {
      (void)c.size();
    } catch (const query::user_error&) {
      threw = true;
    }
  }).join();
  EXPECT_TRUE(threw);
}

TEST(tracing, does_not_read_the_rows_of_a_captured_query) {
  const auto c = lazily<float>();
  const std::vector<float> rows{1, 2, 3};
  const query::detail::binding one[] = {bind(c, rows)};
  query::detail::binding_scope scope(one);  // the next iteration of a loop may bind others
  const std::string unknown = "the rows of a captured query are not known while a function is traced";
  EXPECT_TRUE(query::trace<Point>([c](auto p) { return p.x * c[0]; }).reason.starts_with(unknown));
  EXPECT_TRUE(query::trace<Point>([c](auto p) { return p.x > 0.f && c.size() > 2; }).reason.starts_with(unknown));
  EXPECT_TRUE(query::trace<Point>([c](auto p) { return c.any([&](auto e) { return e > p.x; }); }).reason.starts_with(unknown));
  EXPECT_TRUE(query::trace<Point>([c](auto p) { return c.any(p, [](auto q, auto e) { return e > q.x; }); }));
  EXPECT_TRUE(query::trace<Point>([c](auto p) { return c.arg_min([&](auto e) { return query::abs(e - p.x); }); }));
}

TEST(tracing, sees_branches_of_a_body_as_part_of_the_body) {
  const auto c = query::broadcast(std::vector<Point>(3));
  auto t = query::trace<Point>([c](auto p) {
    return c.sum(p, [](auto q, auto e) {
      if (q.x > e.x) return e.y;
      return q.y;
    });
  });
  ASSERT_TRUE(t) << t.reason;
  EXPECT_EQ(t.root->what, query::ir::op::nested);
  EXPECT_EQ(t.root->kids[0]->bits, c.handle()->slot);
}

}  // namespace
