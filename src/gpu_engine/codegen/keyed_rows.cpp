#include "gpu_engine/codegen/keyed_rows.hpp"

#include <query/detail/asof_options.hpp>

#include "gpu_engine/codegen/group_keys.hpp"

namespace query::gpu_engine {

using ir::kind;

namespace {

// The text of a test of `v`: is it, or a part of it, an empty optional? Empty text if none can be.
std::string null_test(kernel_source& k, const ir::type* t, const std::string& v) {
  if (t->k == kind::optional) {
    const std::string inner = null_test(k, t->element, v + ".v");
    return inner.empty() ? "!" + v + ".has" : "(!" + v + ".has || " + inner + ")";
  }
  if (t->k == kind::record) {
    std::string all;
    for (std::size_t i = 0; i < t->field_list.size(); ++i) {
      const std::string part = null_test(k, t->field_list[i].of, v + ".f" + std::to_string(i));
      if (!part.empty()) all += (all.empty() ? "" : " || ") + part;
    }
    return all.empty() ? all : "(" + all + ")";
  }
  if (t->k != kind::array) return {};
  const std::string part = null_test(k, t->element, "a[e]");
  if (part.empty()) return part;
  const std::string name = k.fresh("null_in_"), type = k.type_name(t);
  k.add("__device__ __forceinline__ bool " + name + "(const " + type + "& v) {\n  const auto& a = v.a;\n  for (u32 e = 0; e < " +
        std::to_string(t->count) + "; ++e) if (" + part + ") return true;\n  return false;\n}\n");
  return name + "(" + v + ")";
}

}  // namespace

keyed_rows generate_keyed_rows(kernel_source& k, const detail::logical& n, std::span<const keyed_side> sides, bool nulls_match) {
  if (n.keys.equal) throw not_generated("keys have an equality of the user's own");
  if (detail::asof_of(n)) throw not_generated("its right rows are sorted and searched there");
  keyed_rows made;
  const group_key key = generate_group_key(k, n.key);
  const std::string type = k.type_name(n.key), null = nulls_match ? "" : null_test(k, n.key, "v");
  made.key_bytes = key.bytes;
  made.decode = key.decode;
  for (const keyed_side& s : sides) {
    const ir::traced t = k.trace(n, *s.key);
    expressions e(k, k.site(n.label, n.where));
    e.bind(0, s.row);
    const std::string v = e.converted(e.value(t.root), t.root->type, n.key);
    k.add("__device__ " + std::string(key.bytes ? "__forceinline__ " : "__noinline__ ") + type + " " + s.name +
          "_value(const words& p, u64 i) {\n" + e.take() + "  return " + v + ";\n}\n");
  }
  if (key.bytes) {
    made.object = "Keys{}";
    k.add("using Keys = bitwise_keys<" + key.type + ">;\nusing Key = Keys::key_type;\n");
  } else {
    // The top bit of a row's number names its side.
    const std::string first = sides.front().name + "_value(p, row & ~(1ull << 63))",
                      second = sides.back().name + "_value(p, row & ~(1ull << 63))";
    made.object = "Keys{{&p}}";
    k.add("__device__ __forceinline__ " + type + " key_of_row(const words& p, u64 row) {\n  return " +
          (sides.size() == 1 ? first : "row >> 63 ? " + second + " : " + first) +
          ";\n}\nstruct rows_equal {\n  const words* p;\n  __device__ bool operator()(u64 a, u64 b) const { return " + key.equal +
          "(key_of_row(*p, a), key_of_row(*p, b)); }\n};\nusing Keys = row_keys<rows_equal>;\nusing Key = Keys::key_type;\n");
  }
  for (std::size_t side = 0; side < sides.size(); ++side)
    k.add("__device__ __forceinline__ bool " + sides[side].name + "(const words& p, u64 i, Key& key) {\n  const " + type +
          " v = " + sides[side].name + "_value(p, i);\n" + (null.empty() ? "" : "  if (" + null + ") return false;\n") +
          "  key = " + (key.bytes ? key.encode + "(v)" : "row_key{" + key.hash + "(v), i" + (side ? " | 1ull << 63" : "") + "}") +
          ";\n  return true;\n}\n");
  return made;
}

}  // namespace query::gpu_engine
