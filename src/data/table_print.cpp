#include "data/table_print.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>
#include <vector>

#include "data/csv_value.hpp"
#include "data/display_width.hpp"
#include "data/format_value.hpp"
#include "data/table_columns.hpp"
#include "data/table_layout.hpp"

namespace query::data {
namespace {

// The value inside `type`, or null; `type` becomes that value's type.
const void* unwrap(const ir::type*& type, const void* value) {
  while (type->k == ir::kind::optional && value != nullptr) {
    value = type->get.value(value);
    type = type->element;
  }
  return value;
}

const ir::type* unwrapped(const ir::type* type) {
  while (type->k == ir::kind::optional) type = type->element;
  return type;
}

double number(const ir::type* type, const void* value) {
  return type->k == ir::kind::f64 ? *static_cast<const double*>(value) : static_cast<double>(*static_cast<const float*>(value));
}

// From 1e15 on a double has no decimals worth showing.
bool scientific(double x) { return x != 0 && (std::fabs(x) >= 1e15 || std::fabs(x) < 1e-4); }

std::string written(double x, std::chars_format format, int decimals) {
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof text, x, format, decimals);
  return error == std::errc{} ? std::string(text, end) : format_number(x, 6);
}

// The decimals that x has when it is written with `digits` significant digits; of 1.25e-09 those before the e. Sums of money
// have many digits before the point: two decimals are left to them, unless fewer digits than usual are asked for.
int decimals_of(double x, int digits) {
  const std::string text = format_number(x, digits);
  const std::size_t point = text.find('.'), e = std::min(text.find('e'), text.size());
  const int of_digits = point == std::string::npos || point > e ? 0 : static_cast<int>(e - point - 1);
  if (scientific(x)) return of_digits;
  int least = std::clamp(digits - 4, 0, 2);
  const std::string plain = written(x, std::chars_format::fixed, least);
  for (std::size_t last = plain.size(); least > 0 && plain[last - 1] == '0'; --last) --least;
  return std::max(e < text.size() ? 0 : of_digits, least);
}

// How many decimals all numbers of a column get: those written plainly, and those with an exponent.
struct decimals {
  int plain = 1;  // tells 2.0 from an integer
  int scientific = 0;
};

std::string cut_cell(std::string text, const print_options& options) {
  return cut_to_width(std::move(text), std::max<std::size_t>(options.text_width, 1), options.ascii ? "~" : "…");
}

std::string ellipsis_of(const print_options& options) { return options.ascii ? "..." : "…"; }

class cell_maker {
 public:
  cell_maker(const print_options& options, std::size_t row_size) : options_(options), row_size_(row_size) {}

  text_column column(const table_column& of, const void* rows, std::size_t n) const {
    const ir::type* inside = unwrapped(of.of);
    const bool right = ir::is_arithmetic(inside->k) && inside->k != ir::kind::boolean && !is_letter(inside);
    text_column c{cut(printable(of.name)), cut(short_type_name(of)), right, {}};
    c.cells.reserve(n);
    const decimals shared = ir::is_floating(inside->k) ? shared_decimals(of, rows, n) : decimals{};
    for (std::size_t i = 0; i < n; ++i) {
      const ir::type* t = of.of;
      const void* value = unwrap(t, of.in(row(rows, i)));
      c.cells.push_back(value == nullptr ? "null" : cut(cell(t, value, shared)));
    }
    return c;
  }

 private:
  const void* row(const void* rows, std::size_t i) const { return static_cast<const std::byte*>(rows) + i * row_size_; }
  std::string cut(std::string text) const { return cut_cell(std::move(text), options_); }

  decimals shared_decimals(const table_column& of_column, const void* rows, std::size_t n) const {
    decimals shared;
    for (std::size_t i = 0; i < n; ++i) {
      const ir::type* t = of_column.of;
      const void* value = unwrap(t, of_column.in(row(rows, i)));
      if (value == nullptr) continue;
      const double x = number(t, value);
      if (!std::isfinite(x)) continue;
      int& of = scientific(x) ? shared.scientific : shared.plain;
      of = std::max(of, decimals_of(x, options_.digits));
    }
    shared.plain = std::min(shared.plain, std::max(options_.digits, 1));
    return shared;
  }

