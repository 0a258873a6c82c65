#include "gpu_engine/codegen/heap_functions.hpp"

#include <map>

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

// Of a type and of the elements of its lists, once each: kernels have many calls of them.
heap_functions generate(kernel_source& k, const ir::type* t, std::map<const ir::type*, heap_functions>& made) {
  const auto known = made.find(t);
  if (known != made.end()) return known->second;
  const heap_functions names{k.fresh("viewed_"), k.fresh("moved_"), k.fresh("moved_by_block_")};
  const std::string type = k.type_name(t);
  const auto elements_own = [](const ir::type* list) { return list->k == kind::list && !same_on_device(list->element); };
  const std::string viewed = each_part(k, t, "v", [&](const ir::type* part, const std::string& v) {
    std::string code = "  n += viewed_bytes(" + v + ");\n";
    if (elements_own(part))
      code += "#pragma unroll 8\n  for (u64 j = 0; j < " + v + ".size; ++j) n += " + generate(k, part->element, made).viewed + "(" + v +
              ".at[j]);\n";
    return code;
  });
  const std::string moved = each_part(k, t, "v", [&](const ir::type* part, const std::string& v) {
    std::string code = "  " + v + " = copied(" + v + ", to);\n";
    if (elements_own(part))
      code += "  for (u64 j = 0; j < " + v + ".size; ++j) " + generate(k, part->element, made).moved + "(const_cast<" +
              k.type_name(part->element) + "&>(" + v + ".at[j]), to);\n";
    return code;
  });
  const std::string by_block = each_part(k, t, "v", [&](const ir::type* part, const std::string& v) {
    std::string code = "  " + v + " = copied_by_block(" + v + ", to);\n";
    if (elements_own(part)) {
      const heap_functions e = generate(k, part->element, made);
      const std::string element = k.type_name(part->element);
      code += "  move_elements_by_block(const_cast<" + element + "*>(" + v + ".at), " + v + ".size, to, [](const " + element +
              "& e) { return " + e.viewed + "(e); },\n    [](" + element + "& e, u8*& to) { " + e.moved + "(e, to); }, [](" + element +
              "& e, u8*& to) { " + e.moved_by_block + "(e, to); });\n";
    }
    return code;
  });
  const bool brief = t->k == kind::string || (t->k == kind::list && !elements_own(t));
  const std::string apart = brief ? "__device__ " : "__device__ __noinline__ ";
  k.add(apart + "u64 " + names.viewed + "(const " + type + "& v) {\n  u64 n = 0;\n" + viewed + "  return n;\n}\n");
  k.add(apart + "void " + names.moved + "(" + type + "& v, u8*& to) {\n" + moved + "}\n");
  k.add("__device__ __noinline__ void " + names.moved_by_block + "(" + type + "& v, u8*& to) {\n" + by_block + "}\n");
  return made.emplace(t, names).first->second;
}

}  // namespace

heap_functions generate_heap_functions(kernel_source& k, const ir::type* t) {
  k.include("gpu_engine/device/heaps.cuh");
  std::map<const ir::type*, heap_functions> made;
  return generate(k, t, made);
}

}  // namespace query::gpu_engine
