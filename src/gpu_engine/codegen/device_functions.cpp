// Device functions of the user's in generated programs: how kernels declare them, the records that CUDA source of theirs finds
// declared, and what compares those with the host's.
#include <algorithm>

#include <query/detail/failure.hpp>

#include "gpu_engine/codegen/kernel_source.hpp"

namespace query::gpu_engine {

using ir::kind;

namespace {

std::string number(std::size_t n) { return std::to_string(n); }

bool is_name(std::string_view s) { return !s.empty() && (s[0] < '0' || s[0] > '9') && s.find_first_of("<>: ,") == s.npos; }

// CUDA's own names: a function's source includes nothing of this library's.
std::string plain_name(kind k) {
  switch (k) {
    case kind::boolean:
      return "bool";
    case kind::i8:
      return "signed char";
    case kind::i16:
      return "short";
    case kind::i32:
      return "int";
    case kind::i64:
      return "long long";
    case kind::u8:
      return "unsigned char";
    case kind::u16:
      return "unsigned short";
    case kind::u32:
      return "unsigned int";
    case kind::u64:
      return "unsigned long long";
    default:
      return std::string(scalar_text(k));
  }
}

// The records of one function, with the user's names; what has none gets one of ours.
class record_writer {
 public:
  explicit record_writer(bool declare) : declare_(declare) {}

  std::string name(const ir::type* t) {
    if (ir::is_arithmetic(t->k)) return plain_name(t->k);
    for (const auto& [known, n] : names_)
      if (same_shape(known, t) && known->name == t->name) return n;
    const bool named = t->k == kind::record && is_name(t->name) && t->name != "tuple";
    std::string own = named ? std::string(t->name) : "query_type_" + number(names_.size());
    names_.emplace_back(t, own);
    std::string fields;
    if (t->k == kind::array) {
      fields = "  " + name(t->element) + " values[" + number(t->count) + "];\n";
    } else if (t->k == kind::optional) {
      fields = "  " + name(t->element) + " value;\n  bool has_value;\n";
    } else {
      std::vector<const ir::field*> order;
      for (const ir::field& f : t->field_list) order.push_back(&f);
      std::stable_sort(order.begin(), order.end(), [](const ir::field* a, const ir::field* b) { return a->offset < b->offset; });
      std::size_t at = 0;
      for (const ir::field* f : order) {
        const std::string gap = f->offset > at ? "  unsigned char query_gap_" + number(at) + "[" + number(f->offset - at) + "];\n" : "";
        // Arrays of numbers are plain arrays: t->x[2].
        const bool array = f->of->k == kind::array && ir::is_arithmetic(f->of->element->k);
        const std::string type = array ? name(f->of->element) : name(f->of);
        fields += gap + "  " + type + " " + field_name(*f) + (array ? "[" + number(f->of->count) + "]" : "") + ";\n";
        at = f->offset + f->of->size;
      }
    }
    if (declare_) text_ += "struct alignas(" + number(t->align) + ") " + own + " {\n" + fields + "};\n";
    return own;
  }
  std::string take() { return std::move(text_); }
  static std::string field_name(const ir::field& f) { return is_name(f.name) ? std::string(f.name) : "f" + std::string(f.name); }

 private:
  bool declare_;
  std::vector<std::pair<const ir::type*, std::string>> names_;
  std::string text_;
};

// static_asserts of a type that the function's own signature names.
void compare(std::string& to, const std::string& of, const ir::type* t, const std::string& what) {
  const std::string name(t->name);
  to += "static_assert(sizeof(" + of + ") == " + number(t->size) + ", \"" + what + " " + name + ": its size differs from the host's, " +
        number(t->size) + "\");\n";
  if (t->k != kind::record) return;
  for (const ir::field& f : t->field_list) {
    const std::string field = record_writer::field_name(f);
    to += "static_assert(__INTADDR__(&(((" + of + "*)0)->" + field + ")) == " + number(f.offset) + " && sizeof(" + of + "::" + field +
          ") == " + number(f.of->size) + ", \"" + what + " " + name + ": the field " + field + " lies elsewhere on the host, at byte " +
          number(f.offset) + "\");\n";
  }
}

device_code code_of(const std::shared_ptr<const detail::held_device_function>& d, const ir::node* call, const error_site& at) {
  device_code c{d, {}, {}, at.verb, at.where};
  const device_function& f = d->function;
  if (f.form != device_form::cuda) return c;
  record_writer records(!f.declares_records);
  for (const ir::node* row : call->kids) (void)records.name(row->type);
  (void)records.name(call->type);
  c.before = records.take();
  c.after =
      "namespace query_check {\n"
      "template <class F> struct parts;\n"
      "template <class R, class A> struct parts<R (*)(const A*)> { using result = R; using row0 = A; };\n"
      "template <class R, class A, class B> struct parts<R (*)(const A*, const B*)> { using result = R; using row0 = A; using row1 = B; "
      "};\n"
      "using all = parts<decltype(&::" +
      f.symbol + ")>;  // it must be: Result " + f.symbol + "(const Row*)\n";
  for (std::size_t i = 0; i < call->kids.size(); ++i) {
    const std::string row = "row" + number(i);
    c.after += "using " + row + " = all::" + row + ";\n";
    compare(c.after, row, call->kids[i]->type, "row");
  }
  c.after += "using result = all::result;\n";
  compare(c.after, "result", call->type, "result");
  c.after += "}\n";
  return c;
}

}  // namespace

void kernel_source::call_device_function(const ir::node* call, std::uint32_t site) {
  const auto d = ir::device_function_of(call);
  const device_function& f = d->function;
  for (const ir::node* row : call->kids)
    if (!same_on_device(row->type)) throw not_generated("the device function " + f.symbol + " gets rows that own memory (strings, lists)");
  if (!same_on_device(call->type))
    throw not_generated("the device function " + f.symbol + " gives values that own memory (strings, lists)");
  const error_site at = sites_.at(site);
  if (const std::string different = ir::layout_difference(*d, call); !different.empty())
    detail::fail(at.verb, "the device function " + f.symbol + " was made for other records: " + different, at.where);
  // In a namespace of its own: the symbol may be a word of the kernels'.
  std::string declaration = "namespace query_functions { extern \"C\" __device__ " + type_name(call->type) + " " + f.symbol + "(";
  for (std::size_t i = 0; i < call->kids.size(); ++i) declaration += (i ? ", const " : "const ") + type_name(call->kids[i]->type) + "*";
  declaration += "); }\n";
  const auto known = std::find_if(functions_.begin(), functions_.end(),
                                  [&](const device_code& c) { return c.function->function.symbol == f.symbol; });
  if (known == functions_.end()) {
    functions_.push_back(code_of(d, call, at));
    declared_.push_back(declaration);
    add(declaration);
    return;
  }
  const std::string& before = declared_[static_cast<std::size_t>(known - functions_.begin())];
  const device_function& same = known->function->function;
  if (before != declaration || same.code != f.code || same.form != f.form)
    detail::fail(at.verb, "two device functions of one kernel are named " + f.symbol + ": they need symbols of their own", at.where);
}

}  // namespace query::gpu_engine
