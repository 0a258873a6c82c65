#include "planner/names.hpp"

#include <iterator>

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

std::string place_of(const detail::call_site& at) {
  const std::string_view file = at.file;
  return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(at.line);
}

}  // namespace query::planner
