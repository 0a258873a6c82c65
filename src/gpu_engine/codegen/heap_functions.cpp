#include "gpu_engine/codegen/heap_functions.hpp"

namespace query::gpu_engine {

using ir::kind;

namespace {

// Statements over the parts of `v` that own memory; each names the function that is called for it.
template <class F> std::string each_part(kernel_source& k, const ir::type* t, const std::string& v, F f) {
  if (same_on_device(t)) return "";
  switch (t->k) {
    case kind::record: {
      std::string code;
      for (std::size_t i = 0; i < t->field_list.size(); ++i) code += each_part(k, t->field_list[i].of, v + ".f" + std::to_string(i), f);
      return code;
    }
    case kind::array: {
      const std::string e = k.fresh("e"), inner = each_part(k, t->element, v + ".a[" + e + "]", f);
      if (inner.empty()) return inner;
      return "  for (u32 " + e + " = 0; " + e + " < " + std::to_string(t->count) + "; ++" + e + ") {\n" + inner + "  }\n";
    }
    case kind::optional: {
      const std::string inner = each_part(k, t->element, v + ".v", f);
      return inner.empty() ? "" : "  if (" + v + ".has) {\n" + inner + "  }\n";
    }
    case kind::string:
    case kind::list:
      return f(t, v);
    default:
      throw not_generated("rows of " + std::string(t->name) + ": its fields are not described");
  }
}

}  // namespace

heap_functions generate_heap_functions(kernel_source& k, const ir::type* t) {
  k.include("gpu_engine/device/heaps.cuh");
  const heap_functions names{k.fresh("viewed_"), k.fresh("moved_")};
  const std::string type = k.type_name(t);
  const auto elements_own = [](const ir::type* list) { return list->k == kind::list && !same_on_device(list->element); };
  const std::string viewed = each_part(k, t, "v", [&](const ir::type* part, const std::string& v) {
    std::string code = "  n += viewed_bytes(" + v + ");\n";
    if (elements_own(part))
      code += "  for (u64 j = 0; j < " + v + ".size; ++j) n += " + generate_heap_functions(k, part->element).viewed + "(" + v +
              ".at[j]);\n";
    return code;
  });
  const std::string moved = each_part(k, t, "v", [&](const ir::type* part, const std::string& v) {
    std::string code = "  " + v + " = copied(" + v + ", to);\n";
    if (elements_own(part))
      code += "  for (u64 j = 0; j < " + v + ".size; ++j) " + generate_heap_functions(k, part->element).moved + "(const_cast<" +
              k.type_name(part->element) + "&>(" + v + ".at[j]), to);\n";
    return code;
  });
  // Kernels have many calls of them.
  const std::string apart = t->k == kind::string || t->k == kind::list ? "__device__ " : "__device__ __noinline__ ";
  k.add(apart + "u64 " + names.viewed + "(const " + type + "& v) {\n  u64 n = 0;\n" + viewed + "  return n;\n}\n");
  k.add(apart + "void " + names.moved + "(" + type + "& v, u8*& to) {\n" + moved + "}\n");
  return names;
}

}  // namespace query::gpu_engine
