#include "data/arrow_values.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include <query/detail/failure.hpp>

#include "ir/time_text.hpp"

namespace query::data {

namespace {

// ---------------------------------------------------------------- buffers: by absolute positions, offsets added
template <class T> T value_of(const void* buffer, std::int64_t i) {
  T x;
  std::memcpy(&x, static_cast<const std::byte*>(buffer) + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
  return x;
}
bool bit_of(const void* bits, std::int64_t i) { return (static_cast<const std::uint8_t*>(bits)[i / 8] >> (i % 8) & 1) != 0; }

const void* validity(const arrow_values& v, const ArrowArray& a) {
  return v.layout == arrow_layout::null || a.null_count == 0 || a.n_buffers == 0 ? nullptr : a.buffers[0];
}
static_assert(std::endian::native == std::endian::little);
// The first position in [from, to) whose bit is `value`; else `to`.
std::int64_t find_bit(const void* bits, bool value, std::int64_t from, std::int64_t to) {
  const auto* bytes = static_cast<const std::uint8_t*>(bits);
  while (from < to) {
    if (from % 8 == 0 && to - from >= 64) {
      const auto word = value_of<std::uint64_t>(bytes + from / 8, 0) ^ (value ? 0 : ~std::uint64_t{0});
      if (word) return from + std::countr_zero(word);
      from += 64;
    } else if (bit_of(bits, from) == value) {
      return from;
    } else {
      ++from;
    }
  }
  return to;
}

std::int64_t key_of(const arrow_values& v, const ArrowArray& a, std::int64_t at) {
  const void* const keys = a.buffers[1];
  switch (v.width) {
    case 1: return v.is_signed ? value_of<std::int8_t>(keys, at) : value_of<std::uint8_t>(keys, at);
    case 2: return v.is_signed ? value_of<std::int16_t>(keys, at) : value_of<std::uint16_t>(keys, at);
    case 4: return v.is_signed ? value_of<std::int32_t>(keys, at) : value_of<std::uint32_t>(keys, at);
    default: return value_of<std::int64_t>(keys, at);
  }
}
bool is_null(const arrow_values& v, const ArrowArray& a, std::int64_t at) {
  if (v.layout == arrow_layout::null) return true;
  const void* const bits = validity(v, a);
  if (bits && !bit_of(bits, at)) return true;
  return v.layout == arrow_layout::dictionary && is_null(v.children[0], *a.dictionary, key_of(v, a, at) + a.dictionary->offset);
}
bool has_nulls(const arrow_values& v, const ArrowArray& a) {
  if (v.layout == arrow_layout::null || validity(v, a)) return true;
  return v.layout == arrow_layout::dictionary && has_nulls(v.children[0], *a.dictionary);
}

// Where the elements of list `at` begin; of the one behind it: where they end. In the child's slice.
std::int64_t begin_of(const arrow_values& v, const ArrowArray& a, std::int64_t at) {
  if (v.layout == arrow_layout::fixed_list) return at * static_cast<std::int64_t>(v.count);
  if (v.layout == arrow_layout::large_list) return value_of<std::int64_t>(a.buffers[1], at);
  return value_of<std::int32_t>(a.buffers[1], at);
}
const ArrowArray& element(const ArrowArray& a) { return *a.children[0]; }

std::string_view text_at(const arrow_values& v, const ArrowArray& a, std::int64_t at) {
  if (v.layout == arrow_layout::text_view) {
    const char* const view = static_cast<const char*>(a.buffers[1]) + at * 16;
    const auto size = static_cast<std::size_t>(value_of<std::int32_t>(view, 0));
    if (size <= 12) return {view + 4, size};
    const auto* const characters = static_cast<const char*>(a.buffers[2 + value_of<std::int32_t>(view, 2)]);
    return {characters + value_of<std::int32_t>(view, 3), size};
  }
  const bool large = v.layout == arrow_layout::large_text;
  const std::int64_t from = large ? value_of<std::int64_t>(a.buffers[1], at) : value_of<std::int32_t>(a.buffers[1], at);
  const std::int64_t to = large ? value_of<std::int64_t>(a.buffers[1], at + 1) : value_of<std::int32_t>(a.buffers[1], at + 1);
  if (from == to) return {};  // there may be no characters at all
  return {static_cast<const char*>(a.buffers[2]) + from, static_cast<std::size_t>(to - from)};
}

// ---------------------------------------------------------------- conversion
void convert_one(const arrow_values& v, const ArrowArray& a, std::int64_t at, std::byte* to) {
  convert_values(v, a, at - a.offset, 1, to, v.whole()->size);
}

// Values that are there, by absolute positions.
void convert_present(const arrow_values& v, const ArrowArray& a, std::int64_t at, std::int64_t n, std::byte* to, std::size_t stride) {
  switch (v.layout) {
    case arrow_layout::null: return;
    case arrow_layout::bits:
      for (std::int64_t i = 0; i < n; ++i) to[static_cast<std::size_t>(i) * stride] = static_cast<std::byte>(bit_of(a.buffers[1], at + i));
      return;
    case arrow_layout::fixed: {
      const auto* from = static_cast<const std::byte*>(a.buffers[1]) + static_cast<std::size_t>(at) * v.width;
      if (stride == v.width) {
        std::memcpy(to, from, static_cast<std::size_t>(n) * v.width);
        return;
      }
      for (std::int64_t i = 0; i < n; ++i, from += v.width, to += stride) std::memcpy(to, from, v.width);
      return;
    }
    case arrow_layout::widened:
      for (std::int64_t i = 0; i < n; ++i, to += stride) {
        const std::int64_t wide = value_of<std::int32_t>(a.buffers[1], at + i);
        std::memcpy(to, &wide, sizeof wide);
      }
      return;
    case arrow_layout::seconds:
      for (std::int64_t i = 0; i < n; ++i, to += stride) {
        constexpr std::int64_t a_second = 1000;
        const auto milliseconds = value_of<std::int64_t>(a.buffers[1], at + i), s = milliseconds / a_second;
        if (s * a_second != milliseconds && !is_null(v, a, at + i))
          throw detail::unplaced_error("from_arrow: field '" + v.field + "' is in seconds, and the Arrow column has times between them; "
                                       "make the field a std::chrono::sys_time<std::chrono::milliseconds>");
        std::memcpy(to, &s, sizeof s);
      }
      return;
    case arrow_layout::date:
      for (std::int64_t i = 0; i < n; ++i, to += stride)
        if (!ir::date_of_days(value_of<std::int32_t>(a.buffers[1], at + i), to))
          throw detail::unplaced_error("from_arrow: field '" + v.field +
                                       "' is a year_month_day, and the Arrow column has dates outside its years");
      return;
    case arrow_layout::text:
    case arrow_layout::large_text:
    case arrow_layout::text_view:
      for (std::int64_t i = 0; i < n; ++i, to += stride) reinterpret_cast<std::string*>(to)->assign(text_at(v, a, at + i));
      return;
    case arrow_layout::structure:
      for (std::size_t f = 0; f < v.children.size(); ++f)
        convert_values(v.children[f], *a.children[v.columns[f]], at, n, to + v.type->field_list[f].offset, stride);
      return;
    case arrow_layout::list:
    case arrow_layout::large_list:
      for (std::int64_t i = 0; i < n; ++i, to += stride) {
        const std::int64_t from = begin_of(v, a, at + i), size = begin_of(v, a, at + i + 1) - from;
        void* const elements = v.type->get.resize(to, static_cast<std::size_t>(size));
        convert_values(v.children[0], element(a), from, size, elements, v.type->element->size);
      }
      return;
    case arrow_layout::fixed_list:
      for (std::int64_t i = 0; i < n; ++i, to += stride)
        convert_values(v.children[0], element(a), begin_of(v, a, at + i), static_cast<std::int64_t>(v.count), to, v.type->element->size);
      return;
    case arrow_layout::dictionary:
      for (std::int64_t i = 0; i < n; ++i, to += stride)
        convert_one(v.children[0], *a.dictionary, key_of(v, a, at + i) + a.dictionary->offset, to);
      return;
  }
}

bool is_flat(const arrow_values& v) {
  return !v.optional && (v.layout == arrow_layout::fixed || (v.layout == arrow_layout::fixed_list && is_flat(v.children[0])));
}

// ---------------------------------------------------------------- nulls
// The first null among rows [at, at + n) whose parents are there.
std::optional<wrong_null> wrong_within(const arrow_values& v, const ArrowArray& a, std::int64_t at, std::int64_t n) {
  switch (v.layout) {
    case arrow_layout::structure: {
      std::optional<wrong_null> first;
      for (std::size_t f = 0; f < v.children.size(); ++f) {
        const auto wrong = find_wrong_null(v.children[f], *a.children[v.columns[f]], at, n);
        if (wrong && (!first || wrong->row < first->row)) first = wrong;
      }
      if (first) first->row -= at;
      return first;
    }
    case arrow_layout::list:
    case arrow_layout::large_list:
    case arrow_layout::fixed_list: {
      const std::int64_t from = begin_of(v, a, at);
      auto wrong = find_wrong_null(v.children[0], element(a), from, begin_of(v, a, at + n) - from);
      if (!wrong) return wrong;
      std::int64_t row = 0;
      while (begin_of(v, a, at + row + 1) <= wrong->row) ++row;
      wrong->row = row;
      return wrong;
    }
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<wrong_null> find_wrong_null(const arrow_values& v, const ArrowArray& a, std::int64_t first, std::int64_t n) {
  const std::int64_t at = first + a.offset, end = at + n;
  const bool nests = !v.children.empty() && v.layout != arrow_layout::dictionary;
  if (!has_nulls(v, a)) {
    if (!nests || !n) return std::nullopt;
    auto wrong = wrong_within(v, a, at, n);
    if (wrong) wrong->row += first;
    return wrong;
  }
  if (v.optional && !nests) return std::nullopt;
  const void* const bits = validity(v, a);
  for (std::int64_t i = at; i < end;) {
    if (!v.optional) {
      std::int64_t null = i;
      if (v.layout == arrow_layout::dictionary)
        while (null < end && !is_null(v, a, null)) ++null;
      else if (bits) null = find_bit(bits, false, i, end);
      // Nulls of parents before this one may be without their children.
      if (nests && null > i)
        if (auto wrong = wrong_within(v, a, i, null - i)) {
          wrong->row += i - a.offset;
          return wrong;
        }
      if (null == end) return std::nullopt;
      return wrong_null{null - a.offset, &v};
    }
    i = find_bit(bits, true, i, end);
    const std::int64_t null = find_bit(bits, false, i, end);
    if (null > i)
      if (auto wrong = wrong_within(v, a, i, null - i)) {
        wrong->row += i - a.offset;
        return wrong;
      }
    i = null;
  }
  return std::nullopt;
}

const void* values_in_place(const arrow_values& v, const ArrowArray& a, std::int64_t first) {
  if (!is_flat(v)) return nullptr;
  const arrow_values* flat = &v;
  const ArrowArray* of = &a;
  for (; flat->layout == arrow_layout::fixed_list; flat = &flat->children[0], of = &element(*of))
    first = (first + of->offset) * static_cast<std::int64_t>(flat->count);
  const auto* const base = static_cast<const std::byte*>(of->buffers[1]);
  if (!base) return nullptr;
  const std::byte* const at = base + static_cast<std::size_t>(first + of->offset) * flat->width;
  return reinterpret_cast<std::uintptr_t>(at) % v.type->align ? nullptr : at;
}

void convert_values(const arrow_values& v, const ArrowArray& a, std::int64_t first, std::int64_t n, void* raw, std::size_t stride) {
  if (!n) return;  // there may be no buffers
  auto* const to = static_cast<std::byte*>(raw);
  const std::int64_t at = first + a.offset;
  if (!v.optional) {
    if (!has_nulls(v, a)) return convert_present(v, a, at, n, to, stride);
    // Nulls here belong to parents that are null, whose values nobody sees; the children need not be there.
    for (std::int64_t i = 0; i < n; ++i)
      if (!is_null(v, a, at + i)) convert_present(v, a, at + i, 1, to + static_cast<std::size_t>(i) * stride, stride);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    std::byte* const o = to + static_cast<std::size_t>(i) * stride;
    if (is_null(v, a, at + i)) v.optional->get.reset(o);
    else convert_present(v, a, at + i, 1, static_cast<std::byte*>(v.optional->get.emplace(o)), v.type->size);
  }
}

std::int64_t dictionary_code(const arrow_values& v, const ArrowArray& a, std::int64_t row) { return key_of(v, a, row + a.offset); }
bool is_null_code(const arrow_values& v, const ArrowArray& a, std::int64_t row) {
  const void* const bits = validity(v, a);
  return bits && !bit_of(bits, row + a.offset);
}
bool may_have_null_codes(const ArrowArray& a) { return a.null_count != 0 && a.n_buffers > 0 && a.buffers[0]; }

bool same_dictionary(const arrow_values& v, const ArrowArray& a, const ArrowArray& b) {
  const ArrowArray &x = *a.dictionary, &y = *b.dictionary;
  if (x.length != y.length) return false;
  if (x.offset == y.offset && x.n_buffers == y.n_buffers && std::equal(x.buffers, x.buffers + x.n_buffers, y.buffers)) return true;
  const arrow_values& of = v.children[0];
  for (std::int64_t i = 0; i < x.length; ++i) {
    const bool null = is_null(of, x, i + x.offset);
    if (null != is_null(of, y, i + y.offset) || (!null && text_at(of, x, i + x.offset) != text_at(of, y, i + y.offset))) return false;
  }
  return true;
}

void check_shape(const arrow_values& v, const ArrowArray& a, std::int64_t rows) {
  const auto fail = [&](const std::string& what) {
    throw arrow_mismatch("field '" + v.field + "': the Arrow column, " + v.arrow_name + ", " + what);
  };
  if (a.length < rows) fail("has " + std::to_string(a.length) + " values for " + std::to_string(rows) + " rows");
  std::int64_t buffers = 2, children = 0;
  switch (v.layout) {
    case arrow_layout::null: buffers = 0; break;
    case arrow_layout::text:
    case arrow_layout::large_text: buffers = 3; break;
    case arrow_layout::structure:
      buffers = 1;
      for (const std::size_t c : v.columns) children = std::max(children, static_cast<std::int64_t>(c) + 1);
      break;
    case arrow_layout::fixed_list:
      buffers = 1;
      [[fallthrough]];
    case arrow_layout::list:
    case arrow_layout::large_list: children = 1; break;
    default: break;
  }
  if (a.n_buffers < buffers) fail("has " + std::to_string(a.n_buffers) + " buffers instead of " + std::to_string(buffers));
  if (a.n_children < children) fail("has " + std::to_string(a.n_children) + " children instead of " + std::to_string(children));
  if (v.layout == arrow_layout::dictionary) {
    if (!a.dictionary) fail("has no dictionary");
    return check_shape(v.children[0], *a.dictionary, 0);
  }
  const std::int64_t end = rows ? a.offset + rows : 0;
  for (std::size_t c = 0; c < v.children.size(); ++c) {
    if (v.layout == arrow_layout::structure) check_shape(v.children[c], *a.children[v.columns[c]], end);
    else check_shape(v.children[c], element(a), rows ? begin_of(v, a, end) : 0);
  }
}

}  // namespace query::data
