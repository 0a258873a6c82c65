#include "ir/typed_text/faults.hpp"

#include <algorithm>
#include <vector>

namespace query::ir::typed_text {

namespace {

constexpr std::size_t most_columns = 100, columns_before = 60;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }
char shown(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\t') return ' ';
  return byte < 0x20 || byte == 0x7f ? '?' : c;
}
std::size_t characters(std::string_view s) {
  return static_cast<std::size_t>(std::count_if(s.begin(), s.end(), [](char c) { return !continues_character(c); }));
}
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// Letters to be put in, taken out, changed or swapped with their neighbour. Damerau's distance, without overlapping swaps.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

std::string show_fault(std::string_view text, const fault& f) {
  const std::size_t at = std::min(f.at, text.size());
  std::size_t begin = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  std::size_t end = std::min(text.find('\n', at), text.size());
  std::string before, after;
  if (at - begin > columns_before) {
    begin = at - columns_before;
    while (begin < at && continues_character(text[begin])) ++begin;
    before = "...";
  }
  if (end - begin > most_columns) {
    end = begin + most_columns;
    while (end > at && continues_character(text[end])) --end;
    after = "...";
  }
  std::string line = "    " + before;
  for (const char c : text.substr(begin, end - begin)) line += shown(c);
  const std::size_t column = 4 + before.size() + characters(text.substr(begin, at - begin));
  const std::size_t width = characters(text.substr(at, std::min(f.length, end - at)));
  return line + after + "\n" + std::string(column, ' ') + "^" + std::string(width > 1 ? width - 1 : 0, '~');
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> names) {
  constexpr std::size_t longest = 64;
  std::string_view best;
  std::size_t fewest = std::max<std::size_t>(1, name.size() / 3) + 1;
  if (name.size() > longest) return best;
  for (const std::string_view known : names) {
    if (known.size() > longest) continue;
    if (const std::size_t d = distance(name, known); d < fewest) {
      fewest = d;
      best = known;
    }
  }
  if (!best.empty()) return best;
  // `altitude` for `alt`, `qty` for `qty_total`.
  constexpr std::size_t shortest = 3;
  for (const std::string_view known : names)
    if (std::min(name.size(), known.size()) >= shortest && (name.starts_with(known) || known.starts_with(name))) return known;
  return best;
}

std::string listed(std::span<const std::string_view> names) {
  constexpr std::size_t most = 12;
  std::string all;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) {
    all += i ? ", `" : "`";
    all += names[i];
    all += '`';
  }
  return names.size() > most ? all + "..." : all;
}

}  // namespace query::ir::typed_text
