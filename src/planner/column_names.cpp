#include "planner/column_names.hpp"

#include <algorithm>
#include <cctype>

#include "planner/names.hpp"

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

std::string name_of(const ir::node* n, const std::vector<std::string>& below, bool two_rows) {
  switch (n->what) {
    case ir::op::literal:
    case ir::op::null: return {};
    case ir::op::row: return !two_rows ? "" : n->id == 0 ? "left" : "right";
    case ir::op::field: {
      // A member of a tuple below goes by that one's name.
      const bool number = n->id == 0 && !n->text.empty() && std::all_of(n->text.begin(), n->text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
      if (!number) return text_of(n);
      const std::size_t i = std::stoul(n->text);
      return i < below.size() ? below[i] : std::string();
    }
    case ir::op::aggregate:
      if (n->text == "aggregate") return n->text;  // the user's own: its functions make no name
      if (n->kids.empty()) return n->text;
      if (n->kids.front()->what == ir::op::row) return n->text;
      return n->text + "(" + text_of(n->kids.front()) + (n->text == "quantile" && n->kids.size() == 2 ? ", " + text_of(n->kids[1]) : "") + ")";
    default: return text_of(n);
  }
}

}  // namespace

std::vector<std::string> column_names(const logical& n) {
  if (n.row->k != ir::kind::record || n.row->name != "tuple") return {};
  if (keeps_rows(n)) return column_names(*n.inputs.front().node);
  if (!makes_rows(n) || n.functions.empty()) return {};
  const std::size_t fields = n.row->field_list.size();
  const ir::traced made = n.functions.back().trace();
  const std::vector<std::string> below = n.inputs.empty() ? std::vector<std::string>() : column_names(*n.inputs.front().node);
  if (!made) return n.label == "aggregate_by" && fields == 2 ? std::vector<std::string>{"key", "aggregate"} : std::vector<std::string>();
  if (made.root->what == ir::op::row && made.root->id == 0) return below;
  if (made.root->what != ir::op::make || made.root->kids.size() != fields) return {};
  const bool two_rows = n.what == verb::join || n.what == verb::cross_join || n.what == verb::zip;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < fields; ++i) {
    std::string name = name_of(made.root->kids[i], below, two_rows);
    const bool taken = std::find(names.begin(), names.end(), name) != names.end();
    names.push_back(name.empty() || name.size() > longest || taken ? std::string(n.row->field_list[i].name) : std::move(name));
  }
  return names;
}

}  // namespace query::planner
