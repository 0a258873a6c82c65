// Loops and nested computations: over captured collections, arrays and lists.
#include "gpu_engine/codegen/column_parts.hpp"
#include "gpu_engine/codegen/expressions.hpp"

namespace query::gpu_engine {

using ir::kind;
using ir::node;
using ir::op;

namespace {
constexpr const char* iteration_limit = "16777216";  // as the interpreter's
}  // namespace

void expressions::unroll(std::size_t elements) {
  const bool whole = elements <= most_unrolled;
  line(whole ? "#pragma unroll" : "#pragma unroll " + std::to_string(elements_a_round));
  loops_ = loops_ || !whole;
}

std::string expressions::loop(const node* n) {
  const std::size_t count = n->bits;
  if (count == 0 || n->kids.size() != 2 * count + 1) throw not_generated("a loop needs initial values, a condition and as many steps");
  std::vector<std::string> states;
  for (std::size_t i = 0; i < count; ++i) {
    states.push_back(declare(n->kids[i]->type));
    line(states[i] + " = " + value(n->kids[i]) + ";");
  }
  variables_[n->id] = states;
  const std::string round = k_.fresh("round_");
  open(n->id);
  line("if (!" + converted(value(n->kids[count]), n->kids[count]->type, ir::describe<bool>()) + ") break;");
  line(std::string("if (") + round + " == " + iteration_limit + "u) {");
  line("  fail(" + k_.errors() + ", endless_loop, " + std::to_string(site_) + ");");
  line("  break;");
  line("}");
  // Every step sees the states before this round: all are computed, then all are assigned.
  std::vector<std::string> next;
  for (std::size_t i = 0; i < count; ++i) {
    const node* step = n->kids[count + 1 + i];
    next.push_back(define(n->kids[i]->type, converted(value(step), step->type, n->kids[i]->type)));
  }
  for (std::size_t i = 0; i < count; ++i) line(states[i] + " = " + next[i] + ";");
  const std::string body = close();
  block("for (u32 " + round + " = 0;; ++" + round + ")", body);
  loops_ = true;
  if (count == 1) return states[0];
  const std::string v = declare(n->type);
  for (std::size_t i = 0; i < count; ++i) line(v + ".f" + std::to_string(i) + " = " + states[i] + ";");
  return v;
}

std::string expressions::nested(const node* n) {
  const std::string& verb = n->text;
  const bool smallest = verb == "min" || verb == "arg_min", largest = verb == "max" || verb == "arg_max";
  const bool index_wanted = verb == "arg_min" || verb == "arg_max", fold = verb == "fold";
  if (n->kids.empty() || n->kids.size() > (fold ? 3u : 2u) || (fold && n->kids.size() != 3))
    throw not_generated("a nested " + verb + " with missing parts");

  // The elements.
  const node* from = n->kids[0];
  std::string size, element;
  const ir::type* element_type = nullptr;
  const std::string j = k_.fresh("j");
  bool unrolled = false;
  if (from->what == op::collection) {
    element_type = from->type;
    size = k_.collection_size(from->bits, element_type);
    element = k_.collection(from->bits, element_type) + "[" + j + "]";
  } else {
    const std::string source = value(from);
    element_type = from->type->element;
    if (from->type->k == kind::array) {
      size = std::to_string(from->type->count);
      element = source + ".a[" + j + "]";
      unrolled = from->type->count <= most_unrolled;
    } else if (from->type->k == kind::list) {
      size = source + ".size";
      element = source + ".at[" + j + "]";
    } else {
      throw not_generated("a nested " + verb + " over what is not a collection");
    }
  }

  const node* expression = fold ? n->kids[2] : n->kids.size() > 1 ? n->kids[1] : nullptr;
  const ir::type* of = expression ? expression->type : element_type;
  const ir::type* result_type = n->type->k == kind::optional && (smallest || largest) ? n->type->element : n->type;
  const ir::type* state_type = fold || verb == "sum" ? n->type
                               : smallest || largest ? of
                               : verb == "count"     ? ir::describe<std::int64_t>()
                                                     : ir::describe<bool>();
  const std::string state = declare(state_type);
  if (fold)
    line(state + " = " + converted(value(n->kids[1]), n->kids[1]->type, n->type) + ";");
  else if (verb == "any" || verb == "all")
    line(state + (verb == "all" ? " = true;" : " = false;"));
  else if (verb == "sum" || verb == "count" || smallest || largest)
    line(state + " = " + k_.type_name(state_type) + "{};");
  else
    throw not_generated("the nested verb " + verb + " has no form on the GPU");
  std::string best;
  if (index_wanted) {
    best = k_.fresh("v");
    line("i64 " + best + " = -1;");
  }
  if (fold) variables_[n->id] = {state};

  open(n->id);
  // Captured collections begin at a multiple of 256 bytes, in shared memory of 16.
  const std::size_t align = from->what == op::collection ? alignment_of_stride(device_layout(element_type).size) : 0;
  rows_[n->id] = row_source::of_value(element, element_type, align);
  const std::string v = expression ? value(expression) : element;
  const ir::type* vt = expression ? expression->type : element_type;
  const ir::type* flag = ir::describe<bool>();
  if (fold) {
    line(state + " = " + converted(v, vt, n->type) + ";");
  } else if (verb == "sum") {
    if (n->type->k == kind::array) {
      unroll(n->type->count);
      line("for (u32 e = 0; e < " + std::to_string(n->type->count) + "; ++e) " + state + ".a[e] = add<" + k_.type_name(n->type->element) +
           ">(" + state + ".a[e], " + converted(v + ".a[e]", vt->element, n->type->element) + ");");
    } else if (ir::is_arithmetic(n->type->k)) {
      line(state + " = add<" + k_.type_name(n->type) + ">(" + state + ", " + converted(v, vt, n->type) + ");");
    } else {
      throw not_generated("sums of " + std::string(n->type->name));
    }
  } else if (verb == "count") {
    line(state + " += " + (expression ? converted(v, vt, ir::describe<std::int64_t>()) : "1") + ";");
  } else if (verb == "any" || verb == "all") {
    const bool any = verb == "any";
    line(state + " = " + (expression || !any ? converted(v, vt, flag) : "true") + ";");
    line(std::string("if (") + (any ? "" : "!") + state + ") break;");
  } else {
    const std::string x = define(of, v);
    line("if (" + j + " == 0 || " + (smallest ? less(of, x, state) : less(of, state, x)) + ") {");
    line("  " + state + " = " + x + ";");
    if (index_wanted) line("  " + best + " = (i64)" + j + ";");
    line("}");
  }
  const std::string body = close();
  loops_ = loops_ || !unrolled;
  if (unrolled) line("#pragma unroll");
  else if (align >= 8 && element_type->size >= 32) line("#pragma unroll 2");  // the next element's loads beside this one's sums
  block("for (u64 " + j + " = 0; " + j + " < " + size + "; ++" + j + ")", body);

  if (!smallest && !largest) return define(n->type, converted(state, state_type, n->type));
  const std::string result = index_wanted ? converted(best, ir::describe<std::int64_t>(), result_type) : converted(state, of, result_type);
  if (n->type->k == kind::optional) {
    const std::string o = declare(n->type);
    line(o + ".v = " + result + ";");
    line(o + ".has = " + size + " != 0;");
    return o;
  }
  if (!index_wanted) line("if (" + size + " == 0) fail(" + k_.errors() + ", empty_collection, " + std::to_string(site_) + ");");
  return define(n->type, result);  // -1 of an empty collection
}

std::string expressions::access(const node* n) {
  const node* from = n->kids.at(0);
  if (from->what != op::collection) {
    if (n->text == "at") return index(n);
    return define(n->type, from->type->k == kind::array ? std::to_string(from->type->count)
                                                        : converted(value(from) + ".size", ir::describe<std::uint64_t>(), n->type));
  }
  const std::string size = k_.collection_size(from->bits, from->type);
  if (n->text == "size") return define(n->type, converted(size, ir::describe<std::uint64_t>(), n->type));
  const std::string i =
      define(ir::describe<std::uint64_t>(), "inside(" + converted(value(n->kids.at(1)), n->kids[1]->type, ir::describe<std::int64_t>()) +
                                                ", " + size + ", " + k_.errors() + ", " + std::to_string(site_) + ")");
  const std::string v = declare(from->type);
  line("if (" + size + ") " + v + " = " + k_.collection(from->bits, from->type) + "[" + i + "]; else " + v + " = " +
       k_.type_name(from->type) + "{};");
  return v;
}

}  // namespace query::gpu_engine
