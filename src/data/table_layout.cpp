#include "data/table_layout.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "data/display_width.hpp"

namespace query::data {
namespace {

// left, middle, right and fill of the three rules; the bars between cells
struct box_style {
  std::string_view top[4], head[4], bottom[4];
  std::string_view outer, inner;
};
constexpr box_style unicode_box{{"┌", "┬", "┐", "─"}, {"╞", "╪", "╡", "═"}, {"└", "┴", "┘", "─"}, "│", "┆"};
constexpr box_style ascii_box{{"+", "+", "+", "-"}, {"+", "+", "+", "="}, {"+", "+", "+", "-"}, "|", "|"};

constexpr std::size_t padding = 3;  // a bar and two blanks a column

std::size_t width_of(const text_column& column) {
  std::size_t width = std::max(display_width(column.name), display_width(column.type));
  for (const std::string& cell : column.cells) width = std::max(width, display_width(cell));
  return width;
}

void append_padded(std::string& out, std::string_view text, std::size_t width, bool right) {
  const std::size_t used = display_width(text), blanks = width > used ? width - used : 0;
  if (right) out.append(blanks, ' ');
  out += text;
  if (!right) out.append(blanks, ' ');
}

void append_rule(std::string& out, const std::string_view (&rule)[4], const std::vector<std::size_t>& widths) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    out += rule[i == 0 ? 0 : 1];
    for (std::size_t n = widths[i] + 2; n > 0; --n) out += rule[3];
  }
  out.append(rule[2]).append("\n");
}

template <class TextOf>
void append_line(std::string& out, const box_style& box, const std::vector<text_column>& columns,
                 const std::vector<std::size_t>& widths, TextOf text_of) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out.append(i == 0 ? box.outer : box.inner).append(" ");
    append_padded(out, text_of(columns[i]), widths[i], columns[i].right);
    out += ' ';
  }
  out.append(box.outer).append("\n");
}

// How many columns to show at the start and at the end so that they fit the width, with a narrow one for the others between.
std::pair<std::size_t, std::size_t> choose(const std::vector<std::size_t>& widths, std::size_t limit, std::size_t gap) {
  const std::size_t n = widths.size();
  std::size_t all = 1;
  for (const std::size_t w : widths) all += w + padding;
  if (limit == 0 || all <= limit) return {n, 0};
  std::size_t used = 1 + gap + padding, first = 0, last = 0;
  while (first + last < n) {
    const bool at_end = last < first;
    const std::size_t w = (at_end ? widths[n - 1 - last] : widths[first]) + padding;
    if (used + w > limit) break;
    used += w;
    ++(at_end ? last : first);
  }
  return {std::max<std::size_t>(first, 1), last};
}

}  // namespace

laid_out lay_out(std::vector<text_column> columns, const print_options& options) {
  laid_out result;
  if (columns.empty()) return result;
  const std::string ellipsis = options.ascii ? "..." : "…";
  std::vector<std::size_t> widths;
  for (const text_column& c : columns) widths.push_back(width_of(c));

  if (const auto [first, last] = choose(widths, options.width, display_width(ellipsis)); first + last < columns.size()) {
    const auto from = columns.begin() + static_cast<std::ptrdiff_t>(first);
    const auto to = columns.end() - static_cast<std::ptrdiff_t>(last);
    for (auto c = from; c != to; ++c) result.left_out.push_back(c->name);
    text_column gap{ellipsis, "", false, std::vector<std::string>(columns[0].cells.size(), ellipsis)};
    columns.insert(columns.erase(from, to), std::move(gap));
    widths.erase(widths.begin() + static_cast<std::ptrdiff_t>(first), widths.end() - static_cast<std::ptrdiff_t>(last));
    widths.insert(widths.begin() + static_cast<std::ptrdiff_t>(first), display_width(ellipsis));
  }

  const box_style& box = options.ascii ? ascii_box : unicode_box;
  std::string& out = result.text;
  append_rule(out, box.top, widths);
  append_line(out, box, columns, widths, [](const text_column& c) -> std::string_view { return c.name; });
  if (std::any_of(columns.begin(), columns.end(), [](const text_column& c) { return !c.type.empty(); }))
    append_line(out, box, columns, widths, [](const text_column& c) -> std::string_view { return c.type; });
  append_rule(out, box.head, widths);
  for (std::size_t r = 0; r < columns[0].cells.size(); ++r)
    append_line(out, box, columns, widths, [r](const text_column& c) -> std::string_view { return c.cells[r]; });
  append_rule(out, box.bottom, widths);
  return result;
}

}  // namespace query::data
