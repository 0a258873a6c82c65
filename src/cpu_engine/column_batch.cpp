#include "cpu_engine/column_batch.hpp"

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

namespace query::cpu {

void columns_of_rows(const planner::column_schema& schema, const void* rows, std::size_t row_size, std::size_t first,
                     std::vector<column>& to) {
  to.clear();
  for (const auto& c : schema.columns)
    to.push_back({static_cast<const std::byte*>(rows) + first * row_size + c.offset, row_size, c.offset, c.type->size});
}

void columns_of_source(const planner::column_schema& schema, const ir::type* row, const void* const* bases, std::size_t first,
                       std::vector<column>& to) {
  to.clear();
  std::size_t field = 0;
  for (const auto& c : schema.columns) {
    while (row->field_list[field].offset != c.offset || row->field_list[field].of != c.type) ++field;
    to.push_back({static_cast<const std::byte*>(bases[field]) + first * c.type->size, c.type->size, c.offset, c.type->size});
  }
}

narrowed_columns::narrowed_columns() { selections_.reserve(4); }

std::span<const column> narrowed_columns::narrow(std::span<const column> from, const std::uint32_t* rows, std::size_t n) {
  columns_.assign(from.begin(), from.end());
  used_ = 0;
  for (column& c : columns_) {
    if (!c.select) {
      c.select = rows;
      continue;
    }
    std::size_t at = 0;
    while (at < used_ && selections_[at].before != c.select) ++at;
    if (at == used_) {
      if (used_ == selections_.size()) selections_.emplace_back();
      selection& s = selections_[used_++];
      s.before = c.select;
      s.now.resize(n);
      for (std::size_t i = 0; i < n; ++i) s.now[i] = c.select[rows[i]];
    }
    c.select = selections_[at].now.data();
  }
  return columns_;
}

namespace {

template <std::size_t Width> void gather_fixed(const column& c, std::size_t n, std::byte* to, std::size_t stride) {
  const auto* base = static_cast<const std::byte*>(c.base);
  if (c.select && stride == Width && c.stride == Width) {
    for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * Width, base + c.select[i] * Width, Width);
  } else if (c.select && stride == Width) {
    for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * Width, base + c.select[i] * c.stride, Width);
  } else if (c.select) {
    for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * stride, base + c.select[i] * c.stride, Width);
  } else if (stride == Width && c.stride == Width) {
    std::memcpy(to, base, n * Width);
  } else {
    for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * stride, base + i * c.stride, Width);
  }
}

template <std::size_t Width> void gather_optional(const column& c, std::size_t n, std::byte* to, std::size_t stride) {
  for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * stride, value_at(c, i), Width);
}

void wrap_strings(const column& c, std::size_t n, std::byte* to, std::size_t stride, bool assign) {
  using optional = std::optional<std::string>;
  std::size_t made = 0;
  try {
    for (; made < n; ++made) {
      const auto* const value = reinterpret_cast<const std::string*>(value_at(c, made));
      std::byte* const at = to + made * stride;
      if (assign && value) *reinterpret_cast<optional*>(at) = *value;
      else if (assign) reinterpret_cast<optional*>(at)->reset();
      else if (value) ::new (static_cast<void*>(at)) optional(*value);
      else ::new (static_cast<void*>(at)) optional();
    }
  } catch (...) {
    for (std::size_t i = 0; !assign && i < made; ++i) std::destroy_at(reinterpret_cast<optional*>(to + i * stride));
    throw;
  }
}

