#include "gpu_engine/codegen/row_function.hpp"

#include "gpu_engine/codegen/expressions.hpp"
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

}  // namespace

const ir::type* source_row(const planner::branch& b) { return b.table ? b.table->row() : b.source->row; }

std::vector<bool> fields_read(const planner::branch& b, const ir::type* source, bool whole) {
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
  if (source_rows && whole) fields.assign(fields.size(), true);
  return fields;
}

row_function generate_rows(kernel_source& k, const planner::branch& b, const input_layout& in, std::uint32_t input, bool result) {
  row_function f;
  row_source row;
  row.what = row_source::form::columns;
  row.type = in.row;
  row.text = "i";
  for (std::uint32_t c = 0; c < in.columns.size(); ++c)
    row.columns.push_back({in.columns[c].offset, in.columns[c].type,
                           k.parameter({word::role::column, input, c, 0}, "const " + k.type_name(in.columns[c].type) + "* __restrict__")});
  std::string body;
  f.identity = true;

  const auto evaluate = [&](const ir::traced& t, const logical& n) {
    expressions e(k, k.site(n.label, n.where));
    e.bind(0, row);
    const std::string v = e.value(t.root);
    body += e.take();
    return v;
  };
  for (const planner::prefilter& p : b.prefilters) {
    f.filters = true;
    const std::string v = evaluate(trace_of(k, p), *p.from);
    body += "  if (!" + v + ") return false;\n";
  }
  for (const planner::stage& s : b.stages) {
    if (s.what != planner::stage::kind::rowwise) throw not_generated("a join's probe inside a pipeline");
    for (const logical* n : s.nodes) {
      if (n->what == verb::select_many) throw not_generated("select_many has no form on the GPU yet");
      const ir::traced t = k.trace(*n, n->functions.front());
      const std::string v = evaluate(t, *n);
      if (n->what == verb::where) {
        f.filters = true;
        body += "  if (!" + v + ") return false;\n";
        continue;
      }
      f.identity = false;
      const std::string kept = k.fresh("row");
      body += "  const " + k.type_name(n->row) + " " + kept + " = ";
      {
        expressions e(k, 0);
        const std::string text = e.converted(v, t.root->type, n->row);
        if (!e.take().empty()) throw not_generated("a select whose result changes its type");
        body += text + ";\n";
      }
      row = row_source::of_value(kept, n->row);
    }
  }
  f.out = b.row;
  f.name = k.fresh("rows_");
  if (result) body += "  out = " + expressions::part_of(row, 0, f.out, k) + ";\n";
  const std::string out = k.type_name(f.out);
  k.add("__device__ __forceinline__ bool " + f.name + "(const words& p, u64 i, " + out + "& out) {\n" + body + "  return true;\n}\n");
  return f;
}

std::string generate_function(kernel_source& k, const ir::traced& t, const ir::type* row, const std::string& verb, detail::call_site where) {
  expressions e(k, k.site(verb, where));
  e.bind(0, row_source::of_value("row", row));
  const std::string v = e.value(t.root);
  const std::string name = k.fresh("f_"), result = k.type_name(t.root->type), argument = k.type_name(row);
  k.add("__device__ __forceinline__ " + result + " " + name + "(const words& p, const " + argument + "& row) {\n" + e.take() + "  return " + v + ";\n}\n");
  return name;
}

}  // namespace query::gpu_engine
