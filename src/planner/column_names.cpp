#include "planner/column_names.hpp"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "planner/names.hpp"
#include "planner/plan_walk.hpp"

namespace query::planner {

using detail::join_kind;
using detail::logical;
using detail::verb;

namespace {

constexpr std::size_t longest = 32;  // an expression beyond that is no name

bool makes_rows(const logical& n) {
  switch (n.what) {
    case verb::select:
    case verb::group_by:
    case verb::aggregate:
    case verb::cross_join:
    case verb::zip: return true;
    case verb::join: return n.join != join_kind::semi && n.join != join_kind::anti;
    default: return false;
  }
}
bool keeps_rows(const logical& n) {
  switch (n.what) {
    case verb::select_many:
    case verb::group_join:
    case verb::chunk:
    case verb::window:
    case verb::apply:
    case verb::do_while: return false;
    default: return !makes_rows(n) && !n.inputs.empty() && n.inputs.front().node->row == n.row;
  }
}

// "price * f64(qty)": without the brackets around the whole.
std::string without_brackets(std::string text) {
  if (text.size() < 2 || text.front() != '(') return text;
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    open += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (open == 0) return i + 1 == text.size() ? text.substr(1, i - 1) : text;
  }
  return text;
}

std::string text_of(const ir::node* n) { return without_brackets(shown(ir::traced{nullptr, n, {}, 0})); }

using names = std::vector<std::string>;

bool is_tuple(const ir::type* t) { return t->k == ir::kind::record && t->name == "tuple"; }
std::size_t columns_in(const ir::type* t) {
  if (!is_tuple(t)) return 1;
  std::size_t n = 0;
  for (const ir::field& f : t->field_list) n += columns_in(f.of);
  return n;
}

// What names are made from: those of the rows below, for each of their fields; the key of the group, if there is one.
struct known_names {
  std::vector<names> below;
  std::vector<names> right;  // of the second input, where there are two rows
  const ir::type* rows = nullptr;
  const ir::node* key = nullptr;
  bool two_rows = false;
};
names names_of(const ir::node* n, const ir::type* t, const known_names& known);

names part_of(const names& all, const ir::type* tuple, std::size_t i) {
  auto at = all.begin();
  for (std::size_t k = 0; k < i; ++k) at += static_cast<std::ptrdiff_t>(columns_in(tuple->field_list[k].of));
  return names(at, at + static_cast<std::ptrdiff_t>(columns_in(tuple->field_list[i].of)));
}

names flat(const std::vector<names>& of_fields) {
  names all;
  for (const names& of : of_fields) all.insert(all.end(), of.begin(), of.end());
  return all;
}

// Of a part of a row that is a tuple, by its path "0.1": what it was called where the tuple was made. Nothing for other paths.
names names_of_path(std::string_view path, const known_names& known) {
  const ir::type* t = known.rows;
  names all = flat(known.below);
  while (!path.empty()) {
    if (!t || !is_tuple(t) || all.size() != columns_in(t)) return {};
    const std::string_view part = path.substr(0, path.find('.'));
    const auto f = std::find_if(t->field_list.begin(), t->field_list.end(), [&](const ir::field& x) { return x.name == part; });
    if (f == t->field_list.end()) return {};
    all = part_of(all, t, static_cast<std::size_t>(f - t->field_list.begin()));
    t = f->of;
    path.remove_prefix(std::min(part.size() + 1, path.size()));
  }
  return all;
}
bool begins_with_digit(const std::string& path) { return !path.empty() && std::isdigit(static_cast<unsigned char>(path.front())) != 0; }

// A part of the right row: its own name, unless the left row has one that is called so.
std::string name_on_the_right(const std::string& path, const known_names& known) {
  const std::string_view first = std::string_view(path).substr(0, path.find('.'));
  const bool both = known.rows && std::any_of(known.rows->field_list.begin(), known.rows->field_list.end(),
                                              [&](const ir::field& f) { return f.name == first; });
  return both ? "right." + path : path;
}

std::string name_of(const ir::node* n, const known_names& known) {
  switch (n->what) {
    case ir::op::literal:
    case ir::op::null: return {};
    case ir::op::row: return !known.two_rows ? "" : n->id == 0 ? "left" : "right";
    case ir::op::field: {
      const names of = n->id == 0 ? names_of_path(n->text, known) : names();
      if (of.size() == 1) return of.front();
      if (begins_with_digit(n->text)) return {};
      return known.two_rows && n->id == 1 ? name_on_the_right(n->text, known) : text_of(n);
    }
    case ir::op::member: {
      const ir::node* tuple = n->kids.front();
      if (tuple->what == ir::op::aggregate && n->bits < tuple->type->field_list.size())
        return name_of(tuple, known) + "." + std::string(tuple->type->field_list[n->bits].name);
      if (!is_tuple(tuple->type) || n->bits >= tuple->type->field_list.size()) return text_of(n);
      return part_of(names_of(tuple, tuple->type, known), tuple->type, n->bits).front();
    }
    case ir::op::aggregate:
      if (n->text == "aggregate") return n->text;  // the user's own: its functions make no name
      if (n->kids.empty()) return n->text;
      if (n->kids.front()->what == ir::op::row) return n->text;
      return n->text + "(" + text_of(n->kids.front()) + (n->text == "quantile" && n->kids.size() == 2 ? ", " + text_of(n->kids[1]) : "") +
             ")";
    case ir::op::some: return name_of(n->kids.front(), known);
    default: return text_of(n);
  }
}

// Of a choice: what is chosen; the condition where that is true or false.
std::string name_of_choice(const ir::node* condition, const ir::node* a, const ir::node* b, const known_names& known) {
  if (a == b) return name_of(a, known);
  const auto says = [](const ir::node* x, bool truth) {
    return x->what == ir::op::literal && x->type->k == ir::kind::boolean && x->bits == truth;
  };
  return says(a, true) && says(b, false) ? text_of(condition) : std::string();
}

// Of a row that is a tuple: those that its parts had; of two rows with one name for a part, with the side.
names names_of_row(bool left, const ir::type* t, const known_names& known) {
  names own = flat(left ? known.below : known.right);
  if (own.size() != columns_in(t)) return {};
  const names other = flat(left ? known.right : known.below);
  for (std::string& name : own)
    if (std::find(other.begin(), other.end(), name) != other.end()) name = (left ? "left." : "right.") + name;
  return own;
}

// A name for each column that a value of type t is; empty ones where there is none.
names names_of(const ir::node* n, const ir::type* t, const known_names& known) {
  if (!is_tuple(t)) return {name_of(n, known)};
  names all;
  const auto add = [&](names more) { all.insert(all.end(), more.begin(), more.end()); };
  const std::size_t fields = t->field_list.size();
  const auto makes = [&](const ir::node* x) { return x->what == ir::op::make && x->kids.size() == fields; };
  if (n->what == ir::op::row) add(names_of_row(n->id == 0, t, known));
  if (n->what == ir::op::key && known.key) {
    add(names_of(known.key, t, known));
  } else if (n->what == ir::op::field && n->id == 0) {
    add(names_of_path(n->text, known));
  } else if (n->what == ir::op::member && is_tuple(n->kids.front()->type) && n->bits < n->kids.front()->type->field_list.size()) {
    const ir::type* tuple = n->kids.front()->type;
    add(part_of(names_of(n->kids.front(), tuple, known), tuple, n->bits));
  } else if (makes(n)) {
    for (std::size_t i = 0; i < fields; ++i) add(names_of(n->kids[i], t->field_list[i].of, known));
  } else if (n->what == ir::op::select && makes(n->kids[1]) && makes(n->kids[2]) && columns_in(t) == fields) {
    for (std::size_t i = 0; i < fields; ++i) add({name_of_choice(n->kids[0], n->kids[1]->kids[i], n->kids[2]->kids[i], known)});
  }
  all.resize(columns_in(t));
  return all;
}

// The fields' own names, where a column has none, or one that is taken.
void number_rest(names& of, const ir::type* t, const std::string& name, std::size_t& at, const names& before) {
  if (is_tuple(t)) {
    for (const ir::field& f : t->field_list) number_rest(of, f.of, name + "." + std::string(f.name), at, before);
    return;
  }
  std::string& column = of[at];
  const auto here = of.begin() + static_cast<std::ptrdiff_t>(at);
  const bool taken = std::find(before.begin(), before.end(), column) != before.end() || std::find(of.begin(), here, column) != here;
  if (column.empty() || column.size() > longest || taken) column = name;
  ++at;
}

// Of the fields of a row, from those of the rows below. What is below two verbs is looked at once.
class naming {
 public:
  plan_walk<std::vector<names>> fields_of(const logical& last);

