// Where keys lie: as values side by side, or each part of a composite key in a column of its own. Tables of keys read them there: the
// strings of a column become a key of a group without ever being copied, but for the first of each group.
//
//   std::vector<key_part> parts = {{describe<std::string>(), 0, names, sizeof(std::string)}, {describe<int>(), 32, rows, 48, chosen}};
//   groups.find_or_insert(key_view(parts), 0, n, ids);     // keys of tuple(std::string, int)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <query/detail/type.hpp>
#include <query/errors.hpp>

namespace query::cpu {

class dictionary;

struct key_part {
  const ir::type* type = nullptr;
  std::size_t offset = 0;  // of the part in the key's type
  const std::byte* base = nullptr;
  std::size_t stride = 0;
  const std::uint32_t* select = nullptr;  // if not null: value i is number select[i]
  bool stays = false;                     // where it lies, as long as the operator and its result need it
  const dictionary* coded = nullptr;      // if not null: its entries lie at base, and select has codes

  const std::byte* at(std::size_t i) const { return base + (select ? select[i] : i) * stride; }
};
// All parts of a key; whoever takes one knows how many rows it has.
using key_view = std::span<const key_part>;

inline key_part side_by_side(const ir::type& key, const void* keys) {
  return {.type = &key, .offset = 0, .base = static_cast<const std::byte*>(keys), .stride = key.size};
}
// The keys as values of their type, if they lie so; else null.
inline const key_part* whole_key(key_view keys, const ir::type& key) {
  return keys.size() == 1 && keys[0].type == &key ? keys.data() : nullptr;
}

// What lies at `offset` of each key, from key `first` on.
inline key_part part_at(key_view keys, std::size_t offset, std::size_t first) {
  for (const key_part& p : keys) {
    if (offset < p.offset || offset >= p.offset + p.type->size) continue;
    key_part found = p;
    found.base += offset - p.offset;
    if (found.select) found.select += first;
    else found.base += first * found.stride;
    return found;
  }
  throw internal_error("query: a part of a key is in no column");
}

// Calls visit(at) with a function that gives the place of value i.
template <class Visit> void with_places(const key_part& p, const Visit& visit) {
  const std::byte* const base = p.base;
  const std::size_t stride = p.stride;
  if (const std::uint32_t* const select = p.select) visit([=](std::size_t i) { return base + select[i] * stride; });
  else visit([=](std::size_t i) { return base + i * stride; });
}

}  // namespace query::cpu
