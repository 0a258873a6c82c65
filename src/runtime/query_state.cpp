// How verbs put their nodes on a query.
#include <query/detail/query_state.hpp>

#include <utility>

#include <query/detail/execute.hpp>

namespace query::detail {

namespace {

// Whether a verb gives its rows in any order, unless as_ordered() is said.
constexpr bool free_order(verb v) {
  return v == verb::group_by || v == verb::join || v == verb::distinct || v == verb::union_with || v == verb::intersect ||
         v == verb::except;
}

}  // namespace

query_state::query_state(pipe from, settings s) : origin(std::move(from)), node(origin.node), how(std::move(s)) {}
query_state::query_state(pipe from, std::shared_ptr<const logical> last, settings s)
    : origin(std::move(from)), node(std::move(last)), how(std::move(s)) {}
query_state::query_state(const query_state&) noexcept = default;
query_state& query_state::operator=(const query_state&) noexcept = default;
query_state::~query_state() = default;

std::shared_ptr<logical> copy_of(const logical& n) { return std::make_shared<logical>(n); }
std::shared_ptr<run_settings> copy_of(const settings& s) { return std::make_shared<run_settings>(s ? *s : run_settings{}); }

query_state extended(const query_state& of, const pipe& origin, verb v, const char* label, user_function f, const ir::type* row,
                     call_site at) {
  auto n = new_node(v, label, row, at, {});
  n->inputs.push_back({of.node, nullptr});
  const std::string_view part = v == verb::where ? "where" : v == verb::select ? "select" : label;
  if (part != label) n->part = part;
  n->functions.push_back(std::move(f));
  n->accelerated = of.node->accelerated;
  n->gpu_required = of.node->gpu_required;
  n->fast_math = of.node->fast_math;
  settings s = with_captured(of.how, *n);
  return {origin, std::move(n), std::move(s)};
}

std::shared_ptr<logical> new_node(verb v, std::string label, const ir::type* row, call_site at, std::initializer_list<pipe> inputs) {
  auto n = std::make_shared<logical>();
  n->what = v;
  n->label = std::move(label);
  n->row = row;
  n->where = at;
  n->inputs = inputs;
  for (const pipe& p : n->inputs) {
    n->accelerated = n->accelerated || p.node->accelerated;
    n->gpu_required = n->gpu_required || p.node->gpu_required;
    n->fast_math = n->fast_math || p.node->fast_math;
  }
  // as_ordered() right before a verb whose order is free: its rows in LINQ's order too.
  n->ordered = free_order(v) && !n->inputs.empty() && n->inputs.front().node->ordered;
  return n;
}

std::shared_ptr<logical> group_node(const char* label, const ir::type* row, call_site at, const pipe& input, const said_of_groups& said,
                                    const ir::type* key, const key_calls& keys) {
  auto n = new_node(verb::group_by, label, row, at, {input});
  if (n->label != "group_by") n->part = "group_by";
  n->accelerated = n->accelerated || said.accelerated;
  n->gpu_required = n->gpu_required || said.gpu_required;
  n->fast_math = n->fast_math || said.fast_math;
  n->ordered = n->ordered || said.ordered;
  n->ordered_to = said.ordered_to;
  n->name = said.name;
  n->key = key;
  n->keys = keys;
  return n;
}

query_state finished(std::shared_ptr<logical> n, std::initializer_list<const settings*> inputs) {
  settings s = **inputs.begin();
  for (auto more = inputs.begin() + 1; more != inputs.end(); ++more) s = merged(s, **more, n->label, n->where);
  s = with_captured(std::move(s), *n);
  return {pipe{std::move(n), nullptr}, std::move(s)};
}

}  // namespace query::detail
