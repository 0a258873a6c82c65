#include "gpu_engine/codegen/row_function.hpp"

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/codegen/nearest_search.hpp"
#include "ir/analysis.hpp"

namespace query::gpu_engine {

using detail::logical;
using detail::verb;

namespace {

ir::traced trace_of(kernel_source& k, const planner::prefilter& p) {
  if (p.expression) {
    if (p.function) (void)k.trace(*p.from, *p.function);  // knows what it captured
    return p.expression;
  }
  return k.trace(*p.from, *p.function);
}

// A function of the row and its number.
bool takes_number(const logical& n) {
  const detail::user_function& f = n.functions.front();
  return (n.what == verb::where || n.what == verb::select) && !f.native.map && !f.native.filter;
}

}  // namespace

const ir::type* source_row(const planner::branch& b) { return b.table ? b.table->row() : b.source->row; }

std::vector<bool> fields_wanted(const planner::branch& b, std::vector<bool> fields) {
  if (b.wanted.size() == fields.size())
    for (std::size_t i = 0; i < fields.size(); ++i) fields[i] = fields[i] && b.wanted[i];
  return fields;
}

std::vector<bool> fields_read(const planner::branch& b, bool whole, std::span<const ir::node* const> above) {
  const ir::type* source = source_row(b);
  std::vector<bool> fields(source->k == ir::kind::record ? source->field_list.size() : 1);
  bool source_rows = true;
  kernel_source k;  // traces need one
  for (const planner::prefilter& p : b.prefilters) ir::fields_used(trace_of(k, p).root, 0, source, fields);
  for (const planner::stage& s : b.stages) {
    if (s.what != planner::stage::kind::rowwise) throw not_generated("a join's probe inside a pipeline");
    for (const logical* n : s.nodes) {
      if (!source_rows) break;
      ir::fields_used(k.trace(*n, n->functions.front()).root, 0, source, fields);
      source_rows = n->what == verb::where;
    }
  }
  if (!source_rows) return fields;
  if (whole) {
    const std::vector<bool> row = fields_wanted(b, std::vector<bool>(fields.size(), true));
    for (std::size_t i = 0; i < fields.size(); ++i) fields[i] = fields[i] || row[i];
  }
  for (const ir::node* n : above) ir::fields_used(n, 0, source, fields);
  return fields;
}

std::vector<bool> all_fields(const ir::type* row) {
  return std::vector<bool>(row->k == ir::kind::record ? row->field_list.size() : 1, true);
}

row_source input_rows(kernel_source& k, const input_layout& in, std::uint32_t input, const std::string& number) {
  row_source row;
  row.what = row_source::form::columns;
  row.type = in.row;
  row.text = number;
  for (std::uint32_t c = 0; c < in.columns.size(); ++c) {
    const std::string type = k.type_name(in.columns[c].type);
    const auto word_as = [&](const std::string& what) { return k.parameter({word::role::column, input, c, 0}, what); };
    row.columns.push_back({in.columns[c].offset, in.columns[c].type,
                           in.columns[c].counted ? "numbers_from<" + type + ">{" + word_as("u64") + "}"
                                                 : word_as("const " + type + "* __restrict__")});
  }
  return row;
}

row_pipeline generate_pipeline(kernel_source& k, const planner::branch& b, const input_layout& in, std::uint32_t input) {
  row_pipeline f;
  f.row = input_rows(k, in, input, "i");
  const auto evaluate = [&](const ir::traced& t, const logical& n) {
    expressions e(k, k.site(n.label, n.where));
    e.bind(0, f.row);
    if (takes_number(n))
      e.bind(1, row_source::of_value("i64(" + k.parameter({word::role::first, input, 0, 0}, "u64") + " + i)",
                                     ir::describe<std::int64_t>()));
    if (f.row.what == row_source::form::columns) bind_nearest(e, k, t.root, in);
    const std::string v = e.value(t.root);
    f.body += e.take();
    f.loops = f.loops || e.loops();
    return v;
  };
  const auto test = [&](const ir::traced& t, const logical& n) {
    f.filters = true;
    const std::string v = evaluate(t, n);
    f.body += "  if (!" + v + ") return false;\n";
  };
  for (const planner::prefilter& p : b.prefilters) test(trace_of(k, p), *p.from);
  for (const planner::stage& s : b.stages) {
    if (s.what != planner::stage::kind::rowwise) throw not_generated("a join's probe inside a pipeline");
    for (const logical* n : s.nodes) {
      const bool many = n->what == verb::select_many;
      if (many && (n != s.nodes.back() || &s != &b.stages.back())) throw not_generated("select_many inside a pipeline");
      const ir::traced t = k.trace(*n, n->functions.front());
      if (n->what == verb::where) {
        test(t, *n);
        continue;
      }
      const std::string v = evaluate(t, *n), kept = k.fresh("row");
      const ir::type* row = many ? t.root->type : n->row;  // many: the array or list, whose elements become rows (many_rows.cpp)
      expressions e(k, 0);
      const std::string text = e.converted(v, t.root->type, row);
      f.body += e.take() + "  const " + k.type_name(row) + " " + kept + " = " + text + ";\n";
      f.row = row_source::of_value(kept, row);
    }
  }
  return f;
}

row_function generate_rows(kernel_source& k, const planner::branch& b, const input_layout& in, std::uint32_t input, bool result,
                           bool once) {
  row_pipeline rows = generate_pipeline(k, b, in, input);
  if (result) rows.body += "  out = " + expressions::part_of(rows.row, 0, b.row, k) + ";\n";
  row_function f{k.fresh("rows_"), b.row, rows.filters, rows.loops && once && !k.makes_texts()};
  const std::string out = k.type_name(f.out);
  k.add("__device__ " + inlining(rows.loops && !f.loops) + " bool " + f.name + "(const words& p, u64 i, " + out + "& out) {\n" + rows.body +
        "  return true;\n}\n");
  return f;
}

std::string generate_function(kernel_source& k, const ir::traced& t, const ir::type* row, const std::string& verb,
                              detail::call_site where) {
  expressions e(k, k.site(verb, where));
  e.bind(0, row_source::of_value("row", row));
  const std::string v = e.value(t.root);
  const std::string name = k.fresh("f_"), result = k.type_name(t.root->type), argument = k.type_name(row);
  k.add("__device__ __forceinline__ " + result + " " + name + "(const words& p, const " + argument + "& row) {\n" + e.take() + "  return " +
        v + ";\n}\n");
  return name;
}

}  // namespace query::gpu_engine
