#include "cpu_engine/value_bytes.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include <query/detail/stop.hpp>

namespace query::cpu {

namespace {

// May values of the type be parts of another, whose constructor makes them?
bool can_be_part(const ir::type& t) {
  switch (t.k) {
    case ir::kind::string: return true;
    case ir::kind::record:
      return t.trivial || std::ranges::all_of(t.fields(), [](const ir::field& f) { return can_be_part(*f.of); });
    case ir::kind::array: return t.trivial || can_be_part(*t.element);
    case ir::kind::optional: return t.trivial || (t.get.emplace && can_be_part(*t.element));
    case ir::kind::list: return t.get.resize && can_be_part(*t.element);
    default: return t.trivial;
  }
}

std::byte* write_raw(const void* from, std::size_t bytes, std::byte* to) {
  if (bytes) std::memcpy(to, from, bytes);
  return to + bytes;
}
const std::byte* read_raw(void* to, std::size_t bytes, const std::byte* from) {
  if (bytes) std::memcpy(to, from, bytes);
  return from + bytes;
}

constexpr std::size_t elements_a_look = 1024;  // a list may hold all rows of a query

// Calls f(part's type, part) for the parts of a record, or for n elements.
template <class At, class F> void each_part(const ir::type& t, At* at, std::size_t n, const F& f) {
  if (t.k == ir::kind::record) {
    for (const ir::field& x : t.fields()) f(*x.of, at + x.offset);
  } else {
    detail::in_runs<elements_a_look>(0, n, [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i) f(*t.element, at + i * t.element->size);
    });
  }
}

}  // namespace

bool has_bytes(const ir::type& t) { return t.life.construct && t.life.destroy && can_be_part(t); }

std::size_t bytes_of(const ir::type& t, const void* value) {
  if (t.trivial) return t.size;
  const auto* const at = static_cast<const std::byte*>(value);
  std::size_t bytes = 0;
  const auto add = [&](const ir::type& part, const std::byte* x) { bytes += bytes_of(part, x); };
  switch (t.k) {
    case ir::kind::string: return sizeof(std::uint64_t) + static_cast<const std::string*>(value)->size();
    case ir::kind::optional: {
      const void* const inner = t.get.value(value);
      return 1 + (inner ? bytes_of(*t.element, inner) : 0);
    }
    case ir::kind::list: {
      const std::size_t n = t.get.size(value);
      if (t.element->trivial) return sizeof(std::uint64_t) + n * t.element->size;
      each_part(t, static_cast<const std::byte*>(t.get.data(value)), n, add);
      return sizeof(std::uint64_t) + bytes;
    }
    default: each_part(t, at, t.count, add); return bytes;
  }
}

std::byte* write_bytes(const ir::type& t, const void* value, std::byte* to) {
  if (t.trivial) return write_raw(value, t.size, to);
  const auto* const at = static_cast<const std::byte*>(value);
  const auto write = [&](const ir::type& part, const std::byte* x) { to = write_bytes(part, x, to); };
  switch (t.k) {
    case ir::kind::string: {
      const auto& s = *static_cast<const std::string*>(value);
      const std::uint64_t n = s.size();
      return write_raw(s.data(), s.size(), write_raw(&n, sizeof n, to));
    }
    case ir::kind::optional: {
      const void* const inner = t.get.value(value);
      *to++ = std::byte{inner != nullptr};
      return inner ? write_bytes(*t.element, inner, to) : to;
    }
    case ir::kind::list: {
      const std::uint64_t n = t.get.size(value);
      to = write_raw(&n, sizeof n, to);
      if (t.element->trivial) return write_raw(t.get.data(value), n * t.element->size, to);
      each_part(t, static_cast<const std::byte*>(t.get.data(value)), n, write);
      return to;
    }
    default: each_part(t, at, t.count, write); return to;
  }
}

const std::byte* read_bytes(const ir::type& t, void* value, const std::byte* from) {
  if (t.trivial) return read_raw(value, t.size, from);
  const auto read = [&](const ir::type& part, std::byte* x) { from = read_bytes(part, x, from); };
  switch (t.k) {
    case ir::kind::string: {
      std::uint64_t n = 0;
      from = read_raw(&n, sizeof n, from);
      static_cast<std::string*>(value)->assign(reinterpret_cast<const char*>(from), n);
      return from + n;
    }
    case ir::kind::optional:
      if (*from++ == std::byte{0}) {
        t.get.reset(value);  // a member's initialiser may have given it a value
        return from;
      }
      return read_bytes(*t.element, t.get.emplace(value), from);
    case ir::kind::list: {
      std::uint64_t n = 0;
      from = read_raw(&n, sizeof n, from);
      void* const first = t.get.resize(value, n);
      if (t.element->trivial) return read_raw(first, n * t.element->size, from);
      each_part(t, static_cast<std::byte*>(first), n, read);
      return from;
    }
    default: each_part(t, static_cast<std::byte*>(value), t.count, read); return from;
  }
}

