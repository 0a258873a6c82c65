// The counts of named filters: runs the queries that count, and shows what they gave.
#include <query/report.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <query/detail/together.hpp>

#include "data/display_width.hpp"
#include "planner/filter_counts.hpp"

namespace query {

namespace {

using planner::counted_rows;
using planner::filter_counts;
using counts = std::vector<filter_counts::row>;

std::vector<counts> run(const filter_counts& f) {
  std::vector<counts> rows(f.parts.size());
  std::vector<detail::rows_taker> takers;
  for (counts& to : rows)
    takers.push_back({&to, [](void*, std::uint64_t) {},
                      [](void* all, const detail::row_block& b) {
                        const auto* const from = static_cast<const filter_counts::row*>(b.rows);
                        static_cast<counts*>(all)->insert(static_cast<counts*>(all)->end(), from, from + b.n);
                        return true;
                      },
                      nullptr});
  detail::run_together(detail::together_for_report(f.parts), takers);
  return rows;
}

std::int64_t rows_of(const std::vector<counts>& all, const counted_rows& wanted) {
  std::int64_t rows = 0;
  for (const auto& [passed, n] : all[wanted.part])
    if (static_cast<std::size_t>(passed) >= wanted.filters) rows += n;
  return rows;
}
double percent_of(std::int64_t part, std::int64_t all) {
  return all ? 100 * static_cast<double>(part) / static_cast<double>(all) : 0;
}

std::string shown_percent(double percent) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f%%", percent);
  return text;
}

// Texts in columns, the first `left` of them aligned to the left.
std::string aligned(const std::vector<std::vector<std::string>>& lines, std::size_t left) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], data::display_width(line[i]));
  std::string all;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - data::display_width(line[i]), ' ');
      if (i) all += "  ";
      all += i < left ? line[i] + space : space + line[i];
    }
    all += '\n';
  }
  return all;
}

}  // namespace

std::string filter_report::to_string() const {
  const bool inputs = std::any_of(filters.begin(), filters.end(), [](const filter_count& f) { return !f.input.empty(); });
  std::vector<std::vector<std::string>> lines;
  const auto add = [&](const std::string& name, const std::string& input, std::array<std::string, 4> numbers) {
    std::vector<std::string>& line = lines.emplace_back(std::vector{name});
    if (inputs) line.push_back(input);
    line.insert(line.end(), numbers.begin(), numbers.end());
  };
  add("filter", "input", {"rows in", "passed", "percent", "cumulated"});
  for (const filter_count& f : filters)
    add(f.name, f.input,
        {std::to_string(f.rows_in), std::to_string(f.rows_passed), shown_percent(f.percent), shown_percent(f.cumulated)});
  return aligned(lines, inputs ? 2 : 1);
}

filter_report detail::report_of(const pipe& p, const settings& s, call_site at) {
  const filter_counts wanted = planner::count_filters(p, s, at);
  const std::vector<counts> found = run(wanted);
  filter_report r;
  for (const planner::counted_filter& f : wanted.filters) {
    const std::int64_t in = rows_of(found, f.in), passed = rows_of(found, f.passed);
    const std::int64_t first = f.first < r.filters.size() ? r.filters[f.first].rows_in : in;
    r.filters.push_back({f.name, f.input, in, passed, percent_of(passed, in), percent_of(passed, first)});
  }
  return r;
}

}  // namespace query
