// What producers of Arrow data give: every layout, slices, nulls, and what does not fit the record.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <query/arrow.hpp>
#include <query/query.hpp>

#include "data/arrow_fixture.hpp"

namespace arrow_test {

using namespace arrow_fixture;

enum class side : std::int8_t { buy, sell };

struct Numbers {
  std::int8_t a;
  std::uint16_t b;
  std::int64_t c;
  float d;
  double e;
  bool f;
  side g;
};
QUERY_RECORD(Numbers, a, b, c, d, e, f, g);

struct Value {
  std::int64_t x;
};
QUERY_RECORD(Value, x);
struct Text {
  std::string s;
};
QUERY_RECORD(Text, s);
struct MaybeText {
  std::optional<std::string> s;
};
QUERY_RECORD(MaybeText, s);
struct Maybe {
  std::optional<std::int32_t> x;
  std::optional<bool> b;
};
QUERY_RECORD(Maybe, x, b);
struct Trade {
  std::int64_t id;
  std::string symbol;
  double price;
};
QUERY_RECORD(Trade, id, symbol, price);
struct Point {
  double x;
  std::string label;
};
QUERY_RECORD(Point, x, label);
struct Nested {
  Point p;
  std::optional<Point> q;
  std::vector<std::int32_t> list;
  std::vector<std::string> names;
  std::vector<Point> points;
  std::array<float, 2> pair;
  std::optional<std::vector<std::optional<std::int32_t>>> maybe;
};
QUERY_RECORD(Nested, p, q, list, names, points, pair, maybe);

const std::string long_a = "a string that is longer than a view", long_b = "another one, in another buffer";

template <class Row, class F> std::string error_of(column c, F f) {
  try {
    auto q = query_of<Row>(std::move(c));
    f(q);
  } catch (const query::user_error& e) {
    return e.what();
  }
  return "no error";
}
template <class Row> std::string error_of(column c) {
  return error_of<Row>(std::move(c), [](auto&) {});
}
bool says(const std::string& text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view p : parts)
    if (text.find(p) == text.npos) {
      ADD_FAILURE() << "'" << p << "' is not in: " << text;
      return false;
    }
  return true;
}

class arrow : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(alive, 0) << "structs were not released"; }
};

TEST_F(arrow, reads_numbers_of_every_width) {
  auto q = query_of<Numbers>(structure(
      3, {numbers<std::int8_t>("c", {1, -2, 3}).named("a"), numbers<std::uint16_t>("S", {1, 2, 65535}).named("b"),
          numbers<std::int64_t>("l", {1, 2, -3}).named("c"), numbers<float>("f", {1.5f, 2, 3}).named("d"),
          numbers<double>("g", {0.5, 2, 3}).named("e"), bools({true, false, true}).named("f"),
          numbers<std::int8_t>("c", {0, 1, 0}).named("g")}));
  const auto rows = q.to_vector();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].a, -2);
  EXPECT_EQ(rows[2].b, 65535);
  EXPECT_EQ(rows[2].c, -3);
  EXPECT_EQ(rows[0].d, 1.5f);
  EXPECT_EQ(rows[0].e, 0.5);
  EXPECT_TRUE(rows[0].f && !rows[1].f && rows[2].f);
  EXPECT_EQ(rows[1].g, side::sell);
  EXPECT_EQ(q.where([](auto r) { return r.f; }).sum([](auto r) { return r.e; }), 3.5);
  EXPECT_EQ(q.where([](const Numbers& r) { return r.f; }).count(), 2);
}

TEST_F(arrow, reads_numbers_where_they_lie) {
  exported e(structure(4, {numbers<std::int64_t>("l", {1, 2, 3, 4}).named("x")}));
  auto* const there = static_cast<std::int64_t*>(const_cast<void*>(e.array.children[0]->buffers[1]));
  const auto q = query::from_arrow<Value>(&e.array, &e.schema);
  EXPECT_EQ(e.array.release, nullptr);
  EXPECT_EQ(e.schema.release, nullptr);
  EXPECT_EQ(q.sum([](auto r) { return r.x; }), 10);
  there[0] = 11;  // nothing but the buffer itself can show this
  EXPECT_EQ(q.sum([](auto r) { return r.x; }), 20);
}

