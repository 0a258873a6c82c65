#include <query/dynamic.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <query/detail/execute.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/text_verbs.hpp>
#include <query/verbs/terminals.hpp>

#include "ir/typed_text/parser.hpp"
#include "ir/typed_text/row_types.hpp"
#include "planner/expression_function.hpp"
#include "planner/typed_texts.hpp"

namespace query {

namespace {

namespace typed_text = ir::typed_text;
using detail::call_site;
using detail::verb;

const ir::node* record_of(ir::arena& a, const ir::type* t, std::vector<const ir::node*> parts) {
  ir::node n;
  n.what = ir::op::make;
  n.type = t;
  n.kids = std::move(parts);
  return a.put(std::move(n));
}

typed_text::row_column column_of(const typed_text::named_value& v) {
  if (!typed_text::can_be_column(v.value->type))
    throw typed_text::fault{v.at, v.length,
                            "a column is a number or a string, and `" + v.name + "` has the type " + std::string(v.value->type->name)};
  return {v.name, v.value->type};
}
const ir::type* row_of(const std::vector<typed_text::named_value>& values) {
  std::vector<typed_text::row_column> columns;
  for (const typed_text::named_value& v : values) columns.push_back(column_of(v));
  return typed_text::row_type_of(columns);
}

// The columns as one record; one column alone stays what it is, as a key.
ir::traced together(const typed_text::value_list& l, bool always_a_record) {
  ir::traced t;
  t.owner = l.owner;
  if (l.values.size() == 1 && !always_a_record) {
    (void)column_of(l.values[0]);
    t.root = l.values[0].value;
    return t;
  }
  std::vector<const ir::node*> parts;
  for (const typed_text::named_value& v : l.values) parts.push_back(v.value);
  t.root = record_of(*l.owner, row_of(l.values), std::move(parts));
  return t;
}

template <class T> T read(const void* at) {
  T x;
  std::memcpy(&x, at, sizeof x);
  return x;
}
template <class T> cell integer_at(const void* at) { return {.what = cell::kind::integer, .integer = read<T>(at), .text = {}}; }
template <class T> cell natural_at(const void* at) { return {.what = cell::kind::natural, .natural = read<T>(at), .text = {}}; }
template <class T> cell number_at(const void* at) { return {.what = cell::kind::number, .number = read<T>(at), .text = {}}; }
cell cell_of(const ir::type* t, const void* at) {
  switch (t->k) {
    case ir::kind::boolean: return {.what = cell::kind::boolean, .integer = read<bool>(at), .text = {}};
    case ir::kind::i8: return integer_at<std::int8_t>(at);
    case ir::kind::i16: return integer_at<std::int16_t>(at);
    case ir::kind::i32: return integer_at<std::int32_t>(at);
    case ir::kind::i64: return integer_at<std::int64_t>(at);
    case ir::kind::u8: return natural_at<std::uint8_t>(at);
    case ir::kind::u16: return natural_at<std::uint16_t>(at);
    case ir::kind::u32: return natural_at<std::uint32_t>(at);
    case ir::kind::u64: return natural_at<std::uint64_t>(at);
    case ir::kind::f32: return number_at<float>(at);
    case ir::kind::f64: return number_at<double>(at);
    case ir::kind::string: return {.what = cell::kind::text, .text = *static_cast<const std::string*>(at)};
    case ir::kind::optional: {
      const void* const value = t->get.value(at);
      return value ? cell_of(t->element, value) : cell{};
    }
    default: throw user_error("rows: a column has the type " + std::string(t->name) + ", which does not fit in a cell; select its parts");
  }
}

}  // namespace

dynamic_query::dynamic_query(const detail::query_state& state) : state_(state) {}

dynamic_query dynamic_query::where(const text_expression& condition, call_site at) const {
  return dynamic_query(detail::where_text(state_.origin, state_.how, condition, state_.node->row, "where", at));
}

dynamic_query dynamic_query::order_by(const text_expression& keys, call_site at) const {
  auto n = detail::new_node(verb::order_by, "order_by", state_.node->row, at, {state_.origin});
  detail::add_text_order(*n, keys, false, "order_by", at);
  return dynamic_query(detail::finished(std::move(n), {&state_.how}));
}

dynamic_query dynamic_query::select(const text_expression& columns, call_site at) const {
  const ir::type* const row = state_.node->row;
  ir::traced made = planner::read_typed("select", columns, at, [&] { return together(typed_text::columns_of(columns, row), true); });
  const ir::type* const out = made.root->type;
  const detail::user_function f = planner::function_of("projection", std::move(made), row, out);
  const detail::query_state s = detail::extended(state_, state_.origin, verb::select, "select", f, out, at);
  return dynamic_query({detail::pipe{s.node, planner::segment_of(state_.origin, f)}, s.how});
}

dynamic_query dynamic_query::group_by(const text_expression& keys, const text_expression& aggregates, call_site at) const {
  const ir::type* const row = state_.node->row;
  std::vector<typed_text::named_value> columns;
  ir::traced key = planner::read_typed("group_by", keys, at, [&] {
    const typed_text::value_list l = typed_text::columns_of(keys, row);
    columns = l.values;
    return together(l, false);
  });
  const ir::type* const key_type = key.root->type;
  ir::traced groups = planner::read_typed("group_by", aggregates, at, [&] {
    typed_text::value_list l = typed_text::aggregates_of(aggregates, row);
    const ir::node* const k = l.owner->put(ir::op::key, key_type);
    std::vector<const ir::node*> parts;
    for (std::size_t i = 0; i < columns.size(); ++i)
      parts.push_back(columns.size() == 1 ? k : l.owner->put(ir::op::member, columns[i].value->type, {k}, i));
    for (const typed_text::named_value& v : l.values) {
      for (const typed_text::named_value& known : columns)
        if (known.name == v.name) throw typed_text::fault{v.at, v.length, "a key is called `" + v.name + "`; write `... as name`"};
      columns.push_back(v);
      parts.push_back(v.value);
    }
    return ir::traced{l.owner, record_of(*l.owner, row_of(columns), std::move(parts)), {}, 0};
  });
  const ir::type* const out = groups.root->type;
  auto n = detail::group_node("group_by", out, at, state_.origin, {}, key_type, {});
  n->functions.push_back(planner::function_of("key", std::move(key), row, key_type));
  n->functions.push_back(planner::function_of_groups(std::move(groups), out));
  return dynamic_query(detail::finished(std::move(n), {&state_.how}));
}

static detail::query_state counted(const detail::query_state& of, verb v, const char* label, std::uint64_t n, call_site at) {
  auto made = detail::new_node(v, std::string(label) + "(" + std::to_string(n) + ")", of.node->row, at, {of.origin});
  made->count = n;
  return detail::finished(std::move(made), {&of.how});
}
dynamic_query dynamic_query::take(std::uint64_t n, call_site at) const { return dynamic_query(counted(state_, verb::take, "take", n, at)); }
dynamic_query dynamic_query::skip(std::uint64_t n, call_site at) const { return dynamic_query(counted(state_, verb::skip, "skip", n, at)); }

std::vector<std::string> dynamic_query::names() const {
  const ir::type* const row = state_.node->row;
  if (row->k != ir::kind::record) return {"value"};
  std::vector<std::string> all;
  for (const ir::field& f : row->fields()) all.emplace_back(f.name);
  return all;
}

std::int64_t dynamic_query::count() const {
  detail::fold_state s;
  detail::fold(state_.origin, state_.how, detail::fold_kind::count, s);
  return static_cast<std::int64_t>(s.count);
}

std::vector<std::vector<cell>> dynamic_query::rows() const {
  const detail::table t = detail::materialise(state_.origin, state_.how);
  const ir::type* const row = state_.node->row;
  std::vector<std::vector<cell>> all(t.n);
  for (std::size_t i = 0; i < t.n; ++i) {
    const auto* const at = static_cast<const std::byte*>(t.rows) + i * row->size;
    if (row->k != ir::kind::record) all[i].push_back(cell_of(row, at));
    else
      for (const ir::field& f : row->fields()) all[i].push_back(cell_of(f.of, at + f.offset));
  }
  return all;
}

std::string dynamic_query::table(const print_options& options) const {
  const detail::table all = detail::materialise(state_.origin, state_.how);
  detail::table shown = all;
  shown.n = std::min(all.n, options.rows);
  return detail::print_rows(shown, state_.origin, all.n, options);
}
void dynamic_query::print(const print_options& options) const { verbs::print_text(table(options)); }

void dynamic_query::write_csv(const std::string& path, const csv_options& options, call_site at) const {
  detail::write_csv_file(state_.origin, state_.how, path, &options, at);
}
std::string dynamic_query::explain() const { return detail::explain(state_.origin, state_.how, {}, {}); }

}  // namespace query
