#include "gpu_engine/codegen/nearest_search.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "gpu_engine/codegen/column_parts.hpp"
#include "ir/analysis.hpp"

namespace query::gpu_engine {

using detail::logical;
using detail::verb;
using ir::kind;
using ir::node;
using ir::op;

namespace {

constexpr std::size_t most_dims = 128;  // whose halves fit the registers of a warp (device/nearest.cuh)

// A float of a row: which one, and where.
struct place {
  std::uint32_t row = 0;
  std::size_t offset = 0;
};
struct term {
  place a, b;
};

bool is_float(const node* n) { return n->type->k == kind::f32; }

// Floats that lie in a row, of an array or one by one.
bool places(const node* n, std::vector<place>& out) {
  if (n->what == op::field || n->what == op::row) {
    const std::size_t offset = n->what == op::field ? n->bits : 0;
    if (is_float(n)) {
      out.push_back({n->id, offset});
      return true;
    }
    if (n->type->k != kind::array || n->type->element->k != kind::f32) return false;
    for (std::size_t i = 0; i < n->type->count; ++i) out.push_back({n->id, offset + 4 * i});
    return true;
  }
  if (n->what == op::make && n->type->k == kind::array)
    return std::all_of(n->kids.begin(), n->kids.end(), [&](const node* kid) { return places(kid, out); });
  if (n->what == op::element && n->kids[0]->what == op::field && is_float(n)) {
    out.push_back({n->kids[0]->id, n->kids[0]->bits + 4 * n->bits});
    return true;
  }
  return false;
}

bool pairs(const node* x, const node* y, std::vector<term>& out) {
  std::vector<place> a, b;
  if (!places(x, a) || !places(y, b) || a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back({a[i], b[i]});
  return true;
}
// A difference, of floats or of arrays of them.
bool differences(const node* n, std::vector<term>& out) {
  if (n->what == op::sub) return pairs(n->kids[0], n->kids[1], out);
  return n->what == op::make && n->type->k == kind::array &&
         std::all_of(n->kids.begin(), n->kids.end(), [&](const node* kid) { return is_float(kid) && differences(kid, out); });
}

// The terms of a sum of squared differences, however its additions are arranged. `additions`: at most so many in a row.
bool terms_of(const node* root, std::vector<term>& out, std::uint32_t& additions) {
  if (!is_float(root)) return false;
  // A root keeps the order, but for differences in its last bit: as many as eight more additions would make.
  if (root->what == op::call && root->text == "sqrt" && root->kids.size() == 1) {
    const bool known = terms_of(root->kids[0], out, additions);
    additions += 8;
    return known;
  }
  std::vector<const node*> left = {root};
  while (!left.empty()) {
    const node* n = left.back();
    left.pop_back();
    if (!is_float(n)) return false;
    if (++additions > 2 * most_dims) return false;
    if (n->what == op::add) {
      left.push_back(n->kids[0]);
      left.push_back(n->kids[1]);
    } else if (n->what == op::literal) {
      if (n->bits != 0) return false;
    } else if (n->what == op::mul) {
      if (n->kids[0] != n->kids[1] || !differences(n->kids[0], out)) return false;
    } else if (n->what == op::call && n->kids.size() == 2) {
      const std::size_t before = out.size();
      const bool known = n->text == "squared_distance" ? pairs(n->kids[0], n->kids[1], out)
                         : n->text == "dot"            ? n->kids[0] == n->kids[1] && differences(n->kids[0], out)
                                                       : false;
      if (!known) return false;
      const std::size_t count = out.size() - before, lanes = count % 8 == 0 ? 8 : count % 4 == 0 ? 4 : 1;
      additions += static_cast<std::uint32_t>(count / lanes + lanes);
    } else {
      return false;
    }
  }
  return true;
}

std::optional<nearest_search> search_of(const node* n) {
  if (n->what != op::nested || n->text != "arg_min" || n->kids.size() != 2 || n->kids[0]->what != op::collection) return std::nullopt;
  nearest_search s;
  std::vector<term> terms;
  if (!terms_of(n->kids[1], terms, s.additions) || terms.size() < 2 || terms.size() > most_dims) return std::nullopt;
  for (term& t : terms) {
    if (t.a.row == n->id) std::swap(t.a, t.b);
    if (t.a.row != 0 || t.b.row != n->id) return std::nullopt;
  }
  std::sort(terms.begin(), terms.end(), [](const term& x, const term& y) { return x.a.offset < y.a.offset; });
  s.slot = n->kids[0]->bits;
  s.element = n->kids[0]->type;
  s.point = terms.front().a.offset;
  s.place = terms.front().b.offset;
  s.dims = static_cast<std::uint32_t>(terms.size());
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (terms[i].a.offset != s.point + 4 * i || terms[i].b.offset != s.place + 4 * i) return std::nullopt;
  return same_on_device(s.element) ? std::optional(s) : std::nullopt;
}

// Calls f(node) for each search of a tree, until it gives true.
template <class F> bool each_search(const node* root, F f) {
  std::vector<const node*> stack = {root};
  std::unordered_set<const node*> seen;
  while (!stack.empty()) {
    const node* n = stack.back();
    stack.pop_back();
    if (!seen.insert(n).second) continue;
    if (const auto s = search_of(n); s && f(n, *s)) return true;
    stack.insert(stack.end(), n->kids.begin(), n->kids.end());
  }
  return false;
}

// Where the points lie on the device, if side by side.
bool lies_in(nearest_search& s, const input_layout& in) {
  for (std::uint32_t c = 0; c < in.columns.size(); ++c) {
    const input_column& column = in.columns[c];
    if (s.point < column.offset || s.point + 4 * s.dims > column.offset + column.type->size || !same_on_device(column.type)) continue;
    s.column = c;
    s.align = std::min(alignment_of_stride(device_layout(column.type).size), alignment_of_stride((s.point - column.offset) | 16));
    return s.align >= 4;
  }
  return false;
}

}  // namespace

std::optional<found_nearest> find_nearest(kernel_source& k, const planner::branch& b, const input_layout& in, const logical* keyed) {
  std::optional<found_nearest> found;
  const auto look = [&](const logical& n) {
    ir::traced t = k.trace(n, n.functions.front());
    return each_search(t.root, [&](const node* arg_min, nearest_search s) {
      if (!lies_in(s, in)) return false;
      found = found_nearest{s, t, arg_min, &n};
      return true;
    });
  };
  for (const planner::stage& s : b.stages) {
    if (s.what != planner::stage::kind::rowwise) return std::nullopt;
    for (const logical* n : s.nodes)
      if ((n->what != verb::where && n->what != verb::select) || look(*n) || n->what != verb::where) return found;
  }
  if (keyed) look(*keyed);
  return found;
}

void bind_nearest(expressions& e, kernel_source& k, const node* root, const input_layout& in) {
  if (!in.nearest) return;
  each_search(root, [&](const node* n, const nearest_search& s) {
    if (s.same_search(*in.nearest))
      e.bind(n, "(" + std::string(scalar_text(n->type->k)) + ")(u32)" +
                    k.parameter({word::role::column, 0, in.nearest_column, 0}, "const u64* __restrict__") + "[i]");
    return false;
  });
}

std::string point_of(kernel_source& k, const nearest_search& s, const input_layout& in, const std::string& i) {
  const input_column& c = in.columns[s.column];
  return "(const float*)((const char*)(" + k.parameter({word::role::column, 0, s.column, 0}, "const " + k.type_name(c.type) + "*") + " + " +
         i + ") + " + std::to_string(s.point - c.offset) + ")";
}
std::string place_of(kernel_source& k, const nearest_search& s, const std::string& j) {
  return "(const float*)((const char*)(" + k.collection(s.slot, s.element) + " + " + j + ") + " + std::to_string(s.place) + ")";
}

bool keyed_by_nearest(kernel_source& k, const planner::branch& b, const input_layout& in, const logical& keyed) {
  if (!in.nearest || !ir::is_integer(keyed.key->k) || keyed.key->size < 4) return false;
  std::vector<ir::traced> traces = {k.trace(keyed, keyed.functions.front())};  // keep the nodes alive
  ir::arena made;
  const node* now = traces.front().root;
  std::vector<const logical*> selects;
  for (const planner::stage& s : b.stages)
    for (const logical* n : s.nodes)
      if (n->what != verb::where) selects.push_back(n);
  for (auto n = selects.rbegin(); n != selects.rend(); ++n) {
    if (!ir::is_integer(now->type->k) || (*n)->what != verb::select) return false;
    traces.push_back(k.trace(**n, (*n)->functions.front()));
    const node* root = traces.back().root;
    if (!same_shape(root->type, (*n)->row)) return false;  // converted on the way
    now = ir::substitute(made, now, std::array{root});
    if (!now) return false;
  }
  while ((now->what == op::cast || ir::narrowed_part(now)) && ir::is_integer(now->type->k) && now->type->size >= 4) now = now->kids[0];
  const auto s = search_of(now);
  return s && s->same_search(*in.nearest);
}

}  // namespace query::gpu_engine