TEST_F(arrow, keeps_its_data_as_long_as_a_copy_of_the_query) {
  std::optional<query::Query<Value>> longer;
  {
    const auto q = query_of<Value>(structure(2, {numbers<std::int64_t>("l", {1, 2}).named("x")}));
    longer = q.where([](auto r) { return r.x > 1; });
  }
  EXPECT_GT(alive, 0);
  EXPECT_EQ(longer->count(), 1);
  longer.reset();
  EXPECT_EQ(alive, 0);
}

TEST_F(arrow, copies_numbers_that_are_not_aligned) {
  column c = numbers<std::int64_t>("l", {1, 2, 3});
  c.buffers[1]->insert(c.buffers[1]->begin(), std::byte{0});
  const auto of = std::make_shared<const column>(structure(3, {std::move(c).named("x")}));
  exported e(*of);
  const void*& values = e.array.children[0]->buffers[1];
  values = static_cast<const std::byte*>(values) + 1;
  EXPECT_EQ(query::from_arrow<Value>(&e.array, &e.schema).sum([](auto r) { return r.x; }), 6);
}

TEST_F(arrow, reads_strings_of_every_layout) {
  const std::vector<std::string> s{"", long_a, "twelve chars", long_b, "b", ""};
  const auto check = [&](column c) {
    const auto q = query_of<Text>(structure(c.length, {std::move(c).named("s")}));
    std::vector<std::string> got;
    for (const Text& t : q) got.push_back(t.s);
    EXPECT_EQ(got, s);
    EXPECT_EQ(q.where([&](auto r) { return r.s == "b"; }).count(), 1);
  };
  check(texts<std::int32_t>(s));
  check(texts<std::int64_t>(s));
  check(text_views(s));
  const std::vector<std::string> values{"b", long_a, "", long_b, "twelve chars"};
  check(dictionary<std::int8_t>("c", {2, 1, 4, 3, 0, 2}, texts<std::int32_t>(values)));
  check(dictionary<std::uint8_t>("C", {2, 1, 4, 3, 0, 2}, texts<std::int64_t>(values)));
  check(dictionary<std::int16_t>("s", {2, 1, 4, 3, 0, 2}, text_views(values)));
  check(dictionary<std::uint32_t>("I", {2, 1, 4, 3, 0, 2}, text_views(values)));
  check(dictionary<std::int64_t>("l", {3, 2, 5, 4, 1, 3}, texts<std::int32_t>({"no", "b", long_a, "", long_b, "twelve chars"})));
}

TEST_F(arrow, reads_slices) {
  const std::vector<std::string> s{"x", "one", long_a, "three", "y", "z"};
  const auto check = [&](column c) {
    const auto rows = query_of<Text>(structure(3, {std::move(c).slice(1, 3).named("s")})).to_vector();
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].s, "one");
    EXPECT_EQ(rows[1].s, long_a);
    EXPECT_EQ(rows[2].s, "three");
  };
  check(texts<std::int32_t>(s));
  check(texts<std::int64_t>(s));
  check(text_views(s));
  check(dictionary<std::int32_t>("i", {0, 1, 2, 3, 4, 5}, texts<std::int32_t>(s)));
  check(dictionary<std::int32_t>("i", {9, 0, 1, 2}, texts<std::int32_t>(s).slice(1, 5)));  // a sliced dictionary

  // The batch has a slice of its own.
  column numbered = with_nulls(numbers<std::int32_t>("i", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
                               {true, true, true, false, true, true, true, true, true, false, true, true});
  column flags = bools({false, true, false, true, true, true, true, true, true, true, false});
  auto q = query_of<Maybe>(
      structure(9, {std::move(numbered).slice(2, 10).named("x"), std::move(flags).slice(1, 10).named("b")}).slice(1, 9));
  std::vector<std::optional<std::int32_t>> x;
  std::vector<std::optional<bool>> b;
  for (const Maybe& m : q) x.push_back(m.x), b.push_back(m.b);
  const std::vector<std::optional<std::int32_t>> wanted{{}, 4, 5, 6, 7, 8, {}, 10, 11};
  EXPECT_EQ(x, wanted);
  EXPECT_EQ(b, (std::vector<std::optional<bool>>{false, true, true, true, true, true, true, true, false}));
}