const std::byte* end_of_bytes(const ir::type& t, const std::byte* from, const std::byte* end) {
  const auto skip = [&](std::size_t n) { return n <= static_cast<std::size_t>(end - from) ? from + n : nullptr; };
  if (t.trivial) return skip(t.size);
  std::size_t parts = t.count;
  switch (t.k) {
    case ir::kind::optional:
      if (from == end) return nullptr;
      return *from++ == std::byte{0} ? from : end_of_bytes(*t.element, from, end);
    case ir::kind::string:
    case ir::kind::list: {
      std::uint64_t n = 0;
      if (!skip(sizeof n)) return nullptr;
      from = read_raw(&n, sizeof n, from);
      // No more elements than bytes: a list of them takes memory before they are read.
      if (n > static_cast<std::size_t>(end - from)) return nullptr;
      if (t.k == ir::kind::string) return from + n;
      if (t.element->trivial) return n > static_cast<std::size_t>(end - from) / t.element->size ? nullptr : from + n * t.element->size;
      parts = n;
      break;
    }
    case ir::kind::record:
      for (const ir::field& f : t.fields())
        if (!(from = end_of_bytes(*f.of, from, end))) return nullptr;
      return from;
    default: break;
  }
  for (std::size_t i = 0; i < parts; ++i)
    if (!(from = end_of_bytes(*t.element, from, end))) return nullptr;
  return from;
}

bool owns_heap(const ir::type& t) {
  if (t.trivial) return false;
  switch (t.k) {
    case ir::kind::string: return true;
    case ir::kind::list: return t.get.size != nullptr;
    case ir::kind::record: return std::ranges::any_of(t.fields(), [](const ir::field& f) { return owns_heap(*f.of); });
    case ir::kind::array:
    case ir::kind::optional: return owns_heap(*t.element);
    default: return false;
  }
}

namespace {
// A block of the heap: glibc's has a word before it, is a multiple of 16 long, and at least 32.
std::size_t block_bytes(std::size_t bytes) {
  constexpr std::size_t step = 16, word = sizeof(void*), least = 32;
  return std::max(least, (bytes + word + step - 1) / step * step);
}
}  // namespace

std::size_t heap_bytes(const ir::type& t, const void* first, std::size_t n, std::size_t stride) {
  if (t.trivial || n == 0) return 0;
  const auto* at = static_cast<const std::byte*>(first);
  std::size_t bytes = 0;
  switch (t.k) {
    case ir::kind::string: {
      static const std::size_t inside = std::string().capacity();  // of short strings
      for (std::size_t i = 0; i < n; ++i, at += stride) {
        const std::size_t capacity = reinterpret_cast<const std::string*>(at)->capacity();
        if (capacity > inside) bytes += block_bytes(capacity + 1);
      }
      return bytes;
    }
    case ir::kind::record:
      for (const ir::field& f : t.fields()) bytes += heap_bytes(*f.of, at + f.offset, n, stride);
      return bytes;
    case ir::kind::array:
      for (std::size_t i = 0; i < t.count; ++i) bytes += heap_bytes(*t.element, at + i * t.element->size, n, stride);
      return bytes;
    case ir::kind::optional:
      if (!owns_heap(*t.element)) return 0;
      for (std::size_t i = 0; i < n; ++i, at += stride)
        if (const void* const value = t.get.value(at)) bytes += heap_bytes(*t.element, value, 1);
      return bytes;
    case ir::kind::list:
      if (!t.get.size) return 0;
      for (std::size_t i = 0; i < n; ++i, at += stride) {
        const std::size_t elements = t.get.size(at);
        if (!elements) continue;
        bytes += block_bytes(elements * t.element->size);
        if (t.element->trivial) continue;
        const auto* const values = static_cast<const std::byte*>(t.get.data(at));
        detail::in_runs<elements_a_look>(0, elements, [&](std::size_t from, std::size_t end) {
          bytes += heap_bytes(*t.element, values + from * t.element->size, end - from);
        });
      }
      return bytes;
    default: return 0;
  }
}

}  // namespace query::cpu
