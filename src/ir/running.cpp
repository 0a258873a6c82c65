#include "ir/running.hpp"

#include <query/detail/failure.hpp>

namespace query::ir {

std::string_view verb_of(const detail::logical& n) {
  if (n.what > detail::verb::source_stream) return n.label;
  // from() says in its label what it was given. A range of the standard library is no query::range, which knows its length.
  std::string_view given = n.label;
  if (constexpr std::string_view owned = "owned "; given.starts_with(owned)) given.remove_prefix(owned.size());
  const bool by_from = given == "vector" || given == "span" || given == "array" || given == "view" || (given == "range" && !n.count);
  return by_from ? "from" : std::string_view(n.label);
}

std::string while_running(std::string what, std::string_view verb, detail::call_site where) {
  constexpr std::string_view running = " while running ";
  if (what.find(running) != std::string::npos) return what;
  return what.append(",").append(running).append(verb).append(" (").append(detail::place_of(where)).append(")");
}
std::string while_running(std::string what, const detail::logical& n) { return while_running(std::move(what), verb_of(n), n.where); }

}  // namespace query::ir