TEST_F(arrow, reads_nulls_as_empty_optionals) {
  auto q = query_of<MaybeText>(structure(3, {with_nulls(texts<std::int32_t>({"a", "", long_a}), {true, false, true}, 1).named("s")}));
  auto rows = q.to_vector();
  EXPECT_EQ(rows[0].s, "a");
  EXPECT_EQ(rows[1].s, std::nullopt);
  EXPECT_EQ(rows[2].s, long_a);
  // Null keys, and null values that keys point to.
  column values = with_nulls(texts<std::int32_t>({"v", "w"}), {true, false});
  column keys = with_nulls(dictionary<std::int32_t>("i", {0, 9, 1, 0}, std::move(values)), {true, false, true, true});
  rows = query_of<MaybeText>(structure(4, {std::move(keys).named("s")})).to_vector();
  EXPECT_EQ(rows[0].s, "v");
  EXPECT_EQ(rows[1].s, std::nullopt);
  EXPECT_EQ(rows[2].s, std::nullopt);
  EXPECT_EQ(rows[3].s, "v");
  const auto none = query_of<MaybeText>(structure(2, {all_null(2).named("s")}));
  EXPECT_EQ(none.where([](auto r) { return !r.s.has_value(); }).count(), 2);
}

column nested() {
  return structure(
      3, {structure(3, {numbers<double>("g", {1, 2, 3}).named("x"), texts<std::int32_t>({"a", "b", long_a}).named("label")}).named("p"),
          // A null record, whose fields are null too.
          with_nulls(structure(3, {with_nulls(numbers<double>("g", {1, 2, 3}), {true, false, true}).named("x"),
                                   texts<std::int64_t>({"a", "", long_b}).named("label")}),
                     {true, false, true})
              .named("q"),
          lists<std::int32_t>({1, 3, 3, 4}, numbers<std::int32_t>("i", {9, 10, 11, 12})).named("list"),
          lists<std::int64_t>({0, 1, 1, 3}, text_views({"n", long_a, long_b})).named("names"),
          lists<std::int32_t>(
              {0, 2, 2, 3}, structure(3, {numbers<double>("g", {4, 5, 6}).named("x"),
                                          dictionary<std::int8_t>("c", {0, 0, 1}, texts<std::int32_t>({"k", "l"})).named("label")}))
              .named("points"),
          fixed_lists(2, 3, numbers<float>("f", {1, 2, 3, 4, 5, 6})).named("pair"),
          with_nulls(lists<std::int32_t>({0, 2, 3, 3}, with_nulls(numbers<std::int32_t>("i", {1, 2, 3}), {true, false, true})),
                     {true, false, true})
              .named("maybe")});
}
void check_nested(const std::vector<Nested>& rows) {
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].p.x, 3);
  EXPECT_EQ(rows[2].p.label, long_a);
  ASSERT_TRUE(rows[2].q && !rows[1].q);
  EXPECT_EQ(rows[2].q->label, long_b);
  EXPECT_EQ(rows[0].list, (std::vector<std::int32_t>{10, 11}));
  EXPECT_TRUE(rows[1].list.empty());
  EXPECT_EQ(rows[2].list, std::vector<std::int32_t>{12});
  EXPECT_EQ(rows[2].names, (std::vector<std::string>{long_a, long_b}));
  ASSERT_EQ(rows[0].points.size(), 2u);
  EXPECT_EQ(rows[0].points[1].x, 5);
  EXPECT_EQ(rows[2].points[0].label, "l");
  EXPECT_EQ(rows[1].pair, (std::array<float, 2>{3, 4}));
  ASSERT_TRUE(rows[0].maybe && !rows[1].maybe && rows[2].maybe);
  EXPECT_EQ(*rows[0].maybe, (std::vector<std::optional<std::int32_t>>{1, std::nullopt}));
}

