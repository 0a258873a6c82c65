#include "ir/typed_text/row_types.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <query/errors.hpp>

namespace query::ir::typed_text {

namespace {

using optional_string = std::optional<std::string>;
constexpr std::size_t most_layouts = 256;
// Rows without strings have so few sizes (see coarse) that there is always room for them.
constexpr std::size_t kept_for_plain_rows = 80;

// 8, 16, ... 128, then multiples of 64 up to 2048, then powers of two: 65 sizes up to 1 GiB.
std::size_t coarse(std::size_t bytes) {
  if (bytes <= 128) return (bytes + 7) / 8 * 8;
  if (bytes <= 2048) return (bytes + 63) / 64 * 64;
  return std::bit_ceil(bytes);
}

// Strings first, then optional strings, then what is bytes.
struct layout {
  std::size_t strings = 0, optionals = 0, size = 0;
  bool operator==(const layout&) const = default;

  std::size_t bytes_at() const { return strings * sizeof(std::string) + optionals * sizeof(optional_string); }
  std::string* strings_of(void* row) const { return static_cast<std::string*>(row); }
  optional_string* optionals_of(void* row) const {
    return reinterpret_cast<optional_string*>(static_cast<std::byte*>(row) + strings * sizeof(std::string));
  }
};
static_assert(alignof(std::string) <= 8 && alignof(optional_string) <= 8);

// A description's functions know no more than addresses: each layout has functions of its own.
std::array<layout, most_layouts> layouts;

void destroy_row(const layout& l, void* row) {
  std::destroy_n(l.strings_of(row), l.strings);
  std::destroy_n(l.optionals_of(row), l.optionals);
}
// Either all of a row is made or nothing.
template <class Strings, class Optionals> void make_row(const layout& l, void* row, Strings strings, Optionals optionals) {
  strings(l.strings_of(row));
  try {
    optionals(l.optionals_of(row));
  } catch (...) {
    std::destroy_n(l.strings_of(row), l.strings);
    throw;
  }
}
template <class Make> void make_rows(const layout& l, void* to, std::size_t n, Make make) {
  auto* const rows = static_cast<std::byte*>(to);
  for (std::size_t i = 0; i < n; ++i) try {
      make(rows + i * l.size, i);
    } catch (...) {
      while (i-- > 0) destroy_row(l, rows + i * l.size);
      throw;
    }
}
void copy_bytes(const layout& l, void* to, const void* from) {
  const std::size_t at = l.bytes_at();
  std::memcpy(static_cast<std::byte*>(to) + at, static_cast<const std::byte*>(from) + at, l.size - at);
}

void construct(const layout& l, void* to, std::size_t n) {
  make_rows(l, to, n, [&](void* row, std::size_t) {
    std::memset(row, 0, l.size);
    std::uninitialized_value_construct_n(l.strings_of(row), l.strings);
    std::uninitialized_value_construct_n(l.optionals_of(row), l.optionals);
  });
}
void copy(const layout& l, void* to, const void* from, std::size_t n) {
  make_rows(l, to, n, [&](void* row, std::size_t i) {
    void* const given = const_cast<std::byte*>(static_cast<const std::byte*>(from) + i * l.size);
    make_row(
        l, row, [&](std::string* s) { std::uninitialized_copy_n(l.strings_of(given), l.strings, s); },
        [&](optional_string* s) { std::uninitialized_copy_n(l.optionals_of(given), l.optionals, s); });
    copy_bytes(l, row, given);
  });
}
void move(const layout& l, void* to, void* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    void* const row = static_cast<std::byte*>(to) + i * l.size;
    void* const given = static_cast<std::byte*>(from) + i * l.size;
    std::uninitialized_move_n(l.strings_of(given), l.strings, l.strings_of(row));
    std::uninitialized_move_n(l.optionals_of(given), l.optionals, l.optionals_of(row));
    copy_bytes(l, row, given);
  }
}
void copy_assign(const layout& l, void* to, const void* from) {
  void* const given = const_cast<void*>(from);
  std::copy_n(l.strings_of(given), l.strings, l.strings_of(to));
  std::copy_n(l.optionals_of(given), l.optionals, l.optionals_of(to));
  copy_bytes(l, to, from);
}
void destroy(const layout& l, void* at, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) destroy_row(l, static_cast<std::byte*>(at) + i * l.size);
}

