#include "data/columnar_fields.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include <query/detail/failure.hpp>

#include "data/csv_value.hpp"
#include "data/folder_value.hpp"
#include "data/leaf_columns.hpp"

namespace query::data {
namespace {

std::string child_name(const ArrowSchema& s, std::size_t i) { return s.children[i]->name ? s.children[i]->name : ""; }

columnar_values::array taken(ArrowArray& from) {
  const auto release = [](ArrowArray* a) {
    if (a->release) a->release(a);
    delete a;
  };
  columnar_values::array a(new ArrowArray(from), release);
  from.release = nullptr;
  return a;
}

// Does the field hold other numbers than the column, whose statistics are?
bool other_unit(const arrow_values& v, std::span<const std::string_view> path) {
  if (v.layout == arrow_layout::dictionary) return other_unit(v.children.front(), path);
  if (path.empty() || v.layout != arrow_layout::structure) return v.layout == arrow_layout::seconds;
  for (std::size_t f = 0; f < v.children.size(); ++f)
    if (v.type->field_list[f].name == path.front()) return other_unit(v.children[f], path.subspan(1));
  return false;
}

// A value of the file that tests compare: as they do.
std::optional<test_value> value_of(const ir::type* t, const std::byte* at) {
  const auto number = [&]<class T>(T x) {
    std::memcpy(&x, at, sizeof x);
    if constexpr (std::is_floating_point_v<T>) return test_value::of(static_cast<double>(x));
    else if constexpr (std::is_signed_v<T>) return test_value::of(static_cast<std::int64_t>(x));
    else return test_value::of(static_cast<std::uint64_t>(x));
  };
  switch (t->k) {
    case ir::kind::boolean: return test_value::of(std::uint64_t{*at != std::byte{0}});
    case ir::kind::i8: return number(std::int8_t{});
    case ir::kind::i16: return number(std::int16_t{});
    case ir::kind::i32: return number(std::int32_t{});
    case ir::kind::i64: return number(std::int64_t{});
    case ir::kind::u8: return number(std::uint8_t{});
    case ir::kind::u16: return number(std::uint16_t{});
    case ir::kind::u32: return number(std::uint32_t{});
    case ir::kind::u64: return number(std::uint64_t{});
    case ir::kind::f32: return number(float{});
    case ir::kind::f64: return number(double{});
    case ir::kind::string: return test_value::of(*reinterpret_cast<const std::string*>(at));
    default: return std::nullopt;
  }
}

const ir::type* without_optional(const ir::type* t) { return t->k == ir::kind::optional ? t->element : t; }

// One value of a type, value-initialised.
class one_value {
 public:
  explicit one_value(const ir::type* t) : type_(t), at_(new (std::align_val_t{t->align}) std::byte[t->size]) { t->life.construct(at_, 1); }
  ~one_value() {
    type_->life.destroy(at_, 1);
    ::operator delete[](at_, std::align_val_t{type_->align});
  }
  one_value(const one_value&) = delete;
  one_value& operator=(const one_value&) = delete;
  std::byte* at() const { return at_; }

