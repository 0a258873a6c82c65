#include "planner/column_fold.hpp"

#include <span>

#include "planner/column_forms.hpp"

namespace query::planner {

using detail::verb;

namespace {

// The verbs of a stage, read with the columns that each one's rows have; projections only rename those of the source.
class folding {
 public:
  explicit folding(column_schema source) : fold_(std::make_shared<column_fold>()), now_(source) {
    fold_->where.tests.reserve(8);
    origins_.reserve(source.columns.size());
    for (std::size_t c = 0; c < source.columns.size(); ++c) origins_.push_back({c, 0});
    fold_->source = std::move(source);
  }

  bool add(const logical& n) {
    const detail::user_function& f = n.functions.front();
    if (n.what == verb::where && f.native.filter) return filter(f);
    return n.what == verb::select && f.native.map && rename(f);
  }
  bool filters() const { return !fold_->where.tests.empty(); }
  std::shared_ptr<const column_fold> of_rows(const ir::type* row, detail::fold_kind kind) {
    if (kind == detail::fold_kind::count) return fold_;
    if (!ir::is_arithmetic(row->k) || !value(row)) return nullptr;
    return fold_;
  }

 private:
  bool filter(const detail::user_function& f) {
    if (converted_) return false;
    number_predicate& all = fold_->where;
    const std::size_t before = all.tests.size();
    const ir::traced t = f.trace();
    if (!t || !add_number_predicate(t.root, now_, all)) return false;
    for (number_test& added : std::span(all.tests).subspan(before)) {
      if (added.what != number_test::kind::compare) continue;
      added.left = of_source(added.left);
      if (!added.right.constant()) added.right = of_source(added.right);
    }
    return true;
  }
  bool rename(const detail::user_function& f) {
    if (converted_) return false;
    if (ir::is_arithmetic(f.result->k)) return number(f);
    const auto p = project(f, now_);
    if (!p) return false;
    std::vector<column_part> origins;
    for (const projected_part& part : p->parts) {
      if (part.computed) return false;
      origins.push_back({origins_[part.column].column, origins_[part.column].within + part.within});
    }
    origins_ = std::move(origins);
    now_ = p->schema();
    return true;
  }
  // A column, or one that is converted to what is folded, if nothing comes after it.
  bool number(const detail::user_function& f) {
    const ir::traced t = f.trace();
    if (!t || t.root->type != f.result) return false;
    const auto x = number_operand_of(t.root, now_);
    if (!x || x->constant()) return false;
    if (x->lies != f.result) {
      converted_ = of_source(*x);
      return true;
    }
    const number_operand from = of_source(*x);
    origins_.assign(1, {from.column, from.within});
    now_.columns.assign(1, {0, f.result});
    return true;
  }
  bool value(const ir::type* row) {
    if (converted_) {
      fold_->value = *converted_;
      return true;
    }
    const column_schema::column* c = now_.holding(0, row->size);
    if (!c || c->type != row) return false;
    number_operand x;
    x.column = static_cast<std::size_t>(c - now_.columns.data());
    x.lies = row;
    x.as = row->k;
    fold_->value = of_source(x);
    return true;
  }
  number_operand of_source(number_operand x) const {
    x.within += origins_[x.column].within;
    x.column = origins_[x.column].column;
    return x;
  }

  std::shared_ptr<column_fold> fold_;
  column_schema now_;
  std::vector<column_part> origins_;  // of now_'s columns, in the source's
  std::optional<number_operand> converted_;
};

}  // namespace

std::shared_ptr<const column_fold> column_fold_of(const branch& b, detail::fold_kind kind) {
  if (b.table || !b.source || b.source->what != verb::source_columns || !b.prefilters.empty() || b.stages.size() != 1) return nullptr;
  const stage& s = b.stages.front();
  if (s.what != stage::kind::rowwise || s.how != form::native || !s.native || s.nodes.empty()) return nullptr;
  folding f(source_schema(b));
  for (const logical* n : s.nodes)
    if (!f.add(*n)) return nullptr;
  // Compiled loops add up rows one by one, in another order, where a function must not run on rows that a filter rejects.
  if (f.filters() && !s.speculate) return nullptr;
  return f.of_rows(s.out, kind);
}

}  // namespace query::planner