template <std::size_t I> lifetime lifetime_of_layout() {
  lifetime l;
  l.construct = [](void* to, std::size_t n) { construct(layouts[I], to, n); };
  l.copy = [](void* to, const void* from, std::size_t n) { copy(layouts[I], to, from, n); };
  l.move = [](void* to, void* from, std::size_t n) { move(layouts[I], to, from, n); };
  l.copy_assign = [](void* to, const void* from) { copy_assign(layouts[I], to, from); };
  l.destroy = [](void* at, std::size_t n) { destroy(layouts[I], at, n); };
  return l;
}
lifetime lifetime_of(std::size_t number) {
  static constexpr auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<lifetime (*)(), most_layouts>{&lifetime_of_layout<I>...};
  }(std::make_index_sequence<most_layouts>{});
  return all[number]();
}

struct known_types {
  std::mutex lock;
  std::size_t layouts = 0, with_strings = 0;
  std::deque<std::string> names;
  std::deque<type> types;
};
known_types& known() {
  static known_types& k = *new known_types;
  return k;
}

std::size_t number_of(known_types& k, const layout& l) {
  const auto end = layouts.begin() + static_cast<std::ptrdiff_t>(k.layouts);
  const auto at = std::find(layouts.begin(), end, l);
  const bool plain = l.strings == 0 && l.optionals == 0;
  if (at == end && (k.layouts == most_layouts || (!plain && k.with_strings == most_layouts - kept_for_plain_rows)))
    throw resource_error("the program has chosen rows with strings in " + std::to_string(k.with_strings) +
                         " layouts, and has no room for another: a layout is how many strings, optional strings and bytes of other "
                         "columns a row has; choose columns from a fixed list");
  if (at == end) {
    layouts[k.layouts++] = l;
    k.with_strings += !plain;
  }
  return static_cast<std::size_t>(at - layouts.begin());
}

bool is_string(const type* t) { return t == describe<std::string>(); }
bool is_optional_string(const type* t) { return t == describe<optional_string>(); }

}  // namespace

bool can_be_column(const type* t) { return is_string(t) || is_optional_string(t) || (t->trivial && t->align <= alignof(std::max_align_t)); }

const type* row_type_of(std::span<const row_column> columns) {
  known_types& k = known();
  const std::lock_guard hold(k.lock);
  const auto same = [&](const type& t) {
    return std::equal(t.field_list.begin(), t.field_list.end(), columns.begin(), columns.end(),
                      [](const field& f, const row_column& c) { return f.of == c.of && f.name == c.name; });
  };
  if (const auto at = std::find_if(k.types.begin(), k.types.end(), same); at != k.types.end()) return &*at;

  layout l;
  type t;
  t.k = kind::record;
  t.align = 8;
  for (const row_column& c : columns) {
    l.strings += is_string(c.of);
    l.optionals += is_optional_string(c.of);
    t.align = std::max(t.align, c.of->align);
  }
  std::size_t string = 0, optional = l.strings * sizeof(std::string), at = l.bytes_at();
  std::vector<std::size_t> by_alignment(columns.size()), offsets(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) by_alignment[i] = i;
  std::stable_sort(by_alignment.begin(), by_alignment.end(),
                   [&](std::size_t a, std::size_t b) { return columns[a].of->align > columns[b].of->align; });
  for (const std::size_t i : by_alignment) {
    const type* const of = columns[i].of;
    if (is_string(of)) {
      offsets[i] = std::exchange(string, string + sizeof(std::string));
    } else if (is_optional_string(of)) {
      offsets[i] = std::exchange(optional, optional + sizeof(optional_string));
    } else {
      at = (at + of->align - 1) / of->align * of->align;
      offsets[i] = std::exchange(at, at + of->size);
    }
  }
  l.size = coarse(std::max<std::size_t>((at + t.align - 1) / t.align * t.align, t.align));
  t.size = l.size;
  t.trivial = l.strings == 0 && l.optionals == 0;
  t.life = lifetime_of(number_of(k, l));
  t.name = k.names.emplace_back("columns" + std::to_string(k.types.size() + 1));
  for (std::size_t i = 0; i < columns.size(); ++i)
    t.field_list.push_back({k.names.emplace_back(columns[i].name), columns[i].of, offsets[i]});
  return &k.types.emplace_back(std::move(t));
}

}  // namespace query::ir::typed_text
