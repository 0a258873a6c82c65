#include "gpu_engine/codegen/group_aggregates.hpp"

#include <algorithm>

namespace query::gpu_engine {

using ir::aggregate_call;
using ir::aggregate_kind;
using ir::kind;

namespace {

std::string number(std::size_t n) { return std::to_string(n); }

// What extremes are kept in: the widths that atomics have.
kind kept_in(kind k) {
  switch (k) {
    case kind::boolean:
    case kind::u8:
    case kind::u16:
      return kind::u32;
    case kind::i8:
    case kind::i16:
      return kind::i32;
    default:
      return k;
  }
}
std::string text_of(kind k) { return k == kind::string ? "text" : std::string(scalar_text(k)); }
std::size_t size_of(kind k) {
  if (k == kind::string) return 16;
  return k == kind::i64 || k == kind::u64 || k == kind::f64     ? 8
         : k == kind::boolean || k == kind::i8 || k == kind::u8 ? 1
         : k == kind::i16 || k == kind::u16                     ? 2
                                                                : 4;
}
std::size_t align_of(kind k) { return std::min<std::size_t>(size_of(k), 8); }

struct member {
  std::string type, name;
  std::size_t size, align;
};

// Members by falling alignment, so that a struct has no gaps within; its size rounded up to a multiple of `least`.
struct members {
  std::vector<member> all;
  void add(std::string type, std::string name, std::size_t size, std::size_t align) {
    if (std::none_of(all.begin(), all.end(), [&](const member& m) { return m.name == name; }))
      all.push_back({std::move(type), std::move(name), size, align});
  }
  std::size_t align(std::size_t least) const {
    std::size_t a = least;
    for (const member& m : all) a = std::max(a, m.align);
    return a;
  }
  std::size_t size(std::size_t least) const {
    std::size_t n = 0;
    for (const member& m : all) n += m.size;
    const std::size_t a = align(least);
    return (n + a - 1) / a * a;
  }
  std::string text() const {
    std::vector<member> sorted = all;
    std::stable_sort(sorted.begin(), sorted.end(), [](const member& a, const member& b) { return a.align > b.align; });
    std::string t;
    for (const member& m : sorted) t += "    " + m.type + " " + m.name + ";\n";
    return t;
  }
};

// Device code of one aggregate.
struct parts {
  std::string init, update, merge, update_atomic, merge_atomic;
};

class writer {
 public:
  writer(kernel_source& k, const ir::group_plan& plan, const std::vector<std::string>& in_memory, const rows_by_group* by_group = nullptr)
      : k_(k), plan_(plan), in_memory_(in_memory), by_group_(by_group) {
    if (by_group) atomic_ = false;
  }

  generated_aggregates write(expressions& row, bool first_rows) {
    for (std::size_t j = 0; j < plan_.calls.size(); ++j) add(plan_.calls[j], number(j), row);
    if (first_rows) add_first_row();
    if (state_.all.empty()) state_.add("u32", "none", 4, 4), all_.init += "      s.none = 0;\n";
    generated_aggregates g;
    g.fill = row.take() + fill_;
    g.state_align = state_.align(4);
    g.state_bytes = state_.size(4);
    g.args_bytes = args_.all.empty() ? 0 : args_.size(1);
    g.atomic = atomic_;
    g.row_numbers = row_numbers_;
    g.texts = texts_;
    std::string code = "struct aggregates {\n  struct alignas(" + number(g.state_align) + ") State {\n" + state_.text() + "  };\n";
    code += "  static_assert(sizeof(State) == " + number(g.state_bytes) + ");\n";
    code += "  struct Args {\n" + args_.text() + "  };\n";
    if (g.args_bytes) code += "  static_assert(sizeof(Args) == " + number(g.args_bytes) + ");\n";
    const auto function = [&](const char* signature, const std::string& body) {
      code += std::string("  static __device__ __forceinline__ void ") + signature + " {\n" + body + "  }\n";
    };
    const std::string p = by_group_ ? "const words& p, " : "";
    function(("init(" + p + "State& s)").c_str(), all_.init);
    function(("update(" + p + "State& s, const Args& a)").c_str(), all_.update);
    function(("merge(" + p + "State& s, const State& o)").c_str(), all_.merge);
    if (atomic_) {
      function("update_atomic(State& s, const Args& a)", all_.update_atomic);
      function("merge_atomic(State& s, const State& o)", all_.merge_atomic);
    }
    // Nothing but one sum of arrays and counts of rows.
    g.spread = arrays_ == 1 && others_ == 0;
    if (g.spread) code += spread_;
    k_.add(code + "};\n");
    return g;
  }

