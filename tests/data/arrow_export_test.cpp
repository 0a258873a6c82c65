// What consumers of Arrow data get: the same values as the rows, shared where they can be, released one by one.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <query/arrow.hpp>
#include <query/query.hpp>

namespace arrow_export_test {

struct Inner {
  std::int32_t n;
  std::string text;
};
QUERY_RECORD(Inner, n, text);
struct All {
  std::int64_t id;
  bool flag;
  std::string text;
  std::optional<std::string> maybe;
  std::optional<double> number;
  Inner inner;
  std::optional<Inner> maybe_inner;
  std::vector<std::string> names;
  std::optional<std::vector<std::optional<std::int16_t>>> list;
  std::array<float, 3> triple;
  std::pair<std::int32_t, std::string> both;
};
QUERY_RECORD(All, id, flag, text, maybe, number, inner, maybe_inner, names, list, triple, both);
struct Row {
  std::int64_t id;
  std::string text;
  std::array<float, 2> two;
};
QUERY_RECORD(Row, id, text, two);

All row(std::int64_t i) {
  const std::string text = i % 3 ? "short" : "text number " + std::to_string(i) + " of many";
  All a{i, i % 2 == 0, text, {}, {}, {static_cast<std::int32_t>(i), text}, {}, {}, {}, {1, static_cast<float>(i), 3}, {7, text}};
  if (i % 5) a.maybe = text;
  if (i % 7) a.number = static_cast<double>(i) / 2;
  if (i % 4 == 1) a.maybe_inner = Inner{-1, "inner " + text};
  for (std::int64_t k = 0; k < i % 3; ++k) a.names.push_back(text + "!");
  if (i % 6) {
    a.list.emplace(static_cast<std::size_t>(i % 6));
    if (i % 2) a.list->front() = static_cast<std::int16_t>(i);
  }
  return a;
}
std::vector<All> rows(std::int64_t n) {
  std::vector<All> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(row(i));
  return all;
}
bool same(const Inner& a, const Inner& b) { return a.n == b.n && a.text == b.text; }
bool same(const std::optional<Inner>& a, const std::optional<Inner>& b) { return a.has_value() == b.has_value() && (!a || same(*a, *b)); }
void expect_same(const std::vector<All>& a, const std::vector<All>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const All &x = a[i], &y = b[i];
    ASSERT_TRUE(x.id == y.id && x.flag == y.flag && x.text == y.text && x.maybe == y.maybe && x.number == y.number) << "row " << i;
    ASSERT_TRUE(same(x.inner, y.inner) && same(x.maybe_inner, y.maybe_inner)) << "row " << i;
    ASSERT_TRUE(x.names == y.names && x.list == y.list && x.triple == y.triple && x.both == y.both) << "row " << i;
  }
}

TEST(arrow_export, gives_a_stream_of_the_same_rows) {
  for (const std::int64_t n : {0, 1, 100, 200'000}) {
    const auto all = rows(n);
    ArrowArrayStream s{};
    query::to_arrow(query::from(all), &s);
    expect_same(query::from_arrow<All>(&s).to_vector(), all);
    EXPECT_EQ(s.release, nullptr);
  }
}

TEST(arrow_export, gives_one_batch_of_the_same_rows) {
  for (const std::int64_t n : {0, 1, 200'000}) {
    const auto all = rows(n);
    ArrowArray array{};
    ArrowSchema schema{};
    query::to_arrow(query::from(all).to_columns(), &array, &schema);
    EXPECT_EQ(array.length, n);
    expect_same(query::from_arrow<All>(&array, &schema).to_vector(), all);
  }
}

TEST(arrow_export, shares_numbers_arrays_and_short_strings) {
  std::vector<Row> rows;
  for (int i = 0; i < 10; ++i) rows.push_back({i, "row " + std::to_string(i), {1.0f * static_cast<float>(i), 2}});
  auto result = query::from(rows).to_columns();
  const auto chunk = result[0];
  ArrowArray array{};
  ArrowSchema schema{};
  query::to_arrow(result, &array, &schema);
  EXPECT_EQ(array.children[0]->buffers[1], chunk.get<0>().data());
  EXPECT_EQ(array.children[1]->buffers[1], chunk.get<1>().data());
  EXPECT_EQ(array.children[2]->children[0]->buffers[1], chunk.get<2>().data());
  EXPECT_STREQ(schema.format, "+s");
  EXPECT_STREQ(schema.children[1]->format, "vu");
  EXPECT_STREQ(schema.children[2]->format, "+w:2");
  array.release(&array);
  schema.release(&schema);
}

TEST(arrow_export, keeps_the_result_until_the_last_array_is_released) {
  ArrowArray array{}, child{};
  ArrowSchema schema{};
  {
    std::vector<Row> rows(100, Row{7, "seven", {1, 2}});
    query::to_arrow(query::from(rows), &array, &schema);
  }
  child = *array.children[0];  // moved out, as the interface allows
  array.children[0]->release = nullptr;
  array.release(&array);
  EXPECT_EQ(array.release, nullptr);
  EXPECT_EQ(static_cast<const std::int64_t*>(child.buffers[1])[99], 7);
  child.release(&child);
  EXPECT_EQ(child.release, nullptr);
  schema.release(&schema);
  EXPECT_EQ(schema.release, nullptr);
}

TEST(arrow_export, releases_a_stream_that_was_not_read_to_its_end) {
  const auto all = rows(150'000);
  ArrowArrayStream s{};
  query::to_arrow(query::from(all), &s);
  ArrowArray first{};
  ASSERT_EQ(s.get_next(&s, &first), 0);
  s.release(&s);
  EXPECT_EQ(static_cast<const std::int64_t*>(first.children[0]->buffers[1])[5], 5);
  first.release(&first);
}

TEST(arrow_export, counts_nulls) {
  ArrowArray array{};
  ArrowSchema schema{};
  query::to_arrow(query::from(rows(70)), &array, &schema);
  EXPECT_EQ(array.children[3]->null_count, 14);
  EXPECT_EQ(schema.children[3]->flags, ARROW_FLAG_NULLABLE);
  EXPECT_STREQ(schema.children[3]->format, "vu");
  EXPECT_EQ(array.children[4]->null_count, 10);
  EXPECT_EQ(array.children[0]->buffers[0], nullptr);
  EXPECT_EQ(schema.children[4]->flags, ARROW_FLAG_NULLABLE);
  EXPECT_EQ(schema.children[0]->flags, 0);
  array.release(&array);
  schema.release(&schema);
}

}  // namespace arrow_export_test
