#include "cluster/sent_plan.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <query/detail/failure.hpp>

#include "cluster/plan_archive.hpp"
#include "ir/visit.hpp"
#include "planner/cluster_graph.hpp"
#include "planner/rules/edges.hpp"

namespace query::cluster {

template <bool Writes> std::vector<const ir::type*> plan_archive<Writes>::types_in(const ir::node* root) {
  std::vector<const ir::type*> all;
  std::unordered_set<const ir::type*> known;
  const auto add = [&](const ir::type* t, const auto& self) -> void {
    if (!t || !known.insert(t).second) return;
    self(t->element, self);
    for (const ir::field& f : t->fields()) self(f.of, self);
    all.push_back(t);
  };
  ir::each_node(root, [&](const ir::node* n) { add(n->type, add); });
  return all;
}

namespace {

void forms_of(auto& archive, planner::column_options& forms) {
  archive.values(forms.to_columns, forms.interpret);
  if (archive.present(forms.fold.has_value())) {
    detail::fold_kind k = forms.fold.value_or(detail::fold_kind::count);
    archive.value(k);
    forms.fold = k;
  }
}

// Compiled loops make the whole of each row, though optimised ones load what they use.
bool reads_whole_rows(const planner::branch& b) {
  return std::any_of(b.stages.begin(), b.stages.end(), [](const planner::stage& s) {
    return s.how == planner::form::native || s.how == planner::form::thunks;
  });
}
// g: with its forms.
std::vector<bool> wanted_of(const detail::logical& source, const planner::machine_graph& g) {
  if (source.what != detail::verb::source_columns || source.row->k != ir::kind::record) return {};
  std::vector<bool> wanted(source.row->field_list.size(), false);
  bool all = false;
  planner::rules::each_branch(const_cast<planner::machine_graph&>(g), [&](const planner::branch& b, planner::vertex*) {
    if (b.source != &source) return;
    if (b.wanted.empty() || reads_whole_rows(b)) return all = true, void();
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = wanted[i] || b.wanted[i];
  });
  // Rows are counted by a column.
  if (!all && std::find(wanted.begin(), wanted.end(), true) == wanted.end()) wanted[0] = true;
  return all ? std::vector<bool>{} : wanted;
}

}  // namespace

sent_plan write_plan(const planner::machine_graph& g, const planner::column_options& forms, const program& here,
                     const planner::function_set& by_expression) {
  plan_archive<true> to(g, here, by_expression);
  planner::column_options chosen = forms;
  forms_of(to, chosen);
  const auto rows_follow = [](const planner::branch& b) { return planner::is_divided(b) && !planner::is_made_in_parts(*b.source); };
  to.graph(const_cast<planner::machine_graph&>(g), rows_follow);  // which only reads it
  if (!to.left.empty()) throw closures_stay{std::move(to.left)};
  sent_plan sent{to.to_.take(), {}, std::move(to.captured)};
  const planner::graph_copy as_it_runs = planner::copy_of(g);
  planner::choose_columns(*as_it_runs.graph, forms);
  for (const detail::logical* source : to.sources) sent.sources.push_back({source, wanted_of(*source, *as_it_runs.graph)});
  return sent;
}

std::shared_ptr<const void> kept_of_plans::name_of(std::uint64_t cached) {
  std::shared_ptr<const void>& name = names_[cached];
  if (!name) name = std::make_shared<std::uint64_t>(cached);
  return name;
}
void kept_of_plans::forget(std::span<const std::uint64_t> cached) {
  for (const std::uint64_t number : cached) names_.erase(number);
}

received_plan read_plan(std::span<const std::byte> bytes, const program& here, kept_of_plans& kept) {
  const std::lock_guard hold(kept.lock);
  received_plan plan;
  plan.graph = std::make_unique<planner::machine_graph>();
  plan_archive<false> from(bytes, here, plan, kept);
  forms_of(from, plan.forms);
  from.graph(*plan.graph, [](const planner::branch&) { return false; });
  return plan;
}

void complete(received_plan& plan, bool verified) {
  for (const received_plan::sent_function& sent : plan.functions) {
    const detail::logical& verb = *plan.verbs.at(sent.verb);
    const ir::traced here = verb.functions.at(sent.number).trace();
    if ((here.root ? here.root->shape : 0) != sent.shape)
      detail::fail(verb.label,
                   "its function is another one in another process: it reads a value that it does not capture, such as a global variable; "
                   "capture it by value, [x]",
                   verb.where);
  }
  for (planner::vertex* v : plan.groups_by_expressions) {
    auto groups = ir::plan_group_function(v->node->functions.back().trace(), v->node->key, v->node->row);
    if (!groups.plan) throw internal_error("query: a function of groups has no expression in another process: " + groups.reason);
    v->group_function = std::make_shared<const ir::group_plan>(std::move(*groups.plan));
  }
  if (!verified) planner::choose_columns(*plan.graph, plan.forms);
}

received_source::held::~held() {
  for (const auto& [at, bytes] : unread) ::munmap(at, bytes);
}

std::vector<const ir::type*> received_source::parts() const {
  const ir::type* const row = node_->row;
  if (node_->what != detail::verb::source_columns || row->k != ir::kind::record) return {row};
  std::vector<const ir::type*> columns;
  for (const ir::field& f : row->fields()) columns.push_back(f.of);
  return columns;
}

void received_source::receive(std::size_t part, detail::table rows) {
  held_->in_columns = node_->what == detail::verb::source_columns;
  if (held_->columns.empty())
    for (const ir::type* column : parts()) {
      const std::size_t bytes = std::max<std::size_t>(rows.n * column->size, 1);
      void* const at = held_->in_columns ? ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : nullptr;
      if (at == MAP_FAILED) throw resource_error("cluster: no addresses for a column");
      if (at) held_->unread.emplace_back(at, bytes);
      held_->columns.push_back(at);
    }
  held_->columns.at(part) = rows.rows;
  held_->tables.push_back(std::move(rows));
  node_->source = held_;
  node_->view = [](const void* of, detail::row_block& out) {
    const auto& h = *static_cast<const held*>(of);
    out.n = h.tables.front().n;
    if (h.in_columns) out.columns = h.columns.data();
    else out.rows = const_cast<void*>(h.tables.front().rows);
  };
}

std::vector<detail::table> parts_of(const detail::logical& source, std::size_t first, std::size_t end) {
  detail::row_block whole;
  source.view(source.source.get(), whole);
  const auto part = [&](const void* base, const ir::type* type) {
    detail::table t;
    t.rows = static_cast<const std::byte*>(base) + first * type->size;
    t.n = end - first;
    t.type = type;
    return t;
  };
  if (!whole.columns) return {part(whole.rows, source.row)};
  if (source.row->k != ir::kind::record) return {part(whole.columns[0], source.row)};
  std::vector<detail::table> all;
  for (std::size_t i = 0; i < source.row->field_list.size(); ++i) all.push_back(part(whole.columns[i], source.row->field_list[i].of));
  return all;
}

}  // namespace query::cluster
