// Instructions that read rows, lists, optionals and collections.
#include <cstring>
#include <new>

#include <cpu_engine/interpreter/instructions.hpp>
#include <query/detail/failure.hpp>

namespace query::interpreter {

lanes_at resolve(const frame& f, std::uint32_t slot, std::uint64_t offset, std::size_t size) {
  const slot_at& s = f.slots[slot];
  if (!s.row) return {s.base + offset, s.stride};
  const binding& b = *s.row;
  if (b.pointers) return {nullptr, 0, nullptr, b.pointers + s.first, offset};
  const auto from = [&](const void* base, std::size_t stride, std::size_t at, const std::uint32_t* select) -> lanes_at {
    const auto* p = static_cast<const std::byte*>(base) + at;
    if (select) return {p, stride, select + s.first};
    return {p + s.first * stride, stride};
  };
  if (b.columns.empty()) return from(b.base, b.stride, offset, b.select);
  for (const column& c : b.columns)
    if (c.offset <= offset && offset + size <= c.offset + c.size) {
      lanes_at l = from(c.base, c.stride, offset - c.offset, c.select);
      l.optional = c.optional;
      l.wraps = c.wraps;
      l.otherwise = static_cast<const std::byte*>(c.otherwise);
      return l;
    }
  return {};
}

namespace {

lanes_at bound(const frame& f, std::uint32_t slot, std::uint64_t offset, std::size_t size) {
  const lanes_at l = resolve(f, slot, offset, size);
  if (!l && f.count() > 0)
    throw internal_error("interpreter: no column is bound for the field at offset " + std::to_string(offset));
  return l;
}

template <class T> void gather(T* __restrict to, const std::byte* from, std::size_t stride, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i, from + i * stride, sizeof(T));
}
template <class T> void fill(T* to, const std::byte* from, std::size_t n) {
  T v;
  std::memcpy(&v, from, sizeof(T));
  for (std::size_t i = 0; i < n; ++i) to[i] = v;
}
template <class T> void load(T* to, const lanes_at& l, std::size_t first, std::size_t n) {
  if (l.adjacent()) {
    if (l.stride == 0) fill(to, l.base, n);
    else gather(to, l.base + first * l.stride, l.stride, n);
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::byte* from = l[first + i];
    if (from) std::memcpy(to + i, from, sizeof(T));
    else to[i] = T{};
  }
}

template <class T> void follow(frame& f, const instruction& i) {
  T* to = f.column<T>(i.to);
  const std::byte* const* from = f.column<const std::byte*>(i.a);
  for (std::size_t l = f.first; l < f.last; ++l) {
    if (!f.live(l)) continue;
    if (from[l]) std::memcpy(to + l, from[l] + i.offset, sizeof(T));
    else to[l] = T{};
  }
}

std::string_view text_at(const std::byte* p) {
  if (!p) return {};
  return *std::launder(reinterpret_cast<const std::string*>(p));
}

std::size_t checked_position(std::int64_t i, std::size_t n, const char* what) {
  if (i < 0 || static_cast<std::uint64_t>(i) >= n)
    throw detail::unplaced_error(std::string(what) + std::to_string(i) + " of " + std::to_string(n));
  return static_cast<std::size_t>(i);
}

}  // namespace

