#include "cpu_engine/order_keys.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>

#include "cpu_engine/scalar_order.hpp"

namespace query::cpu {
namespace {

constexpr std::size_t block_rows = 1024;  // words of one block stay in the first-level cache from step to step

template <class T>
int compare_scalars(const void* a, const void* b) {
  const std::uint64_t x = ordered(load<T>(a)), y = ordered(load<T>(b));
  return x < y ? -1 : x > y ? 1 : 0;
}

// Nulls have their place whatever the user's order; it is asked about values only.
int compare_custom(const sort_key& k, const void* a, const void* b) {
  if (k.type->k == ir::kind::optional) {
    const bool no_a = k.type->get.value(a) == nullptr, no_b = k.type->get.value(b) == nullptr;
    if (no_a || no_b) return no_a == no_b ? 0 : no_a == k.nulls_first ? -1 : 1;
  }
  const int c = k.custom.compare(k.custom.context, a, b);
  return !k.descending ? c : c < 0 ? 1 : c > 0 ? -1 : 0;
}

}  // namespace

bool orderable(const ir::type& t) {
  switch (t.k) {
    case ir::kind::opaque: return false;
    case ir::kind::record:
      return std::all_of(t.fields().begin(), t.fields().end(), [](const ir::field& f) { return orderable(*f.of); });
    case ir::kind::array:
    case ir::kind::optional:
    case ir::kind::list: return orderable(*t.element);
    default: return true;
  }
}

int compare_values(const ir::type& t, const void* a, const void* b, bool descending, bool nulls_first) {
  const auto directed = [&](int order) { return descending ? -order : order; };
  const auto sequence = [&](const std::byte* x, std::size_t m, const std::byte* y, std::size_t n) {
    const std::size_t step = t.element->size;
    for (std::size_t i = 0; i < std::min(m, n); ++i)
      if (const int c = compare_values(*t.element, x + i * step, y + i * step, descending, nulls_first)) return c;
    return directed(m < n ? -1 : m > n ? 1 : 0);
  };
  const auto *x = static_cast<const std::byte*>(a), *y = static_cast<const std::byte*>(b);
  switch (t.k) {
    case ir::kind::string: {
      const int c = static_cast<const std::string*>(a)->compare(*static_cast<const std::string*>(b));
      return directed(c < 0 ? -1 : c > 0 ? 1 : 0);
    }
    case ir::kind::optional: {
      const void *v = t.get.value(a), *w = t.get.value(b);
      if (v != nullptr && w != nullptr) return compare_values(*t.element, v, w, descending, nulls_first);
      if (v == w) return 0;
      return (v == nullptr) == nulls_first ? -1 : 1;
    }
    case ir::kind::record:
      for (const ir::field& f : t.fields())
        if (const int c = compare_values(*f.of, x + f.offset, y + f.offset, descending, nulls_first)) return c;
      return 0;
    case ir::kind::array: return sequence(x, t.count, y, t.count);
    case ir::kind::list:
      return sequence(static_cast<const std::byte*>(t.get.data(a)), t.get.size(a), static_cast<const std::byte*>(t.get.data(b)),
                      t.get.size(b));
    case ir::kind::opaque: throw detail::unplaced_error("the key type has no order: " + std::string(t.name));
    default:
      return directed(with_type(t.k, [&](auto v) { return compare_scalars<decltype(v)>(a, b); }));
  }
}

int compare_rows(std::span<const sort_key> keys, std::size_t a, std::size_t b) { return compare_rows(keys, a, keys, b); }

int compare_rows(std::span<const sort_key> keys, std::size_t a, std::span<const sort_key> others, std::size_t b) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const sort_key& k = keys[i];
    const void *x = k.at(a), *y = others[i].at(b);
    const int c = k.custom.compare ? compare_custom(k, x, y) : compare_values(*k.type, x, y, k.descending, k.nulls_first);
    if (c != 0) return c;
  }
  return 0;
}

