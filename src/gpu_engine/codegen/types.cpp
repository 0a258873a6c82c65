// Row types on the device. A type that owns no memory has the host's bytes, gaps included; strings and lists become views.
#include <algorithm>

#include "gpu_engine/codegen/kernel_source.hpp"

namespace query::gpu_engine {

using ir::kind;

namespace {

std::string number(std::size_t n) { return std::to_string(n); }

std::size_t rounded(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

[[noreturn]] void no_form(const ir::type* t, const char* why) { throw not_generated("rows of " + std::string(t->name) + ": " + why); }

}  // namespace

std::vector<std::size_t> fields_by_offset(const ir::type* t) {
  std::vector<std::size_t> order(t->field_list.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return t->field_list[a].offset < t->field_list[b].offset; });
  return order;
}

std::string_view scalar_text(kind k) {
  switch (k) {
    case kind::boolean:
      return "bool";
    case kind::i8:
      return "i8";
    case kind::i16:
      return "i16";
    case kind::i32:
      return "i32";
    case kind::i64:
      return "i64";
    case kind::u8:
      return "u8";
    case kind::u16:
      return "u16";
    case kind::u32:
      return "u32";
    case kind::u64:
      return "u64";
    case kind::f32:
      return "float";
    case kind::f64:
      return "double";
    default:
      return "";
  }
}

bool same_on_device(const ir::type* t) {
  switch (t->k) {
    case kind::opaque:
    case kind::string:
    case kind::list:
      return false;
    // A tuple of such parts is copied by its bytes too, though its assignment is not trivial.
    case kind::record:
      return (t->trivial || t->name == "tuple") &&
             std::all_of(t->field_list.begin(), t->field_list.end(), [](const ir::field& f) { return same_on_device(f.of); });
    case kind::array:
      return same_on_device(t->element);
    case kind::optional:
      return t->trivial && same_on_device(t->element) && t->size == rounded(t->element->size + 1, t->align);
    default:
      return true;
  }
}

layout device_layout(const ir::type* t) {
  if (same_on_device(t)) return {t->size, t->align};
  switch (t->k) {
    case kind::string:
    case kind::list:
      return {16, 8};
    case kind::array: {
      const layout e = device_layout(t->element);
      return {e.size * t->count, e.align};
    }
    case kind::optional: {
      const layout e = device_layout(t->element);
      return {rounded(e.size + 1, e.align), e.align};
    }
    case kind::record: {
      layout all;
      for (const std::size_t i : fields_by_offset(t)) {
        const layout f = device_layout(t->field_list[i].of);
        all.align = std::max(all.align, f.align);
        all.size = rounded(all.size, f.align) + f.size;
      }
      all.size = std::max<std::size_t>(rounded(all.size, all.align), 1);
      return all;
    }
    default:
      no_form(t, "its fields are not described");
  }
}

std::size_t device_offset(const ir::type* t, std::size_t field) {
  if (same_on_device(t)) return t->field_list[field].offset;
  std::size_t at = 0;
  for (const std::size_t i : fields_by_offset(t)) {
    const layout f = device_layout(t->field_list[i].of);
    at = rounded(at, f.align);
    if (i == field) return at;
    at += f.size;
  }
  return at;
}

std::string kernel_source::type_name(const ir::type* t) {
  if (ir::is_arithmetic(t->k)) return std::string(scalar_text(t->k));
  if (t->k == kind::string) return "text";
  if (const auto it = names_.find(t); it != names_.end()) return it->second;
  const std::string name = define(t);
  names_[t] = name;
  return name;
}

std::string kernel_source::define(const ir::type* t) {
  if (t->k == kind::list) return "list<" + type_name(t->element) + ">";
  const layout l = device_layout(t);
  std::string fields;
  const std::string name = "T" + number(names_.size());
  names_[t] = name;  // takes the number; types are not recursive
  if (t->k == kind::array) {
    fields = "  " + type_name(t->element) + " a[" + number(t->count) + "];\n";
  } else if (t->k == kind::optional) {
    fields = "  " + type_name(t->element) + " v;\n  bool has;\n";
  } else if (t->k == kind::record) {
    std::size_t at = 0;
    int gap = 0;
    for (const std::size_t i : fields_by_offset(t)) {
      const ir::type* f = t->field_list[i].of;
      const layout fl = device_layout(f);
      const std::size_t offset = device_offset(t, i);
      if (offset < at) no_form(t, "fields overlap");
      // Gaps have names, so that copies keep what a record does not describe.
      if (offset > at) fields += "  u8 gap" + number(static_cast<std::size_t>(gap++)) + "[" + number(offset - at) + "];\n";
      fields += "  " + type_name(f) + " f" + number(i) + ";\n";
      at = offset + fl.size;
    }
    if (l.size > at) fields += "  u8 gap" + number(static_cast<std::size_t>(gap)) + "[" + number(l.size - at) + "];\n";
  } else {
    no_form(t, "its fields are not described");
  }
  definitions_ += "struct alignas(" + number(l.align) + ") " + name + " {\n" + fields + "};\nstatic_assert(sizeof(" + name +
                  ") == " + number(l.size) + ");\n";
  return name;
}

bool same_shape(const ir::type* a, const ir::type* b) {
  if (a == b) return true;
  if (a->k != b->k || a->size != b->size || a->k == kind::opaque) return false;
  if (a->k == kind::record) {
    if (a->field_list.size() != b->field_list.size()) return false;
    for (std::size_t i = 0; i < a->field_list.size(); ++i)
      if (a->field_list[i].offset != b->field_list[i].offset || !same_shape(a->field_list[i].of, b->field_list[i].of)) return false;
    return true;
  }
  if (a->element) return a->count == b->count && same_shape(a->element, b->element);
  return true;
}

std::string path_to(const ir::type* t, std::size_t offset, const ir::type* part) {
  if (offset == 0 && same_shape(t, part)) return "";
  if (t->k == kind::record) {
    for (std::size_t i = 0; i < t->field_list.size(); ++i) {
      const ir::field& f = t->field_list[i];
      if (offset >= f.offset && offset + part->size <= f.offset + f.of->size && (offset < f.offset + f.of->size))
        return ".f" + number(i) + path_to(f.of, offset - f.offset, part);
    }
  }
  if (t->k == kind::array && t->element->size && offset < t->size)
    return ".a[" + number(offset / t->element->size) + "]" + path_to(t->element, offset % t->element->size, part);
  throw not_generated("rows of " + std::string(t->name) + ": no described part of type " + std::string(part->name) + " at byte " +
                      number(offset));
}

std::string kernel_source::equal_name(const ir::type* t) {
  if (const auto it = equal_.find(t); it != equal_.end()) return it->second;
  const std::string type = type_name(t);
  std::string code;
  if (ir::is_arithmetic(t->k))
    code = "return a == b;";
  else if (t->k == kind::string)
    code = "return equal(a, b);";
  else if (t->k == kind::optional)
    code = "return a.has == b.has && (!a.has || " + equal_name(t->element) + "(a.v, b.v));";
  else if (t->k == kind::array)
    code = "for (u32 i = 0; i < " + number(t->count) + "; ++i) if (!" + equal_name(t->element) +
           "(a.a[i], b.a[i])) return false;\n  return true;";
  else if (t->k == kind::record) {
    code = "return true";
    for (std::size_t i = 0; i < t->field_list.size(); ++i) {
      const std::string f = ".f" + number(i);
      code += " && " + equal_name(t->field_list[i].of) + "(a" + f + ", b" + f + ")";
    }
    code += ";";
  } else {
    throw not_generated("values of type " + std::string(t->name) + " are not compared on the GPU");
  }
  const std::string unique = "equal_" + std::to_string(equal_.size());
  definitions_ += "__device__ __forceinline__ bool " + unique + "(const " + type + "& a, const " + type + "& b) {\n  " + code + "\n}\n";
  equal_[t] = unique;
  return unique;
}

std::string kernel_source::less_name(const ir::type* t) {
  if (const auto it = less_.find(t); it != less_.end()) return it->second;
  const std::string type = type_name(t);
  std::string code;
  // As std::pair: the first part that differs decides; where one of its sides is NaN, neither is less.
  const auto part = [&](const ir::type* f, const std::string& x, const std::string& y) {
    const std::string less = less_name(f);
    return "  if (" + less + "(" + x + ", " + y + ", false)) return true;\n  if (!" + equal_name(f) + "(" + x + ", " + y +
           ")) return false;\n";
  };
  if (ir::is_arithmetic(t->k))
    code = "  return a < b || (equal_counts && a == b);\n";
  else if (t->k == kind::string)
    code = "  const int c = compare(a, b);\n  return c < 0 || (equal_counts && c == 0);\n";
  else if (t->k == kind::optional)
    code = "  if (!a.has) return b.has || equal_counts;\n  if (!b.has) return false;\n  return " + less_name(t->element) +
           "(a.v, b.v, equal_counts);\n";
  else if (t->k == kind::array)
    code =
        "  for (u32 i = 0; i < " + number(t->count) + "; ++i) {\n" + part(t->element, "a.a[i]", "b.a[i]") + "  }\n  return equal_counts;\n";
  else if (t->k == kind::record) {
    for (std::size_t i = 0; i < t->field_list.size(); ++i) code += part(t->field_list[i].of, "a.f" + number(i), "b.f" + number(i));
    code += "  return equal_counts;\n";
  } else {
    throw not_generated("values of type " + std::string(t->name) + " have no order on the GPU");
  }
  const std::string unique = "less_" + std::to_string(less_.size());
  definitions_ +=
      "__device__ __forceinline__ bool " + unique + "(const " + type + "& a, const " + type + "& b, bool equal_counts) {\n" + code + "}\n";
  less_[t] = unique;
  return unique;
}

}  // namespace query::gpu_engine
