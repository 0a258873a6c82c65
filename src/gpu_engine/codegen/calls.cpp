// Functions by name: numbers, strings, small arrays.
#include <algorithm>
#include <array>

#include "gpu_engine/codegen/expressions.hpp"
#include "ir/analysis.hpp"

namespace query::gpu_engine {

using ir::kind;
using ir::node;

namespace {

[[noreturn]] void unknown(const node* n) { throw not_generated("the function " + n->text + " has no form on the GPU"); }

// CUDA's names are C's: sqrt and sqrtf.
constexpr std::array unary = {"sqrt",  "cbrt",  "exp",  "exp2",  "expm1", "log",  "log2", "log10", "log1p", "sin",
                              "cos",   "tan",   "asin", "acos",  "atan",  "sinh", "cosh", "tanh",  "asinh", "acosh",
                              "atanh", "floor", "ceil", "round", "trunc", "erf",  "erfc", "tgamma"};
constexpr std::array binary = {"pow", "atan2", "fmod", "hypot", "copysign", "fmin", "fmax", "remainder", "fdim"};
struct predicate {
  std::string_view name, text;
};
constexpr std::array predicates = {predicate{"isnan", "is_nan"}, predicate{"isinf", "is_inf"}, predicate{"isfinite", "is_finite"},
                                   predicate{"signbit", "sign_bit"}};

// Of device/calendar.cuh.
constexpr std::array calendar = {"floor_divide", "floor_modulo", "month_of_days", "day_of_days", "days_of_month"};

template <class List> bool contains(const List& all, std::string_view name) { return std::find(all.begin(), all.end(), name) != all.end(); }

}  // namespace

std::string expressions::call(const node* n) {
  if (n->kids.empty()) unknown(n);
  if (ir::device_function_of(n)) return call_device_function(n);
  const std::string& f = n->text;
  const auto kid = [&](std::size_t i, const ir::type* t) { return converted(value(n->kids[i]), n->kids[i]->type, t); };
  // As std::min, std::max and std::clamp: by `<`, the first of equals.
  if ((f == "min" || f == "max") && n->kids.size() == 2) {
    const std::string a = kid(0, n->type), b = kid(1, n->type);
    return define(n->type, (f == "min" ? less(n->type, b, a) : less(n->type, a, b)) + " ? " + b + " : " + a);
  }
  if (f == "clamp" && n->kids.size() == 3) {
    const std::string x = kid(0, n->type), low = kid(1, n->type), high = kid(2, n->type);
    return define(n->type, less(n->type, x, low) + " ? " + low + " : " + less(n->type, high, x) + " ? " + high + " : " + x);
  }
  if (const auto part = ir::narrowed_part(n)) {
    const std::uint32_t site = k_.narrowing_site(site_, *part, n->type);
    return define(n->type, "narrow<" + std::string(scalar_text(n->type->k)) + ">(" + value(n->kids[0]) + ", " + k_.errors() + ", " +
                               std::to_string(site) + ")");
  }
  const kind k = n->kids[0]->type->k;
  if (k == kind::string) return call_text(n);
  if (k == kind::array) return call_array(n);
  if (!ir::is_arithmetic(k)) unknown(n);
  // Predicates compute in the type of their argument, all others in that of the result.
  const bool predicate = n->type->k == kind::boolean;
  const ir::type* t = !predicate ? n->type : ir::is_floating(k) ? n->kids[0]->type : ir::describe<double>();
  if (f == "abs" || f == "fabs") return define(n->type, "absolute<" + std::string(scalar_text(t->k)) + ">(" + kid(0, t) + ")");
  if (t->k == kind::i64 && contains(calendar, f)) {
    k_.include("gpu_engine/device/calendar.cuh");
    return define(n->type, f + "(" + kid(0, t) + (n->kids.size() > 1 ? ", " + kid(1, t) : "") + ")");
  }
  if (!ir::is_floating(t->k)) unknown(n);
  for (const auto& p : predicates)
    if (p.name == f) return define(n->type, std::string(p.text) + "(" + kid(0, t) + ")");
  const std::string name = f + (t->k == kind::f32 ? "f" : "");
  if (n->kids.size() == 1 && contains(unary, f)) return define(n->type, name + "(" + kid(0, t) + ")");
  if (n->kids.size() == 2 && contains(binary, f)) return define(n->type, name + "(" + kid(0, t) + ", " + kid(1, t) + ")");
  if (n->kids.size() == 3 && f == "fma") return define(n->type, name + "(" + kid(0, t) + ", " + kid(1, t) + ", " + kid(2, t) + ")");
  unknown(n);
}

std::string expressions::call_device_function(const node* n) {
  k_.call_device_function(n, site_);
  std::string arguments;
  for (const node* kid : n->kids) arguments += (arguments.empty() ? "&" : ", &") + define(kid->type, value(kid));
  return define(n->type, "query_functions::" + n->text + "(" + arguments + ")");
}

std::string expressions::define_text(const ir::type* t, const std::string& function, const std::string& arguments) {
  loops_ = true;  // over its characters
  return define(t, function + "(" + k_.text_room() + ", " + arguments + ")");
}

std::string expressions::call_text(const node* n) {
  const std::string& f = n->text;
  const std::string a = value(n->kids[0]);
  const auto result = [&](const std::string& text, const ir::type* t) { return define(n->type, converted(text, t, n->type)); };
  const ir::type *flag = ir::describe<bool>(), *number = ir::describe<std::uint64_t>();
  if (n->kids.size() == 1) {
    if (f == "size") return result(a + ".size", number);
    if (f == "length") {
      loops_ = true;  // over its characters
      return result("length(" + a + ")", number);
    }
    if (f == "empty") return result("(" + a + ".size == 0)", flag);
  }
  if (n->kids.size() == 2 && n->kids[1]->type->k == kind::string) {
    const std::string b = value(n->kids[1]);
    if (f == "starts_with" || f == "ends_with") return result(f + "(" + a + ", " + b + ")", flag);
    if (f == "contains") return result("(find(" + a + ", " + b + ") != ~u64(0))", flag);
    if (f == "find" || f == "rfind") return result(f + "(" + a + ", " + b + ")", number);
  }
  if (f == "substr" && (n->kids.size() == 2 || n->kids.size() == 3)) {
    const std::string from = converted(value(n->kids[1]), n->kids[1]->type, number);
    const std::string count = n->kids.size() == 3 ? converted(value(n->kids[2]), n->kids[2]->type, number) : "~u64(0)";
    return define(n->type, "substr(" + a + ", " + from + ", " + count + ", " + k_.errors() + ", " + std::to_string(site_) + ")");
  }
  if ((f == "to_lower" || f == "to_upper") && n->kids.size() == 1) return define_text(n->type, f, a);
  unknown(n);
}

// dot, norm and squared_distance, in the order of additions of the native functions: eight partial sums where the length is
// a multiple of 8, four where of 4, else one.
std::string expressions::call_array(const node* n) {
  const bool norm = n->text == "norm", distance = n->text == "squared_distance";
  if ((!norm && !distance && n->text != "dot") || n->kids.size() != (norm ? 1u : 2u)) unknown(n);
  const ir::type* at = n->kids[0]->type;
  const ir::type* bt = n->kids[norm ? 0 : 1]->type;
  if (bt->k != kind::array || at->count != bt->count || !ir::is_arithmetic(at->element->k)) unknown(n);
  const ir::type* t = at->element;
  const std::string name(scalar_text(t->k)), a = value(n->kids[0]), b = value(n->kids[norm ? 0 : 1]);
  const std::size_t lanes = at->count % 8 == 0 ? 8 : at->count % 4 == 0 ? 4 : 1;
  const std::string sums = k_.fresh("s"), total = k_.fresh("v");
  line(name + " " + sums + "[" + std::to_string(lanes) + "] = {};");
  // A round of a long array has all partial sums, each of which so stays in a register.
  const bool rounds = at->count > most_unrolled;
  if (rounds) {
    loops_ = true;
    line("#pragma unroll " + std::to_string(elements_a_round / lanes));
    line("for (u32 r = 0; r < " + std::to_string(at->count) + "; r += " + std::to_string(lanes) + ")");
  }
  line("#pragma unroll");
  line(rounds ? "for (u32 e = r; e < r + " + std::to_string(lanes) + "; ++e) {"
              : "for (u32 e = 0; e < " + std::to_string(at->count) + "; ++e) {");
  const std::string sum = sums + (rounds ? "[e - r]" : "[e % " + std::to_string(lanes) + "]");
  if (distance) {
    line("  const " + name + " d = sub<" + name + ">(" + a + ".a[e], " + converted(b + ".a[e]", bt->element, t) + ");");
    line("  " + sum + " = add<" + name + ">(" + sum + ", mul<" + name + ">(d, d));");
  } else {
    line("  " + sum + " = add<" + name + ">(" + sum + ", mul<" + name + ">(" + a + ".a[e], " + converted(b + ".a[e]", bt->element, t) +
         "));");
  }
  line("}");
  line(name + " " + total + " = 0;");
  line("#pragma unroll");
  line("for (u32 e = 0; e < " + std::to_string(lanes) + "; ++e) " + total + " = add<" + name + ">(" + total + ", " + sums + "[e]);");
  if (!norm) return define(n->type, converted(total, t, n->type));
  if (!ir::is_floating(t->k))
    return define(n->type, std::string(n->type->k == kind::f32 ? "sqrtf" : "sqrt") + "(" + converted(total, t, n->type) + ")");
  return define(n->type, converted(std::string(t->k == kind::f32 ? "sqrtf(" : "sqrt(") + total + ")", t, n->type));
}

}  // namespace query::gpu_engine