 private:
  const ir::type* type_;
  std::byte* at_;
};

}  // namespace

void columnar_values::add(array a) {
  const auto n = static_cast<std::size_t>(a->length);
  if (n == 0) return;
  arrays_.push_back(std::move(a));
  begins_.push_back(begins_.back() + n);
}

columnar_fields::columnar_fields(const ir::type* row, const columnar_file& file, const file_source& source, std::string path,
                                 std::string name)
    : row_(row), verb_(reading_verb(source.format)), path_(std::move(path)) {
  const auto has_field = [&](const std::string& f) {
    return std::any_of(row->field_list.begin(), row->field_list.end(), [&](const ir::field& x) { return x.name == f; });
  };
  for (const csv_column& c : source.options.columns)
    if (!has_field(c.field))
      throw detail::unplaced_error(std::string(verb_) + ": .columns names a field that " + type_name(row) + " does not have: '" + c.field +
                                   "'");
  const std::string& named = source.options.file_name_in;
  if (!named.empty() && !has_field(named))
    throw detail::unplaced_error(std::string(verb_) + ": .file_name_in names a field that " + type_name(row) + " does not have: '" + named +
                                 "'");
  for (const ir::field& f : row->field_list) places_.push_back(place_of(f, file, source, name));
}

columnar_fields::place columnar_fields::place_of(const ir::field& f, const columnar_file& file, const file_source& source,
                                                 const std::string& name) const {
  place p;
  p.name = f.name;
  if (f.name == source.options.file_name_in) {
    if (f.of->k != ir::kind::string)
      throw detail::unplaced_error(std::string(verb_) + ": .file_name_in names the field '" + p.name + "', which is " + type_name(f.of) +
                                   "; make it a std::string");
    p.text = name;
    return p;
  }
  for (const csv_column& c : source.options.columns)
    if (c.field == f.name) p.name = c.column;
  const ArrowSchema& s = file.schema();
  const auto n = static_cast<std::size_t>(s.n_children);
  for (std::size_t i = 0; i < n; ++i) {
    if (child_name(s, i) != p.name) continue;
    if (p.column != no_column) fail("two columns are called '" + p.name + "', as field '" + std::string(f.name) + "' is: rename one");
    p.column = i;
  }
  if (p.column != no_column) {
    try {
      p.values = match_types(f.of, *s.children[p.column], std::string(f.name));
    } catch (const arrow_mismatch& e) {
      fail("column '" + p.name + "': " + e.what());
    }
    return p;
  }
  const std::optional<folder_value> in_path = value_in_path(path_, p.name);
  if (!in_path) {
    std::string all;
    for (std::size_t i = 0; i < n; ++i) all += (i ? ", " : "") + child_name(s, i);
    fail("there is no column '" + p.name + "' for the field '" + std::string(f.name) + "', which is " + type_name(f.of) +
         "; the file's columns are: " + all + ". Say by .columns which column is meant: {{\"" + std::string(f.name) + "\", \"column\"}}");
  }
  p.text = in_path->text;
  p.null = in_path->null;
  if (p.null && f.of->k != ir::kind::optional)
    fail("the folder of column '" + p.name + "' is of nulls, and the field is " + type_name(f.of) + "; make it a std::optional");
  if (!names_folders(f.of))
    fail("column '" + p.name + "' comes from the name of a folder, and the field is " + type_name(f.of) + "; make it a number or a string");
  assign(f, p, one_value(f.of).at());  // does it fit?
  return p;
}

void columnar_fields::assign(const ir::field& f, const place& from, std::byte* to) const {
  if (from.null) return;
  const bool optional = f.of->k == ir::kind::optional;
  void* const value = optional ? f.of->get.emplace(to) : to;
  const ir::type* const of = without_optional(f.of);
  if (of->k == ir::kind::string) *static_cast<std::string*>(value) = from.text;
  else if (parse_scalar(of, from.text, value) != parsed::ok)
    fail("the folder '" + from.name + "=" + from.text + "' names no value of field '" + std::string(f.name) + "', which is " +
         type_name(f.of) + "; give the field another type");
}

void columnar_fields::check_rows(const columnar_file& file, std::size_t group) const {
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  if (const std::uint64_t rows = file.rows_in(group); rows > most)
    fail("row group " + std::to_string(group) + " has " + std::to_string(static_cast<std::int64_t>(rows)) +
         " rows; the file is damaged: copy or write it anew");
}

std::size_t columnar_fields::bytes_of(const columnar_file& file, std::size_t group, std::size_t field) const {
  const place& p = places_[field];
  if (p.column == no_column) return 0;
  // What repeats is short in the file.
  const std::size_t width = p.values.layout == arrow_layout::dictionary ? p.values.width : std::min<std::size_t>(p.values.type->size, 16);
  return static_cast<std::size_t>(std::max<std::uint64_t>(file.bytes_of(group, p.column), file.rows_in(group) * width));
}

columnar_values columnar_fields::read(columnar_file& file, std::size_t group, std::size_t field) const {
  const place& p = places_[field];
  const auto at = [&] { return "column '" + p.name + "', row group " + std::to_string(group) + ": "; };
  std::vector<columnar_values::array> arrays;
  try {
    file.read(group, p.column, [&](ArrowArray& a) { arrays.push_back(taken(a)); });
  } catch (const columnar_failure& e) {
    fail(at() + "cannot be read: " + e.what() +
         (e.is_damage ? "; the file is damaged: copy or write it anew" : "; write it in another form"));
  }
  columnar_values values;
  try {
    for (columnar_values::array& array : arrays) {
      check_shape(p.values, *array, array->length);
      if (const auto wrong = find_wrong_null(p.values, *array, 0, array->length)) {
        const arrow_values& of = *wrong->of;
        const std::size_t row = values.rows() + static_cast<std::size_t>(wrong->row);
        fail(at() + "row " + std::to_string(row) + " of the group is null, and field '" + of.field + "' is " + type_name(of.type) +
             "; make the field a std::optional");
      }
      values.add(std::move(array));
    }
  } catch (const arrow_mismatch& e) {
    fail(at() + e.what());
  }
  if (values.rows() != file.rows_in(group))
    fail(at() + "has " + std::to_string(values.rows()) + " values for " + std::to_string(file.rows_in(group)) +
         " rows; the file is damaged: copy or write it anew");
  counts_of_columnar().columns_read.fetch_add(1, std::memory_order_relaxed);
  return values;
}

void columnar_fields::convert(std::size_t field, const columnar_values* values, std::size_t first, std::size_t n, std::byte* rows) const {
  const ir::field& f = row_->field_list[field];
  std::byte* to = rows + f.offset;
  if (!values) {
    const place& p = places_[field];
    for (std::size_t i = 0; i < n; ++i)
      if (f.of->trivial && i) std::memcpy(to + i * row_->size, to, f.of->size);
      else assign(f, p, to + i * row_->size);
    return;
  }
  try {
    values->each(first, n, [&](const ArrowArray& a, std::size_t from, std::size_t some) {
      convert_values(places_[field].values, a, static_cast<std::int64_t>(from), static_cast<std::int64_t>(some), to, row_->size);
      to += some * row_->size;
    });
  } catch (const detail::unplaced_error& e) {
    constexpr std::string_view other_verb = "from_arrow: ";
    std::string what = e.what();
    if (what.starts_with(other_verb)) what.erase(0, other_verb.size());
    fail(what);
  }
}

value_range columnar_fields::range_of(const columnar_file& file, std::size_t group, const std::string& field) const {
  std::vector<std::string_view> path;
  for (std::size_t at = 0; at <= field.size();) {
    const std::size_t dot = std::min(field.find('.', at), field.size());
    path.push_back(std::string_view(field).substr(at, dot - at));
    at = dot + 1;
  }
  value_range none{.rows = file.rows_in(group)};
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const ir::field& f = row_->field_list[i];
    if (f.name != path.front()) continue;
    const place& p = places_[i];
    if (p.column != no_column && other_unit(p.values, std::span(path).subspan(1))) return none;
    if (p.column != no_column) return file.range_of(group, p.column, std::span(path).subspan(1));
    none.nulls = p.null ? none.rows : 0;
    if (p.null || path.size() > 1) return none;
    const ir::field plain{f.name, without_optional(f.of), 0};
    const one_value value(plain.of);
    assign(plain, p, value.at());
    none.least = none.most = value_of(plain.of, value.at());
  }
  return none;
}

bool columnar_fields::may_pass(const columnar_file& file, std::size_t group, const row_tests& tests) const {
  return data::may_pass(tests, [&](const std::string& field) { return range_of(file, group, field); });
}

void columnar_fields::fail(const std::string& what) const {
  throw detail::unplaced_error(std::string(verb_) + ": " + path_ + ": " + what);
}

}  // namespace query::data