// An optional of trivial type as its bytes: empty, and with a value at `at`.
struct trivial_optional {
  explicit trivial_optional(const ir::type* t) : empty(t->size), full(t->size) {
    t->life.construct(empty.data(), 1);
    t->life.construct(full.data(), 1);
    at = static_cast<std::size_t>(static_cast<std::byte*>(t->get.emplace(full.data())) - full.data());
  }
  std::vector<std::byte> empty, full;
  std::size_t at;
};
template <std::size_t Width, std::size_t Size>
void wrap_trivial(const column c, const trivial_optional& o, std::size_t n, std::byte* to, std::size_t stride) {
  const std::byte* const either[2] = {o.empty.data(), o.full.data()};
  const std::byte* const none = o.empty.data() + o.at;
  const std::size_t at = o.at;
  for (std::size_t i = 0; i < n; ++i) {
    const void* const value = value_or(c, i, none);
    std::memcpy(to + i * stride, either[value != none], Size);
    std::memcpy(to + i * stride + at, value, Width);
  }
}
void wrap_trivial(const column& c, const ir::type* t, std::size_t n, std::byte* to, std::size_t stride) {
  const trivial_optional o(t);
  const std::size_t width = t->element->size;
  if (width == 4 && t->size == 8) return wrap_trivial<4, 8>(c, o, n, to, stride);
  if (width == 8 && t->size == 16) return wrap_trivial<8, 16>(c, o, n, to, stride);
  for (std::size_t i = 0; i < n; ++i) {
    const std::byte* const value = value_at(c, i);
    std::memcpy(to + i * stride, value ? o.full.data() : o.empty.data(), t->size);
    if (value) std::memcpy(to + i * stride + o.at, value, width);
  }
}

void gather_wrapped(const column& c, const ir::type* t, std::size_t n, std::byte* to, std::size_t stride, bool assign) {
  if (t->trivial) return wrap_trivial(c, t, n, to, stride);
  if (t->element->k == ir::kind::string) return wrap_strings(c, n, to, stride, assign);
  std::size_t made = assign ? n : 0;
  try {
    for (; made < n; ++made) t->life.construct(to + made * stride, 1);
    for (std::size_t i = 0; i < n; ++i) {
      const std::byte* const value = value_at(c, i);
      if (!value) t->get.reset(to + i * stride);
      else if (t->element->trivial) std::memcpy(t->get.emplace(to + i * stride), value, t->element->size);
      else t->element->life.copy_assign(t->get.emplace(to + i * stride), value);
    }
  } catch (...) {
    for (std::size_t i = 0; !assign && i < made; ++i) t->life.destroy(to + i * stride, 1);
    throw;
  }
}

}  // namespace

void gather_column(const column& c, const ir::type* t, std::size_t n, void* raw, std::size_t stride, bool assign) {
  auto* to = static_cast<std::byte*>(raw);
  if (c.wraps) return gather_wrapped(c, t, n, to, stride, assign);
  if (t->trivial && c.optional) {
    switch (t->size) {
      case 1: return gather_optional<1>(c, n, to, stride);
      case 2: return gather_optional<2>(c, n, to, stride);
      case 4: return gather_optional<4>(c, n, to, stride);
      case 8: return gather_optional<8>(c, n, to, stride);
      default:
        for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * stride, value_at(c, i), t->size);
        return;
    }
  }
  if (t->trivial) {
    switch (t->size) {
      case 1: return gather_fixed<1>(c, n, to, stride);
      case 2: return gather_fixed<2>(c, n, to, stride);
      case 4: return gather_fixed<4>(c, n, to, stride);
      case 8: return gather_fixed<8>(c, n, to, stride);
      case 16: return gather_fixed<16>(c, n, to, stride);
      default:
        for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * stride, value_at(c, i), t->size);
        return;
    }
  }
  if (assign && t->k == ir::kind::string) {
    for (std::size_t i = 0; i < n; ++i)
      reinterpret_cast<std::string*>(to + i * stride)->assign(*reinterpret_cast<const std::string*>(value_at(c, i)));
    return;
  }
  if (assign) {
    for (std::size_t i = 0; i < n; ++i) t->life.copy_assign(to + i * stride, value_at(c, i));
    return;
  }
  std::size_t made = 0;
  try {
    for (; made < n; ++made) t->life.copy(to + made * stride, value_at(c, made), 1);
  } catch (...) {
    for (std::size_t i = 0; i < made; ++i) t->life.destroy(to + i * stride, 1);
    throw;
  }
}

void assemble_rows(const planner::column_schema& schema, const column_batch& b, void* rows, std::size_t row_size) {
  for (std::size_t c = 0; c < b.columns.size(); ++c)
    gather_column(b.columns[c], schema.columns[c].type, b.n, static_cast<std::byte*>(rows) + schema.columns[c].offset, row_size, true);
}

}  // namespace query::cpu
