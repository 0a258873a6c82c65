// Columns of rows that may be missing: what the interpreter reads of them, and what is gathered.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "cpu_engine/column_batch.hpp"

namespace {

using query::cpu::column;
using query::interpreter::missing_row;

struct Row { std::optional<std::string> text; std::optional<std::int32_t> number; double value; };
QUERY_RECORD(Row, text, number, value);

const std::vector<std::string> texts = {"short", "a text that does not fit into the string itself"};
const std::vector<std::int32_t> numbers = {7, 8};
const std::vector<double> values = {0.5, 1.5};
const double without = -1;
const std::uint32_t chosen[] = {1, missing_row, 0, missing_row};
constexpr std::size_t n = 4;

column optional_column(const void* base, std::size_t stride, std::size_t offset, std::size_t size) {
  column c{base, stride, offset, size, chosen};
  c.optional = true;
  return c;
}
column text_column() {
  column c = optional_column(texts.data(), sizeof(std::string), offsetof(Row, text), sizeof(Row::text));
  c.wraps = true;
  return c;
}
column number_column() {
  column c = optional_column(numbers.data(), 4, offsetof(Row, number), sizeof(Row::number));
  c.wraps = true;
  return c;
}
column value_column() {
  column c = optional_column(values.data(), 8, offsetof(Row, value), 8);
  c.otherwise = &without;
  return c;
}

template <class T, class F> std::vector<T> interpreted(F f) {
  const query::ir::traced t = query::trace<Row>(f);
  EXPECT_TRUE(t) << t.reason;
  const column columns[] = {text_column(), number_column(), value_column()};
  query::interpreter::binding row;
  row.columns = columns;
  std::vector<T> results(n);
  std::destroy(results.begin(), results.end());
  query::interpreter::scratch scratch;
  query::interpreter::program(t.root).run({&row, 1}, {}, n, results.data(), scratch);
  return results;
}

TEST(optional_columns, the_interpreter_reads_missing_rows_as_nothing_or_a_constant) {
  using text = std::optional<std::string>;
  EXPECT_EQ((interpreted<text>([](auto r) { return r.text; })), (std::vector<text>{texts[1], {}, texts[0], {}}));
  EXPECT_EQ((interpreted<std::int32_t>([](auto r) { return r.number.value_or(0) + 1; })), (std::vector<std::int32_t>{9, 1, 8, 1}));
  EXPECT_EQ((interpreted<double>([](auto r) { return r.value * 2; })), (std::vector<double>{3, -2, 1, -2}));
  const std::vector<Row> rows = interpreted<Row>([](auto r) { return r; });
  ASSERT_EQ(rows.size(), n);
  EXPECT_EQ(rows[0].text, texts[1]);
  EXPECT_EQ(rows[1].text, std::nullopt);
  EXPECT_EQ(rows[1].number, std::nullopt);
  EXPECT_EQ(rows[2].number, 7);
  EXPECT_EQ(rows[3].value, without);
}

TEST(optional_columns, are_gathered_into_raw_memory_and_over_living_values) {
  using text = std::optional<std::string>;
  const auto* texts_type = query::ir::describe<text>();
  std::vector<text> over = {"was", "there", std::nullopt, std::nullopt};
  query::cpu::gather_column(text_column(), texts_type, n, over.data(), sizeof(text), true);
  EXPECT_EQ(over, (std::vector<text>{texts[1], {}, texts[0], {}}));
  std::destroy(over.begin(), over.end());
  query::cpu::gather_column(text_column(), texts_type, n, over.data(), sizeof(text), false);
  EXPECT_EQ(over, (std::vector<text>{texts[1], {}, texts[0], {}}));

  using number = std::optional<std::int32_t>;
  std::vector<number> found(n, 5);
  query::cpu::gather_column(number_column(), query::ir::describe<number>(), n, found.data(), sizeof(number), true);
  EXPECT_EQ(found, (std::vector<number>{8, {}, 7, {}}));
  std::vector<double> doubles(n);
  query::cpu::gather_column(value_column(), query::ir::describe<double>(), n, doubles.data(), 8, false);
  EXPECT_EQ(doubles, (std::vector<double>{1.5, -1, 0.5, -1}));
}

}  // namespace
