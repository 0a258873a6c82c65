#include "data/table_print.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <query/record.hpp>

#include "data/format_value.hpp"
#include "data/summarise.hpp"

namespace query::data {

struct place { double lat, lon; };
QUERY_RECORD(place, lat, lon);
struct city { std::string name; std::int64_t people; std::optional<double> rain; place at; };
QUERY_RECORD(city, name, people, rain, at);
struct wide { int a_column, b_column, c_column, d_column, e_column; };
QUERY_RECORD(wide, a_column, b_column, c_column, d_column, e_column);

template <class T> std::string table(const std::vector<T>& rows, const print_options& options = {}, std::uint64_t total = 0) {
  return print_table(ir::describe<T>(), rows.data(), rows.size(), total == 0 ? rows.size() : total, options);
}
const std::vector<city> cities{{"Bergen", 291'940, 2495.5, {60.39, 5.32}}, {"Łódź", 672'185, std::nullopt, {51.76, 19.46}}};

TEST(table_print_test, numbers_stand_right_text_left_under_names_and_types) {
  EXPECT_EQ(table(cities, {}, 336'768),
            "┌────────┬────────┬────────┬──────────────────────────┐\n"
            "│ name   ┆ people ┆   rain ┆ at                       │\n"
            "│ string ┆    i64 ┆   f64? ┆ place                    │\n"
            "╞════════╪════════╪════════╪══════════════════════════╡\n"
            "│ Bergen ┆ 291940 ┆ 2495.5 ┆ {lat: 60.39, lon: 5.32}  │\n"
            "│ Łódź   ┆ 672185 ┆   null ┆ {lat: 51.76, lon: 19.46} │\n"
            "└────────┴────────┴────────┴──────────────────────────┘\n"
            "… 336,766 more rows\n");
}

TEST(table_print_test, ascii_for_plain_logs) {
  EXPECT_EQ(table(cities, {.rows = 1, .text_width = 8, .ascii = true}),
            "+--------+--------+--------+----------+\n"
            "| name   | people |   rain | at       |\n"
            "| string |    i64 |   f64? | place    |\n"
            "+========+========+========+==========+\n"
            "| Bergen | 291940 | 2495.5 | {lat: 6~ |\n"
            "+--------+--------+--------+----------+\n"
            "... 1 more row\n");
}

TEST(table_print_test, columns_in_the_middle_make_room) {
  EXPECT_EQ(table(std::vector<wide>{{1, 2, 3, 4, 5}}, {.width = 44}),
            "┌──────────┬──────────┬───┬──────────┐\n"
            "│ a_column ┆ b_column ┆ … ┆ e_column │\n"
            "│      i32 ┆      i32 ┆   ┆      i32 │\n"
            "╞══════════╪══════════╪═══╪══════════╡\n"
            "│        1 ┆        2 ┆ … ┆        5 │\n"
            "└──────────┴──────────┴───┴──────────┘\n"
            "… 2 more columns: c_column, d_column\n");
}

TEST(table_print_test, no_line_is_wider_than_asked) {
  for (std::size_t width = 20; width < 80; ++width) {
    const std::string text = table(std::vector<wide>{{1, 2, 3, 4, 5}}, {.width = width});
    EXPECT_LE(code_points(text.substr(0, text.find('\n'))), width);
  }
  EXPECT_NE(table(std::vector<wide>{{1, 2, 3, 4, 5}}, {.width = 1}).find("a_column"), std::string::npos) << "the first column stays";
}

TEST(table_print_test, floats_of_a_column_share_their_decimals) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(table(std::vector<double>{1, 0.25, 1234.5678, 1e12, 1e-9, -inf, 0}, {.ascii = true}),
            "+------------------+\n"
            "|            value |\n"
            "|              f64 |\n"
            "+==================+\n"
            "|             1.00 |\n"
            "|             0.25 |\n"
            "|          1234.57 |\n"
            "| 1000000000000.00 |\n"
            "|            1e-09 |\n"
            "|             -inf |\n"
            "|             0.00 |\n"
            "+------------------+\n");
  EXPECT_NE(table(std::vector<float>{0.1f, 2}).find("│   0.1 │"), std::string::npos);
}

// Very large and very small ones too, among themselves; nulls and NaNs stand with them.
TEST(table_print_test, floats_with_exponents_share_their_decimals) {
  using cell = std::optional<double>;
  EXPECT_EQ(table(std::vector<cell>{-1.5, 2.25e20, 1e-12, std::nullopt, -12345678901.5, std::numeric_limits<double>::quiet_NaN()},
                  {.ascii = true}),
            "+----------------+\n"
            "|          value |\n"
            "|           f64? |\n"
            "+================+\n"
            "|           -1.5 |\n"
            "|       2.25e+20 |\n"
            "|       1.00e-12 |\n"
            "|           null |\n"
            "| -12345678901.5 |\n"
            "|            nan |\n"
            "+----------------+\n");
}

TEST(table_print_test, large_sums_keep_two_decimals) {
  EXPECT_EQ(table(std::vector<double>{88838.75, 1234567.125, -7}, {.ascii = true}),
            "+------------+\n"
            "|      value |\n"
            "|        f64 |\n"
            "+============+\n"
            "|   88838.75 |\n"
            "| 1234567.12 |\n"
            "|      -7.00 |\n"
            "+------------+\n");
  EXPECT_NE(table(std::vector<double>{88838.75}, {.digits = 3}).find("│ 88838.8 │"), std::string::npos);
}

TEST(table_print_test, names_stand_above_the_columns_of_a_tuple) {
  const std::vector<std::pair<int, double>> rows = {{1, 2.5}};
  const std::vector<std::string> names = {"key", "sum(fare)"};
  EXPECT_EQ(print_table(ir::describe<std::pair<int, double>>(), rows.data(), 1, 1, {.ascii = true}, names),
            "+-----+-----------+\n"
            "| key | sum(fare) |\n"
            "| i32 |       f64 |\n"
            "+=====+===========+\n"
            "|   1 |       2.5 |\n"
            "+-----+-----------+\n");
  EXPECT_NE(table(rows).find("│ first ┆ second │"), std::string::npos);
  EXPECT_EQ(summarise(ir::describe<std::pair<int, double>>(), rows.data(), 1, false, names)[1].name, "sum(fare)");
}

// A record in a record stays one column; a pair in a part that may be missing is opened too.
TEST(table_print_test, records_in_a_tuple_are_a_column_a_field) {
  using row = std::tuple<city, std::optional<std::pair<place, std::optional<int>>>, double>;
  const std::vector<row> rows = {{cities[0], {{{1.5, 2}, 3}}, 4}, {cities[1], std::nullopt, 5}};
  const std::vector<std::string> names = {"left", "right", "lat"};
  EXPECT_EQ(print_table(ir::describe<row>(), rows.data(), 2, 2, {.width = 0, .text_width = 8, .ascii = true}, names),
            "+--------+--------+--------+----------+----------+------+----------+-----+\n"
            "| name   | people |   rain | at       | right.f~ |  lon | right.s~ | lat |\n"
            "| string |    i64 |   f64? | place    |     f64? | f64? |     i32? | f64 |\n"
            "+========+========+========+==========+==========+======+==========+=====+\n"
            "| Bergen | 291940 | 2495.5 | {lat: 6~ |      1.5 |  2.0 |        3 | 4.0 |\n"
            "| Łódź   | 672185 |   null | {lat: 5~ |     null | null |     null | 5.0 |\n"
            "+--------+--------+--------+----------+----------+------+----------+-----+\n");
  const auto summary = summarise(ir::describe<row>(), rows.data(), 2, false, names);
  ASSERT_EQ(summary.size(), 9u);
  EXPECT_EQ(summary[3].name, "at.lat");
  EXPECT_EQ(summary[5].name, "right.first.lat");
  EXPECT_EQ(summary[5].type, "f64?");
  EXPECT_EQ(summary[5].nulls, 1u);
}

TEST(table_print_test, text_is_cut_and_made_printable) {
  const std::string text = table(std::vector<std::string>{std::string(50, 'x'), "a\nb", "é"}, {.text_width = 10});
  EXPECT_NE(text.find("│ xxxxxxxxx… │"), std::string::npos);
  EXPECT_NE(text.find("│ a\\nb       │"), std::string::npos);
  EXPECT_NE(text.find("│ é          │"), std::string::npos);
}

TEST(table_print_test, nothing_to_show_is_said) {
  const std::string text = table(std::vector<int>{});
  EXPECT_NE(text.find("value"), std::string::npos);
  EXPECT_TRUE(text.ends_with("no rows\n"));
  EXPECT_TRUE(table(std::vector<int>(3, 1), {.rows = 2}, unknown_total).ends_with("… more rows\n"));
}

TEST(table_print_test, a_summary_is_a_table_of_columns) {
  EXPECT_EQ(print_summary(summarise(ir::describe<city>(), cities.data(), cities.size())),
            "┌────────┬────────┬───────┬───────┬──────────┬───────────┬────────┬────────┬──────────┐\n"
            "│ column ┆ type   ┆ count ┆ nulls ┆     mean ┆    stddev ┆    min ┆    max ┆ distinct │\n"
            "╞════════╪════════╪═══════╪═══════╪══════════╪═══════════╪════════╪════════╪══════════╡\n"
            "│ name   ┆ string ┆     2 ┆     0 ┆          ┆           ┆ Bergen ┆   Łódź ┆        2 │\n"
            "│ people ┆ i64    ┆     2 ┆     0 ┆ 482062.5 ┆ 268873.82 ┆ 291940 ┆ 672185 ┆        2 │\n"
            "│ rain   ┆ f64?   ┆     1 ┆     1 ┆   2495.5 ┆           ┆ 2495.5 ┆ 2495.5 ┆        1 │\n"
            "│ at.lat ┆ f64    ┆     2 ┆     0 ┆   56.075 ┆   6.10233 ┆  51.76 ┆  60.39 ┆        2 │\n"
            "│ at.lon ┆ f64    ┆     2 ┆     0 ┆    12.39 ┆   9.99849 ┆   5.32 ┆  19.46 ┆        2 │\n"
            "└────────┴────────┴───────┴───────┴──────────┴───────────┴────────┴────────┴──────────┘\n");
}

}  // namespace query::data