key_encoder::key_encoder(std::span<const sort_key> keys, std::size_t rows) {
  for (const sort_key& k : keys)
    if (k.custom.compare == nullptr && !orderable(*k.type))
      throw detail::unplaced_error("the key type has no order: " + std::string(k.type->name));
  for (const sort_key& k : keys) {
    if (k.custom.compare != nullptr) exact_ = false;
    else add(*k.type, static_cast<const std::byte*>(k.base), k, rows);
    if (!exact_) {
      if (k.custom.compare == nullptr && k.type->k == ir::kind::string) cut_string_ = static_cast<std::size_t>(&k - keys.data());
      string_ends_ = string_ends_ && &k == &keys.back() && k.type->k == ir::kind::string;
      return;
    }
  }
}

// Appends what fits; false, and exact_ = false, where the words end early.
bool key_encoder::add(const ir::type& t, const std::byte* base, const sort_key& key, std::size_t rows) {
  const auto part = [&](std::size_t offset) { return base ? base + offset : base; };  // null of no rows
  if (t.k == ir::kind::record) {
    for (const ir::field& f : t.fields())
      if (!add(*f.of, part(f.offset), key, rows)) return false;
    return true;
  }
  if (t.k == ir::kind::array) {
    for (std::size_t i = 0; i < t.count; ++i)
      if (!add(*t.element, part(i * t.element->size), key, rows)) return false;
    return true;
  }
  if (const std::optional<unsigned> bits = fixed_bits(t)) return push(t, base, key, *bits);
  if (t.k == ir::kind::string) {
    // Long strings are worth 128-bit words if these decide most ties.
    std::size_t looked = 0, over_7 = 0;
    for (std::size_t i = 0; i < rows; i += std::max<std::size_t>(1, rows / 256), ++looked)
      over_7 += reinterpret_cast<const std::string*>(base + i * key.stride)->size() > 7;
    const bool wide = bits_ == 0 && over_7 * 8 > looked;
    string_characters_ = wide ? 15 : 7;
    string_descending_ = key.descending;
    string_ends_ = push(t, base, key, wide ? 128 : 64);
  } else if (t.k == ir::kind::optional && t.element->k == ir::kind::string) {
    push(t, base, key, 65);
  }
  exact_ = false;
  return false;
}

bool key_encoder::push(const ir::type& t, const std::byte* base, const sort_key& key, unsigned bits) {
  if (bits_ + bits > max_bits) return exact_ = false;
  steps_.push_back({&t, base, key.stride, bits, key.descending, key.nulls_first});
  bits_ += bits;
  return true;
}

template <bool First, class Word>
void key_encoder::append(const step& s, std::size_t row, std::size_t n, Word* words) const {
  const std::byte* at = s.base + row * s.stride;
  if (ir::is_arithmetic(s.type->k)) {
    const std::uint64_t flip = s.descending ? static_cast<std::uint64_t>(low_mask(s.bits)) : 0;
    with_type(s.type->k, [&](auto v) {
      for (std::size_t i = 0; i < n; ++i) put<First>(words[i], ordered(load<decltype(v)>(at + i * s.stride)) ^ flip, s.bits);
    });
  } else {
    for (std::size_t i = 0; i < n; ++i)
      put<First>(words[i], pack(*s.type, at + i * s.stride, s.bits, s.descending, s.nulls_first), s.bits);
  }
}

template <class Word>
void key_encoder::encode_blocks(std::size_t first, std::size_t n, Word* out) const {
  if (steps_.empty()) std::fill_n(out, n, Word{});
  const detail::stop_point stop;
  for (std::size_t done = 0; done < n; done += block_rows) {
    stop.check();
    const std::size_t m = std::min(block_rows, n - done);
    for (const step& s : steps_) {
      if (&s == steps_.data()) append<true>(s, first + done, m, out + done);
      else append<false>(s, first + done, m, out + done);
    }
  }
}

void key_encoder::encode(std::size_t first, std::size_t n, std::uint64_t* out) const { encode_blocks(first, n, out); }
void key_encoder::encode(std::size_t first, std::size_t n, wide_word* out) const { encode_blocks(first, n, out); }

}  // namespace query::cpu
