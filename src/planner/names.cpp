#include "planner/names.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "ir/utf8.hpp"

namespace query::detail {

std::string_view name_of(verb v) {
  constexpr std::string_view names[] = {
      "source_rows", "source_columns", "source_stream", "source_file", "placeholder",
      "where", "select", "select_many",
      "group_by", "aggregate", "join", "group_join", "cross_join", "order_by", "reverse", "distinct",
      "union_with", "intersect", "except", "concat", "zip", "take", "skip", "take_while", "skip_while", "take_last", "skip_last",
      "chunk", "window", "index", "default_if_empty", "sample", "do_while", "partition", "apply", "cached", "position"};
  static_assert(std::size(names) == static_cast<std::size_t>(verb::position) + 1);
  return names[static_cast<std::size_t>(v)];
}

std::string_view name_of(join_kind k) {
  constexpr std::string_view names[] = {"inner", "left", "right", "full", "semi", "anti"};
  static_assert(std::size(names) == static_cast<std::size_t>(join_kind::anti) + 1);
  return names[static_cast<std::size_t>(k)];
}

}  // namespace query::detail

namespace query::planner {

std::string verb_of(const detail::logical& n) { return n.part.empty() ? n.label : n.label + " (" + n.part + ")"; }

std::string shown(const ir::traced& t, std::size_t longest) {
  constexpr std::string_view word = "collection";
  const std::string text = ir::show(t);
  std::string out;
  std::vector<std::string> slots;
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, word.size(), word) != 0) {
      out += text[i++];
      continue;
    }
    i += word.size();
    std::size_t end = i;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    out += word;
    if (end == i) continue;
    const auto slot = std::find(slots.begin(), slots.end(), text.substr(i, end - i));
    out += std::to_string(slot - slots.begin() + 1);
    if (slot == slots.end()) slots.push_back(text.substr(i, end - i));
    i = end;
  }
  if (t && out.size() > longest) out = std::string(ir::cut_between_characters(out, longest)) + "...";
  return out;
}

}  // namespace query::planner
