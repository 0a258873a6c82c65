#include "data/arrow_types.hpp"

#include <charconv>

#include "data/leaf_columns.hpp"

namespace query::data {

namespace {

struct number_format {
  char format;
  ir::kind kind;
  std::string_view name;
};
constexpr number_format numbers[] = {
    {'c', ir::kind::i8, "int8"},    {'C', ir::kind::u8, "uint8"},   {'s', ir::kind::i16, "int16"},   {'S', ir::kind::u16, "uint16"},
    {'i', ir::kind::i32, "int32"},  {'I', ir::kind::u32, "uint32"}, {'l', ir::kind::i64, "int64"},   {'L', ir::kind::u64, "uint64"},
    {'f', ir::kind::f32, "float"},  {'g', ir::kind::f64, "double"},
};
struct plain_format {
  std::string_view format, name;
  ir::kind kind = ir::kind::opaque;  // of the integer that a time is kept in
  ir::unit counts = {};              // and what it counts
};
constexpr ir::unit time_in(std::int64_t num, std::int64_t den) { return {ir::unit::of::time, num, den}; }
constexpr ir::unit duration_in(std::int64_t den) { return {ir::unit::of::duration, 1, den}; }
constexpr std::int64_t milli = 1'000, micro = 1'000'000, nano = 1'000'000'000;
// By the beginning of the format: units and zones follow.
constexpr plain_format others[] = {
    {"n", "null"},
    {"b", "bool"},
    {"e", "halffloat"},
    {"u", "utf8"},
    {"U", "large_utf8"},
    {"vu", "utf8_view"},
    {"z", "binary"},
    {"Z", "large_binary"},
    {"vz", "binary_view"},
    {"w:", "fixed_size_binary"},
    {"d:", "decimal"},
    {"tdD", "date32", ir::kind::i32, time_in(86'400, 1)},
    {"tdm", "date64", ir::kind::i64, time_in(1, milli)},
    {"tts", "time32[s]", ir::kind::i32, duration_in(1)},
    {"ttm", "time32[ms]", ir::kind::i32, duration_in(milli)},
    {"ttu", "time64[us]", ir::kind::i64, duration_in(micro)},
    {"ttn", "time64[ns]", ir::kind::i64, duration_in(nano)},
    {"tss:", "timestamp[s]", ir::kind::i64, time_in(1, 1)},
    {"tsm:", "timestamp[ms]", ir::kind::i64, time_in(1, milli)},
    {"tsu:", "timestamp[us]", ir::kind::i64, time_in(1, micro)},
    {"tsn:", "timestamp[ns]", ir::kind::i64, time_in(1, nano)},
    {"tDs", "duration[s]", ir::kind::i64, duration_in(1)},
    {"tDm", "duration[ms]", ir::kind::i64, duration_in(milli)},
    {"tDu", "duration[us]", ir::kind::i64, duration_in(micro)},
    {"tDn", "duration[ns]", ir::kind::i64, duration_in(nano)},
    {"ti", "interval"},
    {"+s", "struct"},
    {"+l", "list"},
    {"+L", "large_list"},
    {"+w:", "fixed_size_list"},
    {"+vl", "list_view"},
    {"+vL", "large_list_view"},
    {"+m", "map"},
    {"+u", "union"},
    {"+r", "run_end_encoded"},
};

std::string_view format_of(const ArrowSchema& s) { return s.format ? s.format : ""; }

const number_format* number_of(std::string_view format) {
  for (const number_format& n : numbers)
    if (format.size() == 1 && format[0] == n.format) return &n;
  return nullptr;
}
const plain_format* plain_of(std::string_view format) {
  for (const plain_format& p : others)
    if (p.format.size() == 1 ? format == p.format : format.substr(0, p.format.size()) == p.format) return &p;
  return nullptr;
}
std::size_t count_of(std::string_view format) {  // "+w:3"
  std::size_t n = 0;
  std::from_chars(format.data() + 3, format.data() + format.size(), n);
  return n;
}

std::string_view advice(const ir::type* t, std::string_view format) {
  if (const plain_format* const p = plain_of(format); p && p->counts.ticks() && (t->counts.ticks() || t->counts.what == ir::unit::of::date))
    return "; give the field the column's unit and 64 bits, as std::chrono::sys_time<std::chrono::milliseconds> has for timestamp[ms]";
  const number_format* const n = number_of(format);
  if (ir::is_arithmetic(t->k) && n) return "; give the field the column's type, or cast the column";
  return "";
}
[[noreturn]] void mismatch(const ir::type* t, const ArrowSchema& s, const std::string& field) {
  throw arrow_mismatch("field '" + field + "' is " + type_name(t) + ", the Arrow column is " + arrow_name(s) +
                       std::string(advice(t, s.dictionary ? "" : format_of(s))));
}

const ArrowSchema& child_of(const ArrowSchema& s, std::size_t i) { return *s.children[i]; }

}  // namespace

std::string arrow_name(const ArrowSchema& s) {
  const std::string_view format = format_of(s);
  std::string name;
  if (const number_format* n = number_of(format)) name = n->name;
  else if (const plain_format* p = plain_of(format)) name = p->name;
  else name = "'" + std::string(format) + "'";
  if (s.dictionary) return "dictionary<" + name + ", " + arrow_name(*s.dictionary) + ">";
  if (format == "+l" || format == "+L") return name + "<" + arrow_name(child_of(s, 0)) + ">";
  if (format.substr(0, 3) == "+w:") return name + "<" + arrow_name(child_of(s, 0)) + ", " + std::to_string(count_of(format)) + ">";
  return name;
}

void match_fields(const ir::type* record, const ArrowSchema& s, const std::string& prefix, arrow_values& to) {
  for (const ir::field& f : record->field_list) {
    const std::string name = prefix + std::string(f.name);
    std::size_t found = 0;
    const auto n = static_cast<std::size_t>(s.n_children);
    const auto is_named = [&](std::size_t i) { return child_of(s, i).name && child_of(s, i).name == f.name; };
    while (found < n && !is_named(found)) ++found;
    if (found == n) {
      std::string all;
      for (std::size_t i = 0; i < n; ++i) all += (i ? ", " : "") + std::string(child_of(s, i).name ? child_of(s, i).name : "");
      throw arrow_mismatch("there is no column for field '" + name + "', which is " + type_name(f.of) + "; the Arrow columns are: " + all);
    }
    for (std::size_t i = found + 1; i < n; ++i)
      if (is_named(i)) throw arrow_mismatch("two Arrow columns have the name of field '" + name + "'");
    to.columns.push_back(found);
    to.children.push_back(match_types(f.of, child_of(s, found), name));
  }
}

arrow_values match_types(const ir::type* t, const ArrowSchema& s, const std::string& field) {
  arrow_values v;
  v.field = field;
  v.arrow_name = arrow_name(s);
  v.type = t;
  if (t->k == ir::kind::optional) {
    v.optional = t;
    v.type = t->element;
  }
  const ir::type* const of = v.type;
  const std::string_view format = format_of(s);
  const number_format* const number = number_of(format);
  const plain_format* const plain = plain_of(format);
  if (of->k == ir::kind::optional) mismatch(t, s, field);  // nulls are of one kind
  if (s.dictionary) {
    if (!number || !ir::is_integer(number->kind)) mismatch(t, s, field);
    v.layout = arrow_layout::dictionary;
    v.is_signed = ir::is_signed_integer(number->kind);
    v.width = std::size_t{1} << (static_cast<int>(number->kind) - static_cast<int>(v.is_signed ? ir::kind::i8 : ir::kind::u8));
    try {
      v.children.push_back(match_types(of, *s.dictionary, field));
    } catch (const arrow_mismatch&) {
      mismatch(t, s, field);
    }
    return v;
  }
  if (format == "n") {
    v.layout = arrow_layout::null;
    return v;
  }
  if (of->counts.what == ir::unit::of::date) {
    if (format != "tdD") mismatch(t, s, field);
    v.layout = arrow_layout::date;
    v.width = sizeof(std::int32_t);
    return v;
  }
  if (of->counts == time_in(1, 1) && of->k == ir::kind::i64 && plain && plain->counts == time_in(1, 1000)) {
    v.layout = arrow_layout::seconds;
    v.width = sizeof(std::int64_t);
    return v;
  }
  if (of->counts.ticks() && !(number && number->kind == of->k)) {
    const bool wide = of->k == ir::kind::i64;
    if (!plain || plain->counts != of->counts || (plain->kind != of->k && !wide)) mismatch(t, s, field);
    v.layout = plain->kind == of->k ? arrow_layout::fixed : arrow_layout::widened;
    v.width = plain->kind == ir::kind::i32 ? sizeof(std::int32_t) : sizeof(std::int64_t);
    return v;
  }
  switch (of->k) {
    case ir::kind::boolean:
      if (format != "b") mismatch(t, s, field);
      v.layout = arrow_layout::bits;
      return v;
    case ir::kind::string:
      if (format == "u") v.layout = arrow_layout::text;
      else if (format == "U") v.layout = arrow_layout::large_text;
      else if (format == "vu") v.layout = arrow_layout::text_view;
      else mismatch(t, s, field);
      return v;
    case ir::kind::record:
      if (format != "+s") mismatch(t, s, field);
      v.layout = arrow_layout::structure;
      match_fields(of, s, field + ".", v);
      return v;
    case ir::kind::list:
      if (format == "+l") v.layout = arrow_layout::list;
      else if (format == "+L") v.layout = arrow_layout::large_list;
      else mismatch(t, s, field);
      v.children.push_back(match_types(of->element, child_of(s, 0), field + "[]"));
      return v;
    case ir::kind::array:
      if (format.substr(0, 3) != "+w:" || count_of(format) != of->count) mismatch(t, s, field);
      v.layout = arrow_layout::fixed_list;
      v.count = of->count;
      v.children.push_back(match_types(of->element, child_of(s, 0), field + "[]"));
      return v;
    default:
      if (!((number && number->kind == of->k) || (plain && plain->kind == of->k && of->k != ir::kind::opaque))) mismatch(t, s, field);
      v.layout = arrow_layout::fixed;
      v.width = of->size;
      return v;
  }
}

}  // namespace query::data