 private:
  plan_walk<std::vector<names>> made_by(const logical& n);
  std::unordered_map<const logical*, std::vector<names>> known_;
};

plan_walk<std::vector<names>> naming::fields_of(const logical& last) {
  if (!is_tuple(last.row)) co_return std::vector<names>();
  const logical* n = &last;
  while (keeps_rows(*n)) n = n->inputs.front().node.get();
  if (!makes_rows(*n) || n->functions.empty()) co_return std::vector<names>();
  if (const auto at = known_.find(n); at != known_.end()) co_return at->second;
  std::vector<names> all = co_await made_by(*n);
  known_.emplace(n, all);
  co_return all;
}

plan_walk<std::vector<names>> naming::made_by(const logical& n) {
  const std::vector<ir::field>& fields = n.row->field_list;
  const ir::traced made = n.functions.back().trace();
  const ir::traced key = n.what == verb::group_by ? n.functions.front().trace() : ir::traced();
  known_names known;
  if (!n.inputs.empty()) {
    known.below = co_await fields_of(*n.inputs.front().node);
    known.rows = n.inputs.front().node->row;
  }
  known.key = key ? key.root : nullptr;
  known.two_rows = n.what == verb::join || n.what == verb::cross_join || n.what == verb::zip;
  if (known.two_rows && n.inputs.size() > 1) known.right = co_await fields_of(*n.inputs[1].node);
  const bool folded = !made && n.label == "aggregate_by" && fields.size() == 2;
  if (!made && !folded) co_return std::vector<names>();
  if (made && made.root->what == ir::op::row && made.root->id == 0) co_return known.below;
  if (made && (made.root->what != ir::op::make || made.root->kids.size() != fields.size())) co_return std::vector<names>();
  std::vector<names> all;
  names before;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const ir::type* t = fields[i].of;
    names of;
    if (!folded) of = names_of(made.root->kids[i], t, known);
    else if (i == 0 && is_tuple(t) && known.key) of = names_of(known.key, t, known);
    else of = names(columns_in(t), columns_in(t) > 1 ? "" : i == 0 ? "key" : "aggregate");
    const bool is_key = is_tuple(t) && n.what == verb::group_by && (folded ? i == 0 : made.root->kids[i]->what == ir::op::key);
    std::size_t at = 0;
    number_rest(of, t, is_key ? "key" : std::string(fields[i].name), at, before);
    before.insert(before.end(), of.begin(), of.end());
    all.push_back(std::move(of));
  }
  co_return all;
}

}  // namespace

std::vector<std::string> column_names(const logical& n) {
  naming all;
  return flat(run(all.fields_of(n)));
}

}  // namespace query::planner
