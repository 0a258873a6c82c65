#include "runtime/placement/row_counts.hpp"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include <query/broadcast.hpp>

#include "data/file_list.hpp"
#include "data/file_source.hpp"
#include "runtime/placement/key_values.hpp"
#include "runtime/run_history.hpp"

namespace query::runtime {

namespace {

using detail::verb;
using planner::branch;
using planner::stage;
using planner::vertex;

// That select_many makes of a row.
double elements_of(const detail::logical& n) {
  const ir::traced t = n.functions.front().trace();
  return t && t.root->type->k == ir::kind::array ? static_cast<double>(t.root->type->count) : elements_looked_through;
}

bool semi(const detail::logical& n) { return n.join == detail::join_kind::semi || n.join == detail::join_kind::anti; }

double rows_of_file(const detail::logical& file) {
  const auto& source = *static_cast<const data::file_source*>(file.options.get());
  const data::file_state state = data::state_of(source);
  if (!state.there) return rows_of_a_stream;
  const bool text = source.format != data::file_format::binary;
  return static_cast<double>(state.bytes) / (text ? double{bytes_of_a_file_row} : static_cast<double>(file.row->size));
}

}  // namespace

std::optional<double> row_counts::of_source(const branch& b) {
  if (b.table) return of(*b.table);
  if (!b.source) return std::nullopt;
  if (b.source->what == verb::placeholder) {
    const auto it = variables_.find(b.source->slot);
    return it == variables_.end() ? std::nullopt : std::optional(it->second);
  }
  if (is_counted(*b.source)) return static_cast<double>(b.source->count);
  if (!b.source->view) return b.source->open ? std::optional(rows_of_a_stream) : std::nullopt;
  detail::row_block rows;
  b.source->view(b.source->source.get(), rows);
  return static_cast<double>(rows.n);
}

std::optional<double> row_counts::behind(const branch& b, std::size_t end) {
  const std::optional<double> source = of_source(b);
  if (!source) return source;
  std::optional<double> n = source;
  if (!b.prefilters.empty()) *n *= rows_that_pass;
  for (std::size_t i = 0; i < end; ++i) {
    const stage& s = b.stages[i];
    if (s.join) {
      if (semi(*s.join)) *n *= rows_that_pass;
      continue;
    }
    // What a predicate pushed down has tested, its where does not drop again.
    for (const detail::logical* w : s.nodes)
      if (w->what == verb::select_many) *n *= elements_of(*w);
      else if (w->what == verb::where && std::none_of(b.prefilters.begin(), b.prefilters.end(), [&](const auto& p) { return p.from == w; }))
        *n *= rows_that_pass;
    // The last run has counted what came out here.
    if (const auto seen = selectivity_of(b, i)) *n = *seen * *source;
  }
  return n;
}

std::optional<double> row_counts::of(const vertex& v) {
  if (const auto known = vertices_.find(&v); known != vertices_.end()) return known->second;
  // What it reads comes first, in a loop: plans may be thousands of vertices deep.
  std::vector<const vertex*> open{&v};
  std::unordered_set<const vertex*> entered;
  while (!open.empty()) {
    const vertex& w = *open.back();
    if (!entered.insert(&w).second) {
      open.pop_back();
      vertices_[&w] = count(w);
      continue;
    }
    if (!vertices_.try_emplace(&w, std::nullopt).second) {
      open.pop_back();
      continue;
    }
    const auto need = [&](const vertex* table) {
      if (table && !vertices_.contains(table)) open.push_back(table);
    };
    for (const branch& b : w.inputs) need(b.table);
    for (const planner::binding& b : w.captures) need(b.table);
  }
  return vertices_.at(&v);
}

double row_counts::groups_of(const vertex& v, double rows) {
  const double guess = std::max(1.0, rows / rows_a_group);
  if (v.node->functions.empty() || v.node->has_own_equality()) return guess;
  const detail::user_function& key = v.node->functions.front();
  for (const auto& c : key.captures)
    if (c->owner) captured(c->slot, c->size);
  for (const planner::binding& b : v.captures) (void)of(*b.table);
  const ir::traced t = key.trace();
  if (!t) return guess;
  const auto most = values_of(t.root, [&](std::uint64_t slot) { return of_captured(slot, v.captures); });
  return most ? std::min(rows, *most) : guess;
}

std::optional<double> row_counts::count(const vertex& v) {
  if (v.node && v.node->what == verb::source_file) return rows_of_file(*v.node);
  double all = 0, product = 1;
  for (const branch& b : v.inputs) {
    const auto n = behind(b);
    if (!n) return std::nullopt;
    all += *n;
    product *= *n;
  }
  if (v.node) switch (v.node->what) {
      case verb::aggregate:
        all = 1;
        break;
      case verb::group_by:
        all = groups_of(v, all);
        break;
      case verb::cross_join:
        if (v.node->functions.size() == 1) all = product;  // else a join_where
        break;
      case verb::group_join:
        all = behind(v.inputs.front()).value_or(0);
        break;
      case verb::zip:
        all = v.inputs.empty() ? 0 : all / static_cast<double>(v.inputs.size());
        break;
      case verb::take:
      case verb::take_last:
        all = std::min(all, static_cast<double>(v.node->count));
        break;
      case verb::distinct:
      case verb::union_with:
      case verb::intersect:
      case verb::except:
        all = std::max(1.0, all * rows_that_pass);
        break;
      default:
        break;
    }
  if (v.limit != ~0ull) all = std::min(all, static_cast<double>(v.limit));
  return all;
}

void row_counts::begin_loop(const vertex& loop) {
  const auto n = loop.inputs.empty() ? std::nullopt : behind(loop.inputs.front());
  if (!n) return;
  const detail::logical& l = *loop.node;
  for (const std::uint64_t slot : {l.slot, l.previous_slot, l.next_slot}) variables_[slot] = *n;
  if (loop.body_result.table && loop.body_result.stages.empty()) vertices_[loop.body_result.table] = *n;
}

std::optional<double> row_counts::of_captured(std::uint64_t slot, const std::vector<planner::binding>& captures) const {
  for (const planner::binding& b : captures)
    if (b.slot == slot) {
      const auto it = vertices_.find(b.table);
      return it == vertices_.end() ? std::nullopt : it->second;
    }
  const auto it = containers_.find(slot);
  return it == containers_.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace query::runtime