TEST_F(arrow, reads_nested_columns) { check_nested(query_of<Nested>(nested()).to_vector()); }

TEST_F(arrow, reads_times_as_integers) {
  EXPECT_EQ(query_of<Value>(structure(1, {numbers<std::int64_t>("tsu:Europe/Berlin", {7}).named("x")})).sum([](auto r) { return r.x; }), 7);
  EXPECT_EQ(query_of<Maybe>(structure(1, {numbers<std::int32_t>("tdD", {7}).named("x"), bools({true}).named("b")})).first().x, 7);
  says(error_of<Value>(structure(1, {numbers<std::int32_t>("tdD", {7}).named("x")})), {"'x'", "i64", "date32"});
}

TEST_F(arrow, reads_empty_columns) {
  column none = texts<std::int32_t>({});
  none.buffers = {nullptr, nullptr, nullptr};
  auto q = query_of<Text>(structure(0, {std::move(none).named("s")}));
  EXPECT_EQ(q.count(), 0);
  EXPECT_TRUE(q.to_vector().empty());
  auto s = stream_of({structure(0, {texts<std::int32_t>({}).named("s")})});
  EXPECT_EQ(query::from_arrow<Text>(&s).count(), 0);
  EXPECT_EQ(s.release, nullptr);
}

TEST_F(arrow, reads_all_batches_of_a_stream) {
  std::vector<column> batches;
  std::int64_t sum = 0;
  for (std::int64_t b = 0; b < 5; ++b) {
    const std::int64_t n = b == 2 ? 0 : 7'000 * b + 1;  // morsels end inside of batches
    std::vector<std::int64_t> id(static_cast<std::size_t>(n));
    std::iota(id.begin(), id.end(), sum);
    sum += n;
    std::vector<std::string> names;
    for (const std::int64_t i : id) names.push_back("symbol number " + std::to_string(i));
    batches.push_back(structure(n, {texts<std::int32_t>(names).named("symbol"), numbers("l", id).named("id"),
                                    numbers("g", std::vector<double>(id.begin(), id.end())).named("price")}));
  }
  auto s = stream_of(std::move(batches));
  const auto q = query::from_arrow<Trade>(&s);
  std::int64_t i = 0;
  for (const Trade& t : q) {
    ASSERT_EQ(t.id, i);
    ASSERT_EQ(t.symbol, "symbol number " + std::to_string(i));
    ++i;
  }
  EXPECT_EQ(i, sum);
  EXPECT_EQ(q.sum([](auto t) { return t.price; }), static_cast<double>(sum * (sum - 1) / 2));
}

TEST_F(arrow, releases_all_where_a_stream_fails) {
  const column batch = structure(1, {numbers<std::int64_t>("l", {1}).named("x")});
  auto s = stream_of({batch, batch}, 1);
  try {
    query::from_arrow<Value>(&s);
    FAIL();
  } catch (const query::user_error& e) {
    says(e.what(), {"from_arrow", "the disk is gone", "arrow_test.cpp"});
  }
  EXPECT_EQ(s.release, nullptr);
}

TEST_F(arrow, finds_columns_by_name_and_ignores_others) {
  auto q = query_of<Value>(structure(1, {texts<std::int32_t>({"no"}).named("y"), column{"+r", "z", 1, 0, 0, {}, {}, nullptr},
                                         numbers<std::int64_t>("l", {5}).named("x")}));
  EXPECT_EQ(q.sum([](auto r) { return r.x; }), 5);
}