  std::string cell(const ir::type* type, const void* value, const decimals& shared) const {
    if (!ir::is_floating(type->k)) return format_value(type, value, options_.digits);
    const double x = number(type, value);
    if (!std::isfinite(x)) return format_number(x, options_.digits);
    return scientific(x) ? written(x, std::chars_format::scientific, shared.scientific)
                         : written(x, std::chars_format::fixed, shared.plain);
  }

  const print_options& options_;
  std::size_t row_size_;
};

std::string names_of(const std::vector<std::string>& names, const std::string& ellipsis) {
  constexpr std::size_t shown = 8;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < shown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > shown ? text + ", " + ellipsis : text;
}

std::string plural(std::uint64_t n, const std::string& noun) {
  return format_count(n) + " more " + noun + (n == 1 ? "" : "s");
}

}  // namespace

std::string print_table(const ir::type* row, const void* rows, std::size_t n, std::uint64_t total, const print_options& options,
                        std::span<const std::string> names) {
  const std::size_t shown = std::min(n, options.rows);
  const cell_maker cells(options, row->size);
  std::vector<text_column> columns;
  if (row->k == ir::kind::record) {
    for (const table_column& column : table_columns(row, names)) columns.push_back(cells.column(column, rows, shown));
  } else {
    columns.push_back(cells.column({"value", row, 0, 0, {}}, rows, shown));
  }
  laid_out table = lay_out(std::move(columns), options);

  const std::string ellipsis = ellipsis_of(options);
  std::string more;
  if (total == unknown_total) more = shown < n ? "more rows" : "maybe more rows";
  else if (total > shown) more = plural(total - shown, "row");
  if (!table.left_out.empty())
    more += (more.empty() ? "" : ", ") + plural(table.left_out.size(), "column") + ": " + names_of(table.left_out, ellipsis);
  if (!more.empty()) table.text += ellipsis + " " + more + "\n";
  else if (shown == 0) table.text += "no rows\n";
  return std::move(table.text);
}

std::string print_summary(std::span<const column_summary> columns, const print_options& options) {
  const auto number_text = [&](const std::optional<double>& x) {
    if (!x) return std::string();
    const bool plain = std::isfinite(*x) && !scientific(*x);
    return plain ? written(*x, std::chars_format::fixed, decimals_of(*x, options.digits)) : format_number(*x, options.digits);
  };
  const auto cut = [&](std::string text) { return cut_cell(std::move(text), options); };
  std::vector<text_column> table{{"column", "", false, {}}, {"type", "", false, {}},  {"count", "", true, {}},
                                 {"nulls", "", true, {}},   {"mean", "", true, {}},   {"stddev", "", true, {}},
                                 {"min", "", true, {}},     {"max", "", true, {}}};
  const bool distinct = std::any_of(columns.begin(), columns.end(), [](const auto& c) { return c.distinct.has_value(); });
  if (distinct) table.push_back({"distinct", "", true, {}});
  for (const column_summary& c : columns) {
    std::string row[] = {cut(printable(c.name)), cut(c.type), format_count(c.count), format_count(c.nulls), number_text(c.mean),
                         number_text(c.stddev), cut(c.min), cut(c.max), c.distinct ? format_count(*c.distinct) : std::string()};
    for (std::size_t i = 0; i < table.size(); ++i) table[i].cells.push_back(std::move(row[i]));
  }
  laid_out out = lay_out(std::move(table), options);
  const std::string ellipsis = ellipsis_of(options);
  if (!out.left_out.empty())
    out.text += ellipsis + " " + plural(out.left_out.size(), "column") + ": " + names_of(out.left_out, ellipsis) + "\n";
  return std::move(out.text);
}

}  // namespace query::data