namespace instructions {

void load_row(frame& f, const instruction& i) {
  const std::uint32_t width = f.code.registers[i.to].width;
  const lanes_at l = bound(f, i.index, i.offset, width);
  std::byte* own = f.memory + f.code.registers[i.to].at;
  // A packed and aligned column needs no copy: the register is the column.
  if (l.adjacent() && l.stride == width && reinterpret_cast<std::uintptr_t>(l.base) % width == 0) {
    f.registers[i.to] = const_cast<std::byte*>(l.base);  // never written: only this instruction has it as its target
    return;
  }
  f.registers[i.to] = own;
  std::byte* to = own + std::size_t{f.first} * width;
  switch (width) {
    case 1: return load(reinterpret_cast<std::uint8_t*>(to), l, f.first, f.count());
    case 2: return load(reinterpret_cast<std::uint16_t*>(to), l, f.first, f.count());
    case 4: return load(reinterpret_cast<std::uint32_t*>(to), l, f.first, f.count());
    default: return load(reinterpret_cast<std::uint64_t*>(to), l, f.first, f.count());
  }
}

void load_text_row(frame& f, const instruction& i) {
  const lanes_at l = bound(f, i.index, i.offset, sizeof(std::string));
  auto* to = f.column<std::string_view>(i.to);
  for (std::size_t k = f.first; k < f.last; ++k) to[k] = text_at(l[k]);
}

void address_row(frame& f, const instruction& i) {
  const lanes_at l = bound(f, i.index, i.offset, i.type->size);
  auto* to = f.column<const std::byte*>(i.to);
  for (std::size_t k = f.first; k < f.last; ++k) to[k] = l[k];
}

void load_pointer(frame& f, const instruction& i) {
  switch (f.code.registers[i.to].width) {
    case 1: return follow<std::uint8_t>(f, i);
    case 2: return follow<std::uint16_t>(f, i);
    case 4: return follow<std::uint32_t>(f, i);
    default: return follow<std::uint64_t>(f, i);
  }
}

void load_text_pointer(frame& f, const instruction& i) {
  auto* to = f.column<std::string_view>(i.to);
  const std::byte* const* from = f.column<const std::byte*>(i.a);
  for (std::size_t l = f.first; l < f.last; ++l)
    if (f.live(l)) to[l] = from[l] ? text_at(from[l] + i.offset) : std::string_view{};
}

void address_pointer(frame& f, const instruction& i) {
  auto* to = f.column<const std::byte*>(i.to);
  const std::byte* const* from = f.column<const std::byte*>(i.a);
  for (std::size_t l = f.first; l < f.last; ++l)
    if (f.live(l)) to[l] = from[l] ? from[l] + i.offset : nullptr;
}

void spill(frame& f, const instruction& i) {
  std::byte* kept = f.registers[i.b];
  store(f, f.code.values[i.index], kept + f.first * i.type->size, i.type->size);
  auto* to = f.column<const std::byte*>(i.to);
  for (std::size_t l = f.first; l < f.last; ++l) to[l] = kept + l * i.type->size;
}

void optional_value(frame& f, const instruction& i) {
  auto* to = f.column<const void*>(i.to);
  const void* const* from = f.column<const void*>(i.a);
  for (std::size_t l = f.first; l < f.last; ++l)
    if (f.live(l)) to[l] = from[l] ? i.type->get.value(from[l]) : nullptr;
}

void optional_row(frame& f, const instruction& i) {
  const lanes_at l = bound(f, i.index, i.offset, i.type->size);
  auto* to = f.column<const void*>(i.to);
  for (std::size_t k = f.first; k < f.last; ++k) {
    const std::byte* const at = l[k];
    to[k] = !at || l.wraps ? at : i.type->get.value(at);
  }
}

void is_set(frame& f, const instruction& i) {
  auto* to = f.column<std::uint8_t>(i.to);
  const void* const* from = f.column<const void*>(i.a);
  for (std::size_t l = f.first; l < f.last; ++l)
    if (f.live(l)) to[l] = from[l] != nullptr;
}

void list_size(frame& f, const instruction& i) {
  auto* to = f.column<std::uint64_t>(i.to);
  const void* const* from = f.column<const void*>(i.a);
  for (std::size_t l = f.first; l < f.last; ++l)
    if (f.live(l)) to[l] = from[l] ? i.type->get.size(from[l]) : 0;
}

void element_at(frame& f, const instruction& i) {
  auto* to = f.column<const std::byte*>(i.to);
  const std::byte* const* from = f.column<const std::byte*>(i.a);
  const auto* position = f.column<std::int64_t>(i.b);
  const bool list = i.type->k == ir::kind::list;
  for (std::size_t l = f.first; l < f.last; ++l) {
    if (!f.live(l)) continue;
    const std::size_t n = !list ? i.type->count : from[l] ? i.type->get.size(from[l]) : 0;
    const std::size_t at = checked_position(position[l], n, list ? "index outside the list: " : "index outside the array: ");
    const std::byte* data = list ? static_cast<const std::byte*>(i.type->get.data(from[l])) : from[l];
    to[l] = data + at * i.type->element->size;
  }
}

void collection_at(frame& f, const instruction& i) {
  const collection& c = f.collections[i.index];
  auto* to = f.column<const std::byte*>(i.to);
  const auto* position = f.column<std::int64_t>(i.b);
  for (std::size_t l = f.first; l < f.last; ++l)
    if (f.live(l))
      to[l] =
          static_cast<const std::byte*>(c.data) + checked_position(position[l], c.size, "index outside the collection: ") * i.type->size;
}

void collection_size(frame& f, const instruction& i) {
  auto* to = f.column<std::uint64_t>(i.to);
  const std::size_t n = f.collections[i.index].size;
  for (std::size_t l = f.first; l < f.last; ++l) to[l] = n;
}

}  // namespace instructions
}  // namespace query::interpreter
