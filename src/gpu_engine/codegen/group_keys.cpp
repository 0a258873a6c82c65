#include "gpu_engine/codegen/group_keys.hpp"

#include <functional>

namespace query::gpu_engine {

using ir::kind;

namespace {

// One scalar of a key, at a byte of the encoded key.
struct part {
  std::string path;   // ".f1.v"
  std::string guard;  // path of the flag without which it counts as zero: ".f1.has"
  kind k = kind::u8;
  std::size_t at = 0, size = 0;
  bool flag = false;  // an optional's own flag
};

// Takes the key apart; false if it has strings or lists.
bool take_apart(const ir::type* t, const std::string& path, const std::string& guard, std::vector<part>& parts) {
  if (ir::is_arithmetic(t->k)) {
    parts.push_back({path, guard, t->k, 0, t->size, false});
    return true;
  }
  switch (t->k) {
    case kind::record:
      for (std::size_t i = 0; i < t->field_list.size(); ++i)
        if (!take_apart(t->field_list[i].of, path + ".f" + std::to_string(i), guard, parts)) return false;
      return true;
    case kind::array:
      if (t->count > 16) return false;
      for (std::size_t i = 0; i < t->count; ++i)
        if (!take_apart(t->element, path + ".a[" + std::to_string(i) + "]", guard, parts)) return false;
      return true;
    case kind::optional:
      if (!guard.empty()) return false;  // an optional within an optional
      parts.push_back({path + ".has", "", kind::boolean, 0, 1, true});
      return take_apart(t->element, path + ".v", path + ".has", parts);
    default:
      return false;
  }
}

// Bits of a scalar, equal for equal values.
std::string canonical(const part& p, const std::string& value) {
  const std::string v = value + p.path;
  std::string bits;
  switch (p.k) {
    case kind::f32:
      bits = "u64(canonical_bits(" + v + "))";
      break;
    case kind::f64:
      bits = "canonical_bits(" + v + ")";
      break;
    case kind::boolean:
    case kind::u8:
    case kind::i8:
      bits = "u64(u8(" + v + "))";
      break;
    case kind::i16:
    case kind::u16:
      bits = "u64(u16(" + v + "))";
      break;
    case kind::i32:
    case kind::u32:
      bits = "u64(u32(" + v + "))";
      break;
    default:
      bits = "u64(" + v + ")";
  }
  return p.guard.empty() ? bits : "(" + value + p.guard + " ? " + bits + " : 0ull)";
}

std::string restored(const part& p, const std::string& bits) {
  switch (p.k) {
    case kind::f32:
      return "__uint_as_float(u32(" + bits + "))";
    case kind::f64:
      return "__longlong_as_double(i64(" + bits + "))";
    case kind::boolean:
      return "((" + bits + ") & 0xff) != 0";
    default:
      return "(" + std::string(scalar_text(p.k)) + ")(" + bits + ")";
  }
}

}  // namespace

std::string generate_key_hash(kernel_source& k, const ir::type* t) {
  const std::string name = k.fresh("key_hash_"), type = k.type_name(t);
  std::string code;
  if (ir::is_arithmetic(t->k)) {
    code = "mix64(h ^ " + canonical({"", "", t->k, 0, t->size, false}, "v") + " * 0x9e3779b97f4a7c15ull)";
    code = "  return " + code + ";\n";
  } else if (t->k == kind::string) {
    k.include("gpu_engine/device/text_hash.cuh");
    code = "  return hash_text(v, h);\n";
  } else if (t->k == kind::list) {
    code = "  for (u64 i = 0; i < v.size; ++i) h = " + generate_key_hash(k, t->element) +
           "(v.at[i], h + i);\n  return mix64(h ^ v.size);\n";
  } else if (t->k == kind::optional) {
    code = "  return v.has ? " + generate_key_hash(k, t->element) + "(v.v, h ^ 1) : mix64(h);\n";
  } else if (t->k == kind::array) {
    code = "  for (u32 i = 0; i < " + std::to_string(t->count) + "; ++i) h = " + generate_key_hash(k, t->element) +
           "(v.a[i], h + i);\n  return h;\n";
  } else if (t->k == kind::record) {
    for (std::size_t i = 0; i < t->field_list.size(); ++i)
      code += "  h = " + generate_key_hash(k, t->field_list[i].of) + "(v.f" + std::to_string(i) + ", h + 1);\n";
    code += "  return h;\n";
  } else {
    throw not_generated("keys of type " + std::string(t->name));
  }
  k.add("__device__ __forceinline__ u64 " + name + "(const " + type + "& v, u64 h = 0x9ae16a3b2f90404full) {\n" + code + "}\n");
  return name;
}

std::string generate_key_equality(kernel_source& k, const ir::type* t) {
  const std::string name = k.fresh("same_key_"), type = k.type_name(t);
  std::string code;
  if (ir::is_floating(t->k))
    code = "  return canonical_bits(a) == canonical_bits(b);\n";
  else if (ir::is_arithmetic(t->k))
    code = "  return a == b;\n";
  else if (t->k == kind::string)
    code = "  return equal(a, b);\n";
  else if (t->k == kind::list)
    code = "  if (a.size != b.size) return false;\n  for (u64 i = 0; i < a.size; ++i) if (!" + generate_key_equality(k, t->element) +
           "(a.at[i], b.at[i])) return false;\n  return true;\n";
  else if (t->k == kind::optional)
    code = "  return a.has == b.has && (!a.has || " + generate_key_equality(k, t->element) + "(a.v, b.v));\n";
  else if (t->k == kind::array)
    code = "  for (u32 i = 0; i < " + std::to_string(t->count) + "; ++i) if (!" + generate_key_equality(k, t->element) +
           "(a.a[i], b.a[i])) return false;\n  return true;\n";
  else if (t->k == kind::record) {
    for (std::size_t i = 0; i < t->field_list.size(); ++i) {
      const std::string f = ".f" + std::to_string(i);
      code += "  if (!" + generate_key_equality(k, t->field_list[i].of) + "(a" + f + ", b" + f + ")) return false;\n";
    }
    code += "  return true;\n";
  } else {
    throw not_generated("keys of type " + std::string(t->name));
  }
  k.add("__device__ __forceinline__ bool " + name + "(const " + type + "& a, const " + type + "& b) {\n" + code + "}\n");
  return name;
}

group_key generate_group_key(kernel_source& k, const ir::type* t) {
  k.include("gpu_primitives/hash_keys.cuh");
  group_key g;
  const std::string type = k.type_name(t);
  std::vector<part> parts;
  std::size_t at = 0;
  bool fits = take_apart(t, "", "", parts);
  if (fits) {
    // Wide parts first: none straddles a word.
    for (const std::size_t size : {8u, 4u, 2u, 1u})
      for (part& p : parts)
        if (p.size == size) {
          p.at = at;
          at += size;
        }
    fits = at <= 16 && at > 0;
  }
  if (!fits) {
    g.type = "row_key";
    g.hash = generate_key_hash(k, t);
    g.equal = generate_key_equality(k, t);
    return g;
  }
  g.bytes = at <= 4 ? 4 : at <= 8 ? 8 : 16;
  g.type = g.bytes == 4 ? "u32" : g.bytes == 8 ? "u64" : "query::gpu::detail::two_words";
  g.encode = k.fresh("encode_");
  g.decode = k.fresh("decode_");
  std::string words[2], decode = "  " + type + " v{};\n";
  for (const part& p : parts) {
    const std::size_t w = p.at / 8, shift = p.at % 8 * 8;
    words[w] += (words[w].empty() ? "" : " | ") + canonical(p, "v") + " << " + std::to_string(shift);
    const std::string from = g.bytes == 16 ? (w ? "e.high" : "e.low") : "u64(e)";
    decode += "  v" + p.path + " = " + restored(p, "(" + from + " >> " + std::to_string(shift) + ")") + ";\n";
  }
  std::string null;
  for (const part& p : parts)
    if (p.flag) null += (null.empty() ? "!v" : " || !v") + p.path;
  if (!null.empty()) {
    g.is_null = k.fresh("null_key_");
    k.add("__device__ __forceinline__ bool " + g.is_null + "(const " + type + "& v) { return " + null + "; }\n");
  }
  if (words[1].empty()) words[1] = "0ull";
  const std::string value = g.bytes == 16 ? "{" + words[0] + ", " + words[1] + "}" : g.type + "(" + words[0] + ")";
  k.add("__device__ __forceinline__ " + g.type + " " + g.encode + "(const " + type + "& v) {\n  return " + (g.bytes == 16 ? g.type : "") +
        value + ";\n}\n");
  k.add("__device__ __forceinline__ " + type + " " + g.decode + "(const " + g.type + "& e) {\n" + decode + "  return v;\n}\n");
  return g;
}

}  // namespace query::gpu_engine
