// The plan of several queries that run together (query/detail/together.hpp).
#include <query/detail/together.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <query/detail/failure.hpp>
#include <query/detail/make_function.hpp>

namespace query::detail {

namespace {

constexpr std::string_view for_report = "report";

// What stands for the verb in the plan: nobody calls it.
struct nothing {
  void operator()() const {}
};
void run_nothing(const void*, const void*, const row_runs&, batch_sink&) {}

void check_sessions(std::span<const part_of_run> queries, std::string_view verb_name, call_site at) {
  const part_of_run* first = nullptr;
  for (const part_of_run& q : queries) {
    if (!q.how || !q.how->session) continue;
    if (!first) first = &q;
    if (first->how->session == q.how->session) continue;
    const auto number = [&](const part_of_run& x) { return std::to_string(&x - queries.data() + 1); };
    fail(verb_name,
         "queries " + number(*first) + " and " + number(q) + " name two sessions, and they run in one; name the same one in both", at);
  }
}

query_state together_as(std::string_view verb_name, std::span<const part_of_run> queries) {
  const call_site at = queries.front().rows.node->where;
  check_sessions(queries, verb_name, at);
  auto none = std::make_shared<logical>();
  none->what = verb::source_rows;
  none->label = "no rows";
  none->row = ir::describe<bool>();
  none->view = [](const void*, row_block& out) { out = {}; };
  auto n = new_node(verb::apply, std::string(verb_name), ir::describe<bool>(), at, {pipe{std::move(none), nullptr}});
  n->all = true;
  n->rows_call = &run_nothing;
  user_function f = make_opaque("results", nothing{}, ir::describe<bool>());
  settings s;
  std::vector<std::shared_ptr<const pipe>> plans;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const part_of_run& q = queries[i];
    n->accelerated = n->accelerated || q.rows.node->accelerated;
    s = merged(s, q.how, verb_name, at);
    std::size_t first = 0;  // of the same query twice, one is computed
    while (queries[first].rows.node != q.rows.node) ++first;
    plans.push_back(first < i ? plans[first] : std::make_shared<const pipe>(q.rows));
    f.captures.push_back(make_capture(q.rows.node->row, plans[i], q.how));
  }
  n->functions.push_back(std::move(f));
  return {pipe{std::move(n), nullptr}, std::move(s)};
}

}  // namespace

bool are_together(const logical& n) { return n.rows_call == &run_nothing; }
bool are_for_report(const logical& n) { return are_together(n) && n.label == for_report; }

query_state together(std::span<const part_of_run> queries) { return together_as("run_all", queries); }
query_state together_for_report(std::span<const part_of_run> queries) { return together_as(for_report, queries); }

}  // namespace query::detail
