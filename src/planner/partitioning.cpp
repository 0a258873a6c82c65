#include "planner/partitioning.hpp"

#include <algorithm>
#include <optional>

#include "ir/analysis.hpp"
#include "ir/visit.hpp"
#include "planner/interpretation.hpp"
#include "planner/rules/expressions.hpp"

namespace query::planner {

using detail::join_kind;
using detail::verb;
using ir::node;
using ir::op;

namespace {

// The same value wherever and however it is computed.
bool is_certain(const node* root, bool in_loop) {
  bool certain = true;
  ir::each_node(root, [&](const node* n) {
    switch (n->what) {
      case op::row:
      case op::field:
      case op::key:
      case op::member:
      case op::element:
      case op::make:
      case op::some:
      case op::null: break;
      case op::literal: certain = certain && !in_loop; break;
      case op::variable:
      case op::collection:
      case op::nested:
      case op::loop:
      case op::aggregate: certain = false; break;
      default:
        certain = certain && !ir::is_floating(n->type->k) &&
                  std::none_of(n->kids.begin(), n->kids.end(), [](const node* k) { return ir::is_floating(k->type->k); });
    }
  });
  return certain;
}

class following {
 public:
  following(wanted_rows wanted, bool in_loop, const variable_keys& of_loops) : wanted_(wanted), in_loop_(in_loop), of_loops_(of_loops) {}

  bool lie(const branch& b, std::size_t stages, const detail::user_function& key) {
    const node* e = key_of(key);
    return e && lie(b, stages, e);
  }

 private:
  static constexpr int most_steps = 256;  // stages, tables and parts of keys that are looked at

  const node* copied(const node* n) { return ir::renumber_row(all_, n, 0, 0); }
  // Of the function's own result type; null: nobody knows.
  const node* key_of(const detail::user_function& f) {
    const interpretation i = interpret(f);
    return i && i.expression && is_certain(i.expression.root, in_loop_) ? copied(i.expression.root) : nullptr;
  }
  // Of what a left join makes where there is no match, which may be the row as it is.
  const node* in_fields(const node* root) {
    if (root->what != op::select) return root;
    node both = *root;
    for (const node*& kid : both.kids) {
      if (kid->what != op::row || kid->type->k != ir::kind::record) continue;
      node made;
      made.what = op::make;
      made.type = kid->type;
      for (const ir::field& f : kid->type->fields()) {
        node part;
        part.what = op::field;
        part.id = kid->id;
        part.bits = f.offset;
        part.type = f.of;
        part.text = f.name;
        made.kids.push_back(all_.put(std::move(part)));
      }
      kid = all_.put(std::move(made));
    }
    return all_.put(std::move(both));
  }
  // The same value in terms of the rows that `row` makes a row of this type of; null: nobody knows.
  const node* before(const node* e, const ir::traced& row, const ir::type* type) {
    if (!row || row.root->type != type) return nullptr;
    const node* const rows[] = {rules::fields_first(all_, in_fields(copied(row.root)))};  // copied: equal parts are one node
    const node* made = ir::substitute(all_, e, rows);
    return made ? copied(made) : nullptr;
  }

