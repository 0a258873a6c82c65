#include "cpu_engine/key_hash.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <query/detail/failure.hpp>

#include "cpu_engine/dictionary.hpp"
#include "cpu_engine/scalar_order.hpp"
#include "cpu_engine/short_text.hpp"

namespace query::cpu {
namespace {

constexpr std::size_t ahead = 16;  // strings that a loop fetches
constexpr std::uint64_t null_hash = 0x2545f4914f6cdd1du;

std::uint64_t combine(std::uint64_t hash, std::uint64_t part) { return hash_word(hash ^ part); }

std::uint64_t hash_text(const std::string& s) {
  const char* at = s.data();
  std::size_t n = s.size();
  std::uint64_t hash = hash_word(n), other = null_hash;
  if (n < 16) {
    const short_text characters(s);
    return combine(combine(hash, characters.first) + combine(other, characters.rest), 0);
  }
  for (; n >= 16; at += 16, n -= 16) {
    hash = combine(hash, load<std::uint64_t>(at));
    other = combine(other, load<std::uint64_t>(at + 8));
  }
  const std::uint64_t first = load_bytes(at, std::min<std::size_t>(n, 8)), rest = n > 8 ? load_bytes(at + 8, n - 8) : 0;
  return combine(combine(hash, first) + combine(other, rest), 0);
}

void find_leaves(const ir::type& t, std::size_t offset, std::vector<key_leaf>& out) {
  if (t.k == ir::kind::record) {
    for (const ir::field& f : t.fields()) find_leaves(*f.of, offset + f.offset, out);
  } else if (t.k == ir::kind::array) {
    for (std::size_t i = 0; i < t.count; ++i) find_leaves(*t.element, offset + i * t.element->size, out);
  } else {
    out.push_back({&t, offset});
  }
}

template <class F>
bool all_equal(std::size_t n, F&& equal) {
  for (std::size_t i = 0; i < n; ++i)
    if (!equal(i)) return false;
  return true;
}

}  // namespace

std::vector<key_leaf> leaves_of(const ir::type& key) {
  std::vector<key_leaf> leaves;
  find_leaves(key, 0, leaves);
  return leaves;
}

bool key_equality::same(const ir::type& key, const void* a, const void* b) const {
  return (sees_nulls || (!is_null(key, a) && !is_null(key, b))) && equal(context, a, b);
}

bool hashable(const ir::type& t) {
  switch (t.k) {
    case ir::kind::opaque: return false;
    case ir::kind::record:
      return std::all_of(t.fields().begin(), t.fields().end(), [](const ir::field& f) { return hashable(*f.of); });
    case ir::kind::array:
    case ir::kind::optional:
    case ir::kind::list: return hashable(*t.element);
    default: return true;
  }
}

std::uint64_t hash_key(const ir::type& t, const void* key) {
  const auto* at = static_cast<const std::byte*>(key);
  switch (t.k) {
    case ir::kind::string: return hash_text(*static_cast<const std::string*>(key));
    case ir::kind::optional: {
      const void* value = t.get.value(key);
      return value == nullptr ? null_hash : hash_key(*t.element, value);
    }
    case ir::kind::list: {
      const std::size_t n = t.get.size(key);
      const auto* elements = static_cast<const std::byte*>(t.get.data(key));
      std::uint64_t hash = hash_word(n);
      for (std::size_t i = 0; i < n; ++i) hash = combine(hash, hash_key(*t.element, elements + i * t.element->size));
      return hash;
    }
    case ir::kind::record:
    case ir::kind::array: {
      std::uint64_t hash = 0;
      hash_keys(t, at, 1, &hash);
      return hash;
    }
    default: return hash_word(with_type(t.k, [&](auto v) { return ordered(load<decltype(v)>(at)); }));
  }
}

void hash_keys(const ir::type& t, const void* keys, std::size_t n, std::uint64_t* out, key_equality custom) {
  const key_part whole = side_by_side(t, keys);
  hash_keys(t, {&whole, 1}, 0, n, out, custom);
}

void hash_keys(const ir::type& t, key_view keys, std::size_t first, std::size_t n, std::uint64_t* out, key_equality custom) {
  if (custom) {
    const key_part& whole = *whole_key(keys, t);
    const bool skip_nulls = !custom.sees_nulls && may_be_null(t);
    for (std::size_t i = 0; i < n; ++i) {
      const std::byte* key = whole.at(first + i);
      out[i] = skip_nulls && is_null(t, key) ? null_hash : hash_word(custom.hash(custom.context, key));
    }
    return;
  }
  if (!hashable(t)) throw detail::unplaced_error("the key type is not hashable: " + std::string(t.name));
  if (n == 0) return;  // and there may be no keys to point to
  const std::vector<key_leaf> leaves = leaves_of(t);
  const bool single = leaves.size() == 1;
  std::fill_n(out, n, std::uint64_t{0});
  for (const key_leaf& l : leaves) {
    const auto add = [&](std::size_t i, std::uint64_t hash) { out[i] = single ? hash : combine(out[i], hash); };
    const key_part part = part_at(keys, l.offset, first);
    if (part.coded && part.type == l.type) {
      const std::uint64_t* const hashes = part.coded->hashes();
      for (std::size_t i = 0; i < n; ++i) add(i, hashes[part.select[i]]);
      continue;
    }
    with_places(part, [&](const auto& at) {
      if (ir::is_arithmetic(l.type->k)) {
        with_type(l.type->k, [&](auto v) {
          for (std::size_t i = 0; i < n; ++i) add(i, hash_word(ordered(load<decltype(v)>(at(i)))));
        });
      } else if (l.type->k == ir::kind::string) {
        for (std::size_t i = 0; i < n; ++i) {
          // Rows by number lie anywhere, and so do their characters.
          if (i + 2 * ahead < n) __builtin_prefetch(at(i + 2 * ahead));
          if (i + ahead < n) __builtin_prefetch(reinterpret_cast<const std::string*>(at(i + ahead))->data());
          add(i, hash_text(*reinterpret_cast<const std::string*>(at(i))));
        }
      } else {
        for (std::size_t i = 0; i < n; ++i) add(i, hash_key(*l.type, at(i)));
      }
    });
  }
}

bool equal_keys(key_view a, std::size_t i, key_view b, std::size_t j) {
  if (a.size() != b.size()) {
    const std::byte* const whole = b[0].at(j);
    return std::all_of(a.begin(), a.end(), [&](const key_part& p) { return equal_keys(*p.type, p.at(i), whole + p.offset); });
  }
  return all_equal(a.size(), [&](std::size_t p) { return equal_keys(*a[p].type, a[p].at(i), b[p].at(j)); });
}

bool equal_keys(const ir::type& t, const void* a, const void* b) {
  const auto *x = static_cast<const std::byte*>(a), *y = static_cast<const std::byte*>(b);
  switch (t.k) {
    case ir::kind::string: return *static_cast<const std::string*>(a) == *static_cast<const std::string*>(b);
    case ir::kind::optional: {
      const void *v = t.get.value(a), *w = t.get.value(b);
      return v != nullptr && w != nullptr ? equal_keys(*t.element, v, w) : v == w;
    }
    case ir::kind::record:
      return std::all_of(t.fields().begin(), t.fields().end(),
                         [&](const ir::field& f) { return equal_keys(*f.of, x + f.offset, y + f.offset); });
    case ir::kind::array:
      return all_equal(t.count, [&](std::size_t i) { return equal_keys(*t.element, x + i * t.element->size, y + i * t.element->size); });
    case ir::kind::list: {
      const std::size_t n = t.get.size(a), step = t.element->size;
      const auto *v = static_cast<const std::byte*>(t.get.data(a)), *w = static_cast<const std::byte*>(t.get.data(b));
      return n == t.get.size(b) && all_equal(n, [&](std::size_t i) { return equal_keys(*t.element, v + i * step, w + i * step); });
    }
    case ir::kind::opaque: throw detail::unplaced_error("the key type is not hashable: " + std::string(t.name));
    default:
      return with_type(t.k, [&](auto v) { return ordered(load<decltype(v)>(a)) == ordered(load<decltype(v)>(b)); });
  }
}

bool may_be_null(const ir::type& t) {
  switch (t.k) {
    case ir::kind::optional: return true;
    case ir::kind::array: return may_be_null(*t.element);
    case ir::kind::record:
      return std::any_of(t.fields().begin(), t.fields().end(), [](const ir::field& f) { return may_be_null(*f.of); });
    default: return false;
  }
}

bool is_null(const ir::type& t, const void* key) {
  const auto* at = static_cast<const std::byte*>(key);
  switch (t.k) {
    case ir::kind::optional: {
      const void* value = t.get.value(key);
      return value == nullptr || is_null(*t.element, value);
    }
    case ir::kind::record:
      return std::any_of(t.fields().begin(), t.fields().end(), [&](const ir::field& f) { return is_null(*f.of, at + f.offset); });
    case ir::kind::array:
      for (std::size_t i = 0; i < t.count; ++i)
        if (is_null(*t.element, at + i * t.element->size)) return true;
      return false;
    default: return false;
  }
}

std::size_t find_nulls(const ir::type& t, const void* keys, std::size_t n, std::uint8_t* out) {
  if (!may_be_null(t)) {
    std::memset(out, 0, n);
    return 0;
  }
  std::size_t nulls = 0;
  for (std::size_t i = 0; i < n; ++i) nulls += out[i] = is_null(t, static_cast<const std::byte*>(keys) + i * t.size);
  return nulls;
}

}  // namespace query::cpu