 private:
  void both(const std::string& update, const std::string& merge) {
    all_.update += "      " + update + "\n";
    all_.merge += "      " + merge + "\n";
  }
  void atomics(const std::string& update, const std::string& merge) {
    all_.update_atomic += "      " + update + "\n";
    all_.merge_atomic += "      " + merge + "\n";
  }
  void init(const std::string& s) { all_.init += "      " + s + "\n"; }
  bool seen(const std::string& name) {
    for (const member& m : state_.all)
      if (m.name == name) return true;
    return false;
  }

  // A count of rows, or of those that are not null: one for all aggregates that want the same.
  void count_rows() {
    if (seen("rows")) return;
    state_.add("u64", "rows", 8, 8);
    init("s.rows = 0;");
    both("++s.rows;", "s.rows += o.rows;");
    atomics("atomic_add(&s.rows, u64(1));", "atomic_add(&s.rows, o.rows);");
  }

  // The member of the arguments with this value: aggregates of one value share it, as rows are written and read with all of them.
  const std::string& shared_argument(kind k, const std::string& name, const std::string& value) {
    const std::string type = text_of(k);
    for (const auto& [known, as] : shared_)
      if (known == type + " " + value) return as;
    args_.add(type, name, size_of(k), align_of(k));
    fill_ += "  args." + name + " = " + value + ";\n";
    return shared_.emplace_back(type + " " + value, name).second;
  }

  // A sum of long arrays that lie in the input: what travels is their address.
  bool array_in_memory(const aggregate_call& c, const std::string& j) {
    const std::size_t i = std::stoul(j);
    if (i >= in_memory_.size() || in_memory_[i].empty() || c.nullable) return false;
    if ((c.what != aggregate_kind::sum && c.what != aggregate_kind::mean) || c.value->k != kind::array || c.value->count < long_array ||
        !ir::is_floating(c.value->element->k))
      return false;
    ++arrays_;
    const std::string s = "s.s" + j, o = "o.s" + j, a = "a.a" + j, count = number(c.value->count);
    const std::string numbers = "const " + std::string(scalar_text(c.value->element->k)) + "*";
    args_.add(numbers, "a" + j, 8, 8);
    fill_ += "  args.a" + j + " = " + in_memory_[i] + ".a;\n";
    state_.add("struct { double a[" + count + "]; }", "s" + j, c.value->count * 8, 8);
    const auto each = [&](const std::string& body) { return rolled + ("for (u32 e = 0; e < " + count + "; ++e) ") + body; };
    init(each(s + ".a[e] = 0;"));
    both(each(s + ".a[e] += (double)" + a + "[e];"), each(s + ".a[e] += " + o + ".a[e];"));
    atomics(each("atomic_add(&" + s + ".a[e], (double)" + a + "[e]);"), each("atomic_add(&" + s + ".a[e], " + o + ".a[e]);"));
    if (c.what == aggregate_kind::mean) count_rows();
    const std::string head = "  static __device__ __forceinline__ ";
    const bool counted = std::any_of(plan_.calls.begin(), plan_.calls.end(), [](const aggregate_call& other) {
      return other.what == aggregate_kind::mean || other.what == aggregate_kind::count;
    });
    const auto rows = [&](const char* text) { return counted ? text : ""; };
    spread_ = "  static constexpr u32 elements = " + count + ";\n" + head + numbers + " array_of(const Args& a) { return " + a + "; }\n" +
              head + "void add_element(State& s, u32 e, double v) { " + s + ".a[e] += v; }\n" + head +
              "void add_element_atomic(State& s, u32 e, double v) { atomic_add(&" + s + ".a[e], v); }\n" + head +
              "void add_rows(State& s, u32 n) { " + rows("s.rows += n;") + " }\n" + head + "void add_rows_atomic(State& s, u32 n) { " +
              rows("atomic_add(&s.rows, u64(n));") + " }\n";
    return true;
  }
  // The row's number among the arguments.
  void row_number() {
    args_.add("u64", "at", 8, 8);
    if (!numbered_) fill_ += "  args.at = i;\n";
    numbered_ = true;
  }
  void add_first_row() {
    row_number();
    state_.add("u64", "first_row", 8, 8);
    init("s.first_row = ~u64(0);");
    both("if (a.at < s.first_row) s.first_row = a.at;", "if (o.first_row < s.first_row) s.first_row = o.first_row;");
    atomics("if (a.at < s.first_row) atomic_min(&s.first_row, a.at);", "atomic_min(&s.first_row, o.first_row);");
  }