  bool lie(const branch& b, std::size_t stages, const node* e) {
    if (++steps_ > most_steps) return false;
    if (follow(b, stages, e)) return true;
    // A part of the key is enough: rows with equal keys have equal parts.
    return wanted_ == wanted_rows::together && e->what == op::make &&
           std::any_of(e->kids.begin(), e->kids.end(), [&](const node* part) { return lie(b, stages, part); });
  }
  bool follow(const branch& b, std::size_t stages, const node* e) {
    for (std::size_t i = stages; i-- > 0;) {
      const stage& s = b.stages[i];
      if (s.what == stage::kind::probe) {
        e = before_join(s, e);
        return e && is_certain(e, in_loop_) && lie(b, i, e);
      }
      for (std::size_t k = s.nodes.size(); k-- > 0;) {
        if (++steps_ > most_steps) return false;
        const logical& n = *s.nodes[k];
        if (n.what == verb::where) continue;
        e = n.what == verb::select ? before(e, n.functions.front().trace(), n.row) : nullptr;
        if (!e || !is_certain(e, in_loop_)) return false;
      }
    }
    if (b.table) return lie(*b.table, e);
    const auto key = b.source->what == verb::placeholder ? of_loops_.find(b.source->slot) : of_loops_.end();
    return key != of_loops_.end() && is_key(e, key_of(*key->second));
  }
  const node* before_join(const stage& s, const node* e) {
    const logical& join = *s.join;
    const std::uint32_t flows = s.build_left ? 1 : 0;
    if (join.join == join_kind::semi || join.join == join_kind::anti) return flows == 0 ? e : nullptr;
    e = before(e, join.functions.back().trace(), join.row);
    if (!e) return nullptr;
    const auto rows = ir::rows_used(e);
    if (rows.size() != 1) return nullptr;
    if (rows.contains(flows)) return ir::renumber_row(all_, e, flows, 0);
    // The other side's key is this side's.
    if (join.join != join_kind::inner || join.has_own_equality() || join.functions[0].result != join.functions[1].result) return nullptr;
    const node* other = key_of(join.functions[1 - flows]);
    return other && other == ir::renumber_row(all_, e, 1 - flows, 0) ? key_of(join.functions[flows]) : nullptr;
  }
  bool lie(const vertex& v, const node* e) {
    if (v.moves)
      return *v.moves == exchange::hash && v.node && v.node->what == verb::partition && !v.node->seed && !v.node->has_own_equality() &&
             is_key(e, key_of(v.node->functions.front()));
    if (v.partitions == 1 || v.limit != ~0ull) return false;
    if (!v.node) return lie_in(v, e);
    switch (v.node->what) {
      case verb::cached:
      case verb::distinct:
      case verb::union_with:
      case verb::intersect:
      case verb::except: return lie_in(v, e);  // of sets, all inputs: rows of the first one may be there for those of another
      case verb::group_by: return lie_behind_groups(v, e);
      default: return false;
    }
  }
  bool lie_in(const vertex& v, const node* e) {
    return std::all_of(v.inputs.begin(), v.inputs.end(), [&](const branch& b) { return lie(b, b.stages.size(), e); });
  }
  bool lie_behind_groups(const vertex& v, const node* e) {
    const logical& n = *v.node;
    if (n.has_own_equality()) return false;
    const ir::traced t = n.functions.back().trace();
    if (!t) return false;
    const ir::group_analysis a = ir::plan_group_function(t, n.key, n.row);
    if (!a.plan || !a.plan->key) return false;
    const ir::traced finish{a.plan->owner, a.plan->finish, {}};
    const node *of_groups = before(e, finish, n.row), *key = copied(a.plan->key);
    if (!of_groups) return false;
    if (merges_states(v)) return is_key(of_groups, key);
    // What it is of the rows that are grouped.
    const node* const of_rows = key_of(n.functions.front());
    if (!of_rows) return false;
    if (is_whole(of_groups, key)) return lie(v.inputs.front(), v.inputs.front().stages.size(), of_rows);
    const auto part = part_of(of_groups, key);
    return part && of_rows->what == op::make && *part < of_rows->kids.size() && of_rows->kids[*part]->type == of_groups->type &&
           lie(v.inputs.front(), v.inputs.front().stages.size(), of_rows->kids[*part]);
  }

  // Is e the key that rows were put apart by, or has it as a part?
  bool is_key(const node* e, const node* key) {
    if (!key) return false;
    if (is_whole(e, key)) return true;
    if (wanted_ == wanted_rows::by_hash) return false;
    if (e->what == op::make) return std::any_of(e->kids.begin(), e->kids.end(), [&](const node* part) { return is_key(part, key); });
    const auto whole = ir::is_row_field(e), part = ir::is_row_field(key);
    return whole && part && whole->row == part->row && whole->offset <= part->offset &&
           part->offset + part->type->size <= whole->offset + whole->type->size;
  }
  // e, or all parts of it put together again.
  static bool is_whole(const node* e, const node* key) {
    if (e == key) return true;
    if (e->what != op::make || e->type != key->type || e->kids.empty() || e->kids.size() != e->type->fields().size()) return false;
    for (std::size_t i = 0; i < e->kids.size(); ++i)
      if (part_of(e->kids[i], key) != i || e->kids[i]->type != e->type->field_list[i].of) return false;
    return true;
  }
  static std::optional<std::size_t> part_of(const node* e, const node* key) {
    if (e->what != op::member || e->kids.front() != key) return std::nullopt;
    return static_cast<std::size_t>(e->bits);
  }

  wanted_rows wanted_;
  bool in_loop_;
  const variable_keys& of_loops_;
  ir::arena all_;
  int steps_ = 0;
};

}  // namespace

bool is_fixed(const detail::user_function& key) {
  try {
    const interpretation i = interpret(key);
    return i && i.expression && is_certain(i.expression.root, true);
  } catch (const untraceable&) {  // too large
    return false;
  }
}

bool lie_right(const branch& b, std::size_t stages, const detail::user_function& key, wanted_rows wanted, bool in_loop,
               const variable_keys& of_loops) {
  try {
    return following(wanted, in_loop, of_loops).lie(b, stages, key);
  } catch (const untraceable&) {  // too large
    return false;
  }
}

}  // namespace query::planner
