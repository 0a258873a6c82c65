// From a group's state to its row: the last step of each aggregate, and the expression over them.
#include <cstring>

#include "gpu_engine/codegen/group_aggregates.hpp"

namespace query::gpu_engine {

using ir::aggregate_call;
using ir::aggregate_kind;
using ir::kind;

namespace {

std::string number(std::size_t n) { return std::to_string(n); }

// A thread that hands on a whole row holds it. Of larger ones the code grows with their size, and takes minutes to compile.
constexpr std::size_t most_row_bytes = 2048;
void check_held(const ir::type* row, const aggregate_call& c) {
  const std::size_t bytes = device_layout(row).size;
  if (bytes > most_row_bytes)
    throw not_generated(std::string(ir::name_of(c.what)) + " of rows of " + number(bytes) + " bytes: a thread of a kernel holds at most " +
                        number(most_row_bytes) + " of a row");
}

}  // namespace

void generate_finish(kernel_source& k, const ir::group_plan& plan, const ir::type* key, const ir::type* result, const std::string& fetch,
                     const ir::type* row, const std::string& verb, detail::call_site where, std::uint32_t arguments) {
  const std::uint32_t site = k.site(verb, where);
  std::string body;
  expressions e(k, site);
  if (plan.key) e.bind(plan.key, "key");
  for (std::size_t i = 0; i < plan.calls.size(); ++i) {
    const aggregate_call& c = plan.calls[i];
    const std::string j = number(i), name = "r" + j, type = k.type_name(c.source->type), s = "s.s" + j, n = "s.n" + j;
    body += "  " + type + " " + name + "{};\n";
    const bool names_row = c.what == aggregate_kind::arg_min || c.what == aggregate_kind::arg_max;
    const bool optional = c.source->type->k == kind::optional && !(names_row && c.source->type == row);  // rows may be optionals
    const ir::type* plain = optional ? c.source->type->element : c.source->type;
    const std::string to = optional && c.what != aggregate_kind::first && c.what != aggregate_kind::last ? name + ".v" : name;
    const auto present = [&](const std::string& when) {
      if (optional) body += "  " + name + ".has = " + when + ";\n";
    };
    switch (c.what) {
      case aggregate_kind::count:
        body += "  " + to + " = (i64)s.rows;\n";
        break;
      case aggregate_kind::count_if:
        body += "  " + to + " = (i64)" + s + ";\n";
        break;
      case aggregate_kind::any:
      case aggregate_kind::all:
        body += "  " + to + " = " + s + " != 0;\n";
        break;
      case aggregate_kind::sum:
        if (plain->k == kind::array)
          body += std::string(plain->count < long_array ? "" : rolled) + "  for (u32 e = 0; e < " + number(plain->count) + "; ++e) " + to +
                  ".a[e] = " + s + ".a[e];\n";
        else
          body += "  " + to + " = " + s + ";\n";
        break;
      case aggregate_kind::mean: {
        const std::string count = c.nullable ? n : "s.rows";
        if (plain->k == kind::array)
          body += std::string(plain->count < long_array ? "" : rolled) + "  for (u32 e = 0; e < " + number(plain->count) + "; ++e) " + to +
                  ".a[e] = (" + k.type_name(plain->element) +
                  ")((double)" + s + ".a[e] / (double)" + count + ");\n";
        else
          body += "  " + to + " = (double)" + s + " / (double)" + count + ";\n";
        present(count + " != 0");
        break;
      }
      case aggregate_kind::min:
      case aggregate_kind::max: {
        if (c.value->k == kind::string) {
          body += "  if (" + s + ".size != ~u64(0)) " + to + " = " + s + ";\n";
          present(s + ".size != ~u64(0)");
          break;
        }
        const std::string x = "(" + k.type_name(plain) + ")" + s;
        if (ir::is_floating(c.value->k))
          body += "  " + to + " = " + n + " == 2u ? " + x + " : " +
                  (c.value->k == kind::f32 ? "__uint_as_float(0x7fc00000u)" : "__longlong_as_double(0x7ff8000000000000ll)") + ";\n";
        else
          body += "  " + to + " = " + x + ";\n";
        present(n + " != 0u");
        break;
      }
      case aggregate_kind::variance:
      case aggregate_kind::stddev:
        body += "  " + to + " = s.m" + j + " / double(" + n + " - 1);\n";
        if (c.what == aggregate_kind::stddev) body += "  " + to + " = sqrt(" + to + ");\n";
        present(n + " > 1");
        break;
      case aggregate_kind::first:
      case aggregate_kind::last:
      case aggregate_kind::arg_min:
      case aggregate_kind::arg_max: {
        check_held(row, c);
        const std::string at = "row" + j;
        body += "  " + k.type_name(row) + " " + at + "{};\n  if (" + n + " != ~u64(0)) " + fetch + "(p, " + n + ", " + at + ");\n";
        if (c.what == aggregate_kind::first || c.what == aggregate_kind::last) {
          expressions of_row(k, site);
          of_row.bind(0, row_source::of_value(at, row));
          const std::string v = of_row.value(c.argument);
          body += of_row.take() + "  " + to + " = " + v + ";\n";
        } else {
          body += "  " + to + " = " + expressions::part_of(row_source::of_value(at, row), 0, plain, k) + ";\n";
          present(n + " != ~u64(0)");
        }
        break;
      }
      case aggregate_kind::count_distinct:
        body += "  " + to + " = (i64)" + s + ";\n";
        break;
      case aggregate_kind::quantile: {
        std::uint64_t rank;
        std::memcpy(&rank, &c.rank, sizeof rank);
        body += "  if (" + n + " != 0) " + to + " = quantile_of_sorted(" + n + ", " + k.literal(kind::f64, rank) +
                ", [&](u64 x) { return number_" + j + "(p, " +
                k.argument(arguments + 2 * static_cast<std::uint32_t>(i), "const u64*") + "[s.begin + x]); });\n";
        present(n + " != 0");
        break;
      }
      case aggregate_kind::collect:
        body += "  " + to + " = " + type + "{" +
                k.argument(arguments + 2 * static_cast<std::uint32_t>(i) + 1, "const " + k.type_name(plain->element) + "*") +
                " + s.begin, s.rows};\n";
        break;
      case aggregate_kind::custom: {
        expressions of_state(k, site);
        of_state.bind(0, row_source::of_value(s, c.seed->type));
        const std::string v = of_state.converted(of_state.value(c.finish), c.finish->type, c.source->type);
        body += of_state.take() + "  " + name + " = " + v + ";\n";
        break;
      }
    }
    e.bind(c.source, name);
  }
  const std::string v = e.value(plan.finish);
  const std::string converted = e.converted(v, plan.finish->type, result);
  const std::string key_parameter = key ? "const " + k.type_name(key) + "& key, " : "";
  k.add("__device__ __forceinline__ " + k.type_name(result) + " finish_group(const words& p, " + key_parameter +
        "const aggregates::State& s) {\n" + body + e.take() + "  return " + converted + ";\n}\n");
}

}  // namespace query::gpu_engine