TEST_F(arrow, names_field_and_types_of_what_does_not_fit) {
  const auto of = [](column c) { return structure(c.length, {std::move(c).named("x")}); };
  says(error_of<Value>(structure(0, {numbers<std::int64_t>("l", {}).named("y")})), {"from_arrow", "'x'", "i64", "y", "arrow_fixture.hpp"});
  says(error_of<Value>(of(numbers<std::int32_t>("i", {1}))), {"field 'x' is i64", "int32"});
  says(error_of<Value>(of(numbers<std::uint64_t>("L", {1}))), {"field 'x' is i64", "uint64"});
  says(error_of<Value>(of(texts<std::int32_t>({"1"}))), {"field 'x' is i64", "utf8"});
  says(error_of<Value>(of(dictionary<std::int8_t>("c", {0}, texts<std::int32_t>({"1"})))), {"i64", "dictionary<int8, utf8>"});
  says(error_of<Value>(of(column{"d:10,2", "", 0, 0, 0, {nullptr, nullptr}, {}, nullptr})), {"i64", "decimal"});
  says(error_of<Value>(of(column{"vl", "", 0, 0, 0, {nullptr, nullptr}, {}, nullptr})), {"i64", "'vl'"});
  says(error_of<Value>(numbers<std::int64_t>("l", {1})), {"Value", "struct", "int64"});
  says(error_of<Text>(structure(1, {numbers<std::int64_t>("l", {1}).named("s")})), {"'s' is string", "int64"});
  says(error_of<MaybeText>(structure(1, {bools({true}).named("s")})), {"'s' is optional<string>", "bool"});
  column wrong = nested();
  wrong.children[4].children[0].children[0] = numbers<float>("f", {1, 2, 3}).named("x");
  says(error_of<Nested>(wrong), {"'points[].x' is f64", "float"});
  wrong = nested();
  wrong.children[5] = fixed_lists(3, 3, numbers<float>("f", std::vector<float>(9))).named("pair");
  says(error_of<Nested>(wrong), {"'pair' is array<f32, 2>", "fixed_size_list<float, 3>"});
  says(error_of<Value>(structure(1, {numbers<std::int64_t>("l", {1}).named("x"), numbers<std::int64_t>("l", {1}).named("x")})),
       {"two Arrow columns", "'x'"});
  says(error_of<Value>(structure(2, {numbers<std::int64_t>("l", {1}).named("x")})), {"'x'", "1 values for 2 rows"});
  ArrowArray none{};
  ArrowSchema no_types{};
  EXPECT_THROW(query::from_arrow<Value>(&none, &no_types), query::user_error);
  EXPECT_THROW(query::from_arrow<Value>(static_cast<ArrowArrayStream*>(nullptr)), query::user_error);
}

TEST_F(arrow, names_the_row_of_a_null_that_has_no_optional) {
  std::vector<bool> there(200, true);
  there[133] = false;
  const auto numbered = [&] { return with_nulls(numbers("l", std::vector<std::int64_t>(200)), there).named("x"); };
  says(error_of<Value>(structure(200, {numbered()})), {"field 'x' is i64", "int64", "row 133", "std::optional"});
  says(error_of<Value>(structure(100, {numbered().slice(50, 150)}).slice(30, 100)), {"row 53"});
  EXPECT_EQ(query_of<Value>(structure(60, {numbered().slice(70, 60)})).count(), 60);  // it is not in the slice
  column values = with_nulls(texts<std::int32_t>({"a", ""}), {true, false});
  says(error_of<Text>(structure(2, {dictionary<std::int8_t>("c", {0, 1}, std::move(values)).named("s")})), {"'s'", "row 1"});
  says(error_of<Value>(with_nulls(structure(2, {numbers<std::int64_t>("l", {1, 2}).named("x")}), {true, false})), {"row 1", "as a whole"});
  says(error_of<Text>(structure(1, {all_null(1).named("s")})), {"'s' is string", "null", "row 0"});
  // In lists and records, unless the record itself is null.
  column wrong = nested();
  wrong.children[3].children[0] = with_nulls(text_views({"n", long_a, long_b}), {true, true, false});
  says(error_of<Nested>(wrong), {"'names[]' is string", "row 2"});
  wrong = nested();
  wrong.children[1].children[0] = with_nulls(numbers<double>("g", {1, 2, 3}), {true, false, false}).named("x");
  says(error_of<Nested>(wrong), {"'q.x' is f64", "row 2"});
  std::vector<column> batches;
  batches.push_back(structure(3, {numbers<std::int64_t>("l", {1, 2, 3}).named("x")}));
  batches.push_back(structure(2, {with_nulls(numbers<std::int64_t>("l", {1, 2}), {true, false}).named("x")}));
  auto s = stream_of(std::move(batches));
  try {
    query::from_arrow<Value>(&s);
    FAIL();
  } catch (const query::user_error& e) {
    says(e.what(), {"row 4"});
  }
}

