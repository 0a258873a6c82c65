#include "gpu_engine/codegen/partition_hash.hpp"

#include <algorithm>

namespace query::gpu_engine {

using ir::kind;

namespace {

// How many values a key has at fixed places, as hash_keys counts them: one value's hash is the key's, those of more are combined.
// Any number above one is like another.
std::size_t values_in(const ir::type* t) {
  std::size_t n = 0;
  if (t->k == kind::record)
    for (const ir::field& f : t->field_list) n += values_in(f.of);
  else
    n = t->k == kind::array ? std::min<std::size_t>(t->count, 2) * values_in(t->element) : 1;
  return std::min<std::size_t>(n, 2);
}

class writer {
 public:
  explicit writer(kernel_source& k) : k_(k) {}

  // The name of `u64 hash(const T& v)`.
  std::string hash(const ir::type* t) {
    std::string code;
    switch (t->k) {
      case kind::string:
        return "partition_text";
      case kind::optional:
        code = "  return v.has ? " + hash(t->element) + "(v.v) : partition_null;\n";
        break;
      case kind::list:
        code = "  u64 h = partition_word(v.size);\n  for (u64 i = 0; i < v.size; ++i) h = partition_combine(h, " + hash(t->element) +
               "(v.at[i]));\n  return h;\n";
        break;
      case kind::record:
      case kind::array:
        code = values_in(t) == 1 ? "  return " + only_value(t) + ";\n" : "  return " + more(t) + "(v, 0);\n";
        break;
      default:
        if (!ir::is_arithmetic(t->k)) throw not_generated("keys of type " + std::string(t->name));
        code = "  return partition_word(ordered_word<" + std::string(scalar_text(t->k)) + ">(v));\n";
    }
    return add("partition_hash_", t, "", code);
  }

 private:
  std::string add(const char* prefix, const ir::type* t, const std::string& further, const std::string& code) {
    const std::string name = k_.fresh(prefix);
    k_.add("__device__ __forceinline__ u64 " + name + "(const " + k_.type_name(t) + "& v" + further + ") {\n" + code + "}\n");
    return name;
  }
  // Of a record or an array with one value in it.
  std::string only_value(const ir::type* t) {
    if (t->k == kind::array) return hash(t->element) + "(v.a[0])";
    std::size_t i = 0;
    while (!values_in(t->field_list[i].of)) ++i;
    return hash(t->field_list[i].of) + "(v.f" + std::to_string(i) + ")";
  }
  // The name of `u64 more(const T& v, u64 h)`: combines the hashes of its values with h, one after the other.
  std::string more(const ir::type* t) {
    std::string code;
    if (t->k == kind::record) {
      for (std::size_t i = 0; i < t->field_list.size(); ++i)
        code += "  h = " + more(t->field_list[i].of) + "(v.f" + std::to_string(i) + ", h);\n";
      code += "  return h;\n";
    } else if (t->k == kind::array) {
      code = "  for (u32 i = 0; i < " + std::to_string(t->count) + "; ++i) h = " + more(t->element) + "(v.a[i], h);\n  return h;\n";
    } else {
      code = "  return partition_combine(h, " + hash(t) + "(v));\n";
    }
    return add("partition_more_", t, ", u64 h", code);
  }

  kernel_source& k_;
};

}  // namespace

std::string generate_partition_hash(kernel_source& k, const ir::type* key) {
  k.include("gpu_engine/device/partition_hash.cuh");
  return writer(k).hash(key);
}

}  // namespace query::gpu_engine