  // A string of the rows, or none yet.
  void add_text(const std::string& s) {
    state_.add("text", s.substr(2), 16, 8);
    init(s + " = text{nullptr, ~u64(0)};");
    atomic_ = false;
    texts_ = true;
  }

  // Where the group's rows begin.
  void place_of_group() {
    if (seen("begin")) return;
    args_.add("u64", "place", 8, 8);
    fill_ += "  args.place = place;\n";
    state_.add("u64", "begin", 8, 8);
    init("s.begin = ~u64(0);");
    both("if (a.place < s.begin) s.begin = a.place;", "if (o.begin < s.begin) s.begin = o.begin;");
  }
  std::string order_of(const std::string& j) {
    return k_.argument(by_group_->arguments + 2 * static_cast<std::uint32_t>(std::stoul(j)), "const u64*");
  }

  // Those that want the rows of a group in order. The functions word_<j> and present_<j> of a row are the caller's.
  void add_in_order(const aggregate_call& c, const std::string& j, expressions& row) {
    const std::string s = "s.s" + j, o = "o.s" + j, n = "s.n" + j;
    switch (c.what) {
      case aggregate_kind::count_distinct:
        args_.add("bool", "h" + j, 1, 1);
        fill_ += "  args.h" + j + " = present_" + j + "(p, " + order_of(j) + "[place]) && (first || word_" + j + "(p, " + order_of(j) +
                 "[place - 1]) != word_" + j + "(p, " + order_of(j) + "[place]));\n";
        state_.add("u64", "s" + j, 8, 8);
        init(s + " = 0;");
        both(s + " += a.h" + j + ";", s + " += " + o + ";");
        return;
      case aggregate_kind::quantile:
        if (!(c.rank >= 0 && c.rank <= 1)) throw not_generated("the rank of a quantile lies outside 0 to 1, which the CPU reports");
        place_of_group();
        args_.add("bool", "h" + j, 1, 1);
        fill_ += "  args.h" + j + " = present_" + j + "(p, i);\n";
        state_.add("u64", "n" + j, 8, 8);
        init(n + " = 0;");
        both(n + " += a.h" + j + ";", n + " += o.n" + j + ";");
        return;
      case aggregate_kind::collect: {
        place_of_group();
        count_rows();
        const ir::type* element = c.source->type->element;
        const std::string value = row.converted(row.value(c.argument), c.argument->type, element);
        fill_ += "  " + k_.argument(by_group_->arguments + 2 * static_cast<std::uint32_t>(std::stoul(j)) + 1, k_.type_name(element) + "*") +
                 "[place] = " + value + ";\n";
        return;
      }
      default: {
        row_number();
        const ir::type* t = c.seed->type;
        const layout l = device_layout(t);
        const std::string type = k_.type_name(t);
        state_.add(type, "s" + j, l.size, l.align);
        const auto set = [&](const ir::node* what, const auto& bind) {
          expressions e(k_, by_group_->site);
          bind(e);
          const std::string v = e.converted(e.value(what), what->type, t), code = e.take();
          return "{\n" + code + "      const " + type + " next = " + v + ";\n      " + s + " = next;\n      }";
        };
        init(set(c.seed, [](expressions&) {}));
        const std::string update = set(c.update, [&](expressions& e) {
          e.bind(0, by_group_->row);
          e.bind(1, row_source::of_value(s, t));
        });
        const std::string combine = set(c.combine, [&](expressions& e) {
          e.bind(0, row_source::of_value(s, t));
          e.bind(1, row_source::of_value(o, t));
        });
        both(update, combine);
        return;
      }
    }
  }