TEST_F(arrow, converts_only_columns_that_are_read) {
  // Characters that cannot be read.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const closed = ::mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  exported e(structure(3, {numbers<std::int64_t>("l", {1, 2, 3}).named("id"), texts<std::int32_t>({"a", "b", "c"}).named("symbol"),
                           with_nulls(numbers<double>("g", {1, 2, 3}), {true, true, true}).named("price")}));
  e.array.children[1]->buffers[2] = closed;
  const auto q = query::from_arrow<Trade>(&e.array, &e.schema);
  EXPECT_EQ(q.where([](auto t) { return t.id > 1; }).sum([](auto t) { return t.price; }), 5);
  EXPECT_EQ(q.group_by([](auto t) { return t.id % 2; }).select([](auto g) { return g.sum([](auto t) { return t.price; }); }).count(), 2);
  EXPECT_EQ(q.count(), 3);
  const auto dear = q.where([](auto t) { return t.price > 1; });
  EXPECT_EQ(dear.count(), 2);
  EXPECT_EQ(dear.order_by([](auto t) { return -t.id; }).select([](auto t) { return t.id; }).first(), 3);
  ::munmap(closed, page);
}

TEST_F(arrow, goes_through_joins_groups_and_sorts) {
  const auto trades = [&] {
    column keys = dictionary<std::int8_t>("c", {0, 1, 0, 2, 1, 0}, texts<std::int32_t>({"a", "b", long_a}));
    return query_of<Trade>(structure(6, {numbers<std::int64_t>("l", {0, 1, 2, 3, 4, 5}).named("id"), std::move(keys).named("symbol"),
                                         numbers<double>("g", {6, 5, 4, 3, 2, 1}).named("price")}));
  };
  const auto q = trades();
  const auto sums = q.group_by([](auto t) { return t.symbol; })
                        .select([](auto g) { return query::make<Point>(g.sum([](auto t) { return t.price; }), g.key()); })
                        .order_by([](auto p) { return p.label; })
                        .to_vector();
  ASSERT_EQ(sums.size(), 3u);
  EXPECT_EQ(sums[0].x, 11);
  EXPECT_EQ(sums[1].label, long_a);
  const auto pairs = q.join(trades(), [](auto t) { return t.symbol; }, [](auto t) { return t.symbol; },
                            [](auto l, auto r) { return query::make<Trade>(l.id * 10 + r.id, r.symbol, l.price + r.price); });
  EXPECT_EQ(pairs.count(), 9 + 4 + 1);
  EXPECT_EQ(q.order_by([](auto t) { return t.price; }).first().id, 5);
  EXPECT_NE(q.explain().find("from_arrow"), std::string::npos);
}

TEST_F(arrow, is_verified_and_interpreted_as_other_sources) {
  const auto q = query_of<Trade>(structure(2, {numbers<std::int64_t>("l", {1, 2}).named("id"), text_views({"a", long_a}).named("symbol"),
                                               numbers<double>("g", {1, 2}).named("price")}));
  EXPECT_EQ(q.verify().where([](auto t) { return t.symbol == "a"; }).sum([](auto t) { return t.price; }), 1);
  query::Session interpreting({.interpret = true});
  EXPECT_EQ(q.in(interpreting).where([](auto t) { return t.symbol == "a"; }).select([](auto t) { return t.price; }).sum(), 1);
}

}  // namespace arrow_test