  void add(const aggregate_call& c, const std::string& j, expressions& row) {
    if (by_group_ && wants_rows_by_group(c)) return add_in_order(c, j, row);
    const std::string s = "s.s" + j, o = "o.s" + j, n = "s.n" + j, on = "o.n" + j;
    std::string a = "a.a" + j, has = "a.h" + j;
    const auto unsupported = [&] {
      throw not_generated("the aggregate " + std::string(ir::name_of(c.what)) + " has no form on the GPU yet");
    };
    if (c.what == aggregate_kind::count) {
      count_rows();
      return;
    }
    if (!c.argument || c.what == aggregate_kind::custom || !ir::fixed_state(c.what)) unsupported();
    if (array_in_memory(c, j)) return;
    ++others_;
    const std::string value = row.value(c.argument);
    const ir::type* t = c.value;
    const std::string v = c.nullable ? value + ".v" : value, present = c.nullable ? value + ".has" : "true";
    const auto argument = [&](kind k, const std::string& text) { a = "a." + shared_argument(k, "a" + j, text); };
    const auto flag = [&] { has = "a." + shared_argument(kind::boolean, "h" + j, present); };
    switch (c.what) {
      case aggregate_kind::count_if: {
        argument(kind::u8, "u8(" + (c.nullable ? present : "to_bool(" + value + ")") + ")");
        state_.add("u64", "s" + j, 8, 8);
        init(s + " = 0;");
        both(s + " += " + a + ";", s + " += " + o + ";");
        atomics("if (" + a + ") atomic_add(&" + s + ", u64(1));", "atomic_add(&" + s + ", " + o + ");");
        return;
      }
      case aggregate_kind::any:
      case aggregate_kind::all: {
        const bool any = c.what == aggregate_kind::any;
        argument(kind::u8, "u8(to_bool(" + value + "))");
        state_.add("u32", "s" + j, 4, 4);
        init(s + (any ? " = 0;" : " = 1;"));
        both(s + (any ? " |= " : " &= ") + a + ";", s + (any ? " |= " : " &= ") + o + ";");
        const std::string f = any ? "atomic_max" : "atomic_min";
        atomics("if (" + a + (any ? " != 0" : " == 0") + ") " + f + "(&" + s + ", u32(" + a + "));", f + "(&" + s + ", " + o + ");");
        return;
      }
      case aggregate_kind::sum:
      case aggregate_kind::mean: {
        const bool mean = c.what == aggregate_kind::mean;
        const auto kept = mean ? ir::kind_of_mean_sum : ir::kind_of_sum;
        if (t->k == kind::array) {
          if (!ir::is_arithmetic(t->element->k)) unsupported();
          const kind w = kept(t->element->k);
          const std::string wide(scalar_text(w)), count = number(t->count);
          const std::string array = k_.type_name(t);
          args_.add(array, "a" + j, t->size, t->align);
          fill_ += "  args.a" + j + " = " + v + ";\n";
          if (c.nullable) flag();
          const std::string guard = c.nullable ? "if (" + has + ") " : "";
          state_.add("struct { " + wide + " a[" + count + "]; }", "s" + j, t->count * 8, 8);
          const auto each = [&](const std::string& body) { return "for (u32 e = 0; e < " + count + "; ++e) " + body; };
          init(each(s + ".a[e] = 0;"));
          both(guard + each(s + ".a[e] = add<" + wide + ">(" + s + ".a[e], (" + wide + ")" + a + ".a[e]);"),
               each(s + ".a[e] = add<" + wide + ">(" + s + ".a[e], " + o + ".a[e]);"));
          atomics(guard + each("atomic_add(&" + s + ".a[e], (" + wide + ")" + a + ".a[e]);"),
                  each("atomic_add(&" + s + ".a[e], " + o + ".a[e]);"));
        } else {
          const kind w = kept(t->k);
          const std::string wide(scalar_text(w));
          // Narrow arguments travel narrow.
          argument(t->k, c.nullable ? "(" + present + " ? " + v + " : " + std::string(scalar_text(t->k)) + "(0))" : v);
          if (c.nullable && mean) flag();
          state_.add(wide, "s" + j, 8, 8);
          init(s + " = 0;");
          both(s + " = add<" + wide + ">(" + s + ", (" + wide + ")" + a + ");", s + " = add<" + wide + ">(" + s + ", " + o + ");");
          atomics("atomic_add(&" + s + ", (" + wide + ")" + a + ");", "atomic_add(&" + s + ", " + o + ");");
        }
        if (mean && !c.nullable) count_rows();
        if (mean && c.nullable) {
          state_.add("u64", "n" + j, 8, 8);
          init(n + " = 0;");
          both(n + " += " + has + ";", n + " += " + on + ";");
          atomics("if (" + has + ") atomic_add(&" + n + ", u64(1));", "atomic_add(&" + n + ", " + on + ");");
        }
        return;
      }
      case aggregate_kind::min:
      case aggregate_kind::max: {
        const bool largest = c.what == aggregate_kind::max, floating = ir::is_floating(t->k);
        if (t->k == kind::string) {
          // A view of the best so far; equal ones do not differ. No atomic operation is as wide.
          argument(t->k, v);
          if (c.nullable) flag();
          add_text(s);
          const auto beats = [&](const std::string& x) {
            return "(" + s + ".size == ~u64(0) || " + (largest ? "less(" + s + ", " + x : "less(" + x + ", " + s) + "))";
          };
          both("if (" + (c.nullable ? has + " && " : std::string()) + beats(a) + ") " + s + " = " + a + ";",
               "if (" + o + ".size != ~u64(0) && " + beats(o) + ") " + s + " = " + o + ";");
          return;
        }
        if (!ir::is_arithmetic(t->k)) unsupported();
        const kind w = kept_in(t->k);
        const std::string type(scalar_text(w)), less = largest ? " > " : " < ", f = largest ? "atomic_max" : "atomic_min";
        argument(t->k, v);
        if (c.nullable) flag();
        state_.add(type, "s" + j, size_of(w), size_of(w));
        const std::string far = w == kind::f32 ? "__uint_as_float(0x7f800000u)" : "__longlong_as_double(0x7ff0000000000000ll)";
        init(s + " = " + (floating ? (largest ? "-" : "") + far : "traits<" + type + ">::" + (largest ? "least" : "most")) + ";");
        const std::string x = "(" + type + ")" + a, guard = c.nullable ? "if (" + has + ") " : "";
        both(guard + "if (" + x + less + s + ") " + s + " = " + x + ";", "if (" + o + less + s + ") " + s + " = " + o + ";");
        atomics(guard + "if (" + x + less + s + ") " + f + "(&" + s + ", " + x + ");", f + "(&" + s + ", " + o + ");");
        if (floating || c.nullable) {
          // 1: there was a value; 2: one that is a number.
          state_.add("u32", "n" + j, 4, 4);
          init(n + " = 0;");
          const std::string mark = floating ? "(" + a + " == " + a + " ? 2u : 1u)" : "2u";
          both(guard + "if (" + n + " < " + mark + ") " + n + " = " + mark + ";", "if (" + n + " < " + on + ") " + n + " = " + on + ";");
          atomics(guard + "if (" + n + " < " + mark + ") atomic_max(&" + n + ", " + mark + ");", "atomic_max(&" + n + ", " + on + ");");
        }
        return;
      }
      case aggregate_kind::variance:
      case aggregate_kind::stddev: {
        argument(kind::f64, "convert<double>(" + v + ")");
        if (c.nullable) flag();
        state_.add("u64", "n" + j, 8, 8);
        state_.add("double", "s" + j, 8, 8);
        state_.add("double", "l" + j, 8, 8);
        state_.add("double", "m" + j, 8, 8);
        init(n + " = 0; " + s + " = 0; s.l" + j + " = 0; s.m" + j + " = 0;");
        // As agg::moments (query/detail/moments.hpp).
        const std::string low = "s.l" + j, squares = "s.m" + j;
        const std::string move = "move_mean(" + s + ", " + low + ", ";
        both((c.nullable ? "if (" + has + ") " : std::string()) + "{ const double d = (" + a + " - " + s + ") - " + low +
                 ", by = d * (1 / double(++" + n + ")); " + squares + " += d * (d - by); " + move + "by); }",
             "if (!" + n + ") { " + s + " = " + o + "; " + low + " = o.l" + j + "; " + squares + " = o.m" + j + "; } else if (" + on +
                 ") { const double part = double(" + on + ") / double(" + n + " + " + on + "), d = (" + o + " - " + s + ") + (o.l" + j +
                 " - " + low + "); " + squares + " += o.m" + j + " + d * d * double(" + n + ") * part; " + move + "d * part); } " + n +
                 " += " + on + ";");
        atomic_ = false;
        return;
      }
      case aggregate_kind::first:
      case aggregate_kind::last:
      case aggregate_kind::arg_min:
      case aggregate_kind::arg_max: {
        // The row's number; the row or the value is computed from it at the end.
        row_number();
        row_numbers_ = true;
        state_.add("u64", "n" + j, 8, 8);
        init(n + " = ~u64(0);");
        atomic_ = false;
        if (c.what == aggregate_kind::first || c.what == aggregate_kind::last) {
          const std::string better = c.what == aggregate_kind::first ? " < " : " > ";
          both("if (" + n + " == ~u64(0) || a.at" + better + n + ") " + n + " = a.at;",
               "if (" + on + " != ~u64(0) && (" + n + " == ~u64(0) || " + on + better + n + ")) " + n + " = " + on + ";");
          return;
        }
        const bool largest = c.what == aggregate_kind::arg_max, string = t->k == kind::string;
        if (!ir::is_arithmetic(t->k) && !string) unsupported();
        const std::string type(scalar_text(t->k)), less = largest ? " > " : " < ";
        argument(t->k, v);
        if (c.nullable) flag();
        const std::string guard = c.nullable ? "if (" + has + ") " : "";
        if (string) {
          add_text(s);
          const auto update = [&](const std::string& x, const std::string& at) {
            return "{ const int c = " + n + " == ~u64(0) ? -1 : compare(" + (largest ? s + ", " + x : x + ", " + s) +
                   "); if (c < 0 || (c == 0 && " + at + " < " + n + ")) { " + s + " = " + x + "; " + n + " = " + at + "; } }";
          };
          both(guard + update(a, "a.at"), "if (" + on + " != ~u64(0)) " + update(o, on));
          return;
        }
        state_.add(type, "s" + j, size_of(t->k), size_of(t->k));
        init(s + " = 0;");
        const auto beats = [&](const std::string& x, const std::string& at) {
          const std::string nan = ir::is_floating(t->k) ? "(" + s + " != " + s + " && " + x + " == " + x + ") || " : "";
          const std::string tie =
              ir::is_floating(t->k) ? "(" + x + " == " + s + " || (" + x + " != " + x + " && " + s + " != " + s + "))" : x + " == " + s;
          return n + " == ~u64(0) || " + nan + x + less + s + " || (" + tie + " && " + at + " < " + n + ")";
        };
        both(guard + "if (" + beats(a, "a.at") + ") { " + s + " = " + a + "; " + n + " = a.at; }",
             "if (" + on + " != ~u64(0) && (" + beats(o, on) + ")) { " + s + " = " + o + "; " + n + " = " + on + "; }");
        return;
      }
      default:
        unsupported();
    }
  }

  kernel_source& k_;
  const ir::group_plan& plan_;
  const std::vector<std::string>& in_memory_;
  const rows_by_group* by_group_;
  std::string spread_;
  int arrays_ = 0, others_ = 0;  // calls
  members state_, args_;
  parts all_;
  std::string fill_;
  std::vector<std::pair<std::string, std::string>> shared_;  // type and value of an argument, its name
  bool atomic_ = true, row_numbers_ = false, numbered_ = false, texts_ = false;
};

}  // namespace

generated_aggregates generate_aggregates(kernel_source& k, const ir::group_plan& plan, expressions& row,
                                         const std::vector<std::string>& in_memory, bool first_rows) {
  k.include("gpu_primitives/atomics.cuh");
  return writer(k, plan, in_memory).write(row, first_rows);
}

generated_aggregates generate_aggregates_in_order(kernel_source& k, const ir::group_plan& plan, expressions& row,
                                                  const rows_by_group& rows) {
  k.include("gpu_primitives/atomics.cuh");
  return writer(k, plan, {}, &rows).write(row, true);
}

}  // namespace query::gpu_engine
