#include "cpu_engine/packed_keys.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "cpu_engine/scalar_order.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t most_characters = 64;  // of a string that is packed
constexpr std::size_t word_bytes = sizeof(std::uint64_t);

const std::string& string_at(const key_part& p, std::size_t row) { return *reinterpret_cast<const std::string*>(p.at(row)); }

std::uint64_t number_at(const key_part& p, std::size_t row) {
  return with_type(p.type->k, [&](auto v) { return std::uint64_t{ordered(load<decltype(v)>(p.at(row)))}; });
}

// A string's length, then its characters up to a multiple of 8, or its address if there are many.
std::size_t packed_size(const std::string& s) {
  return word_bytes + (s.size() > most_characters ? word_bytes : (s.size() + word_bytes - 1) / word_bytes * word_bytes);
}

template <class T> std::byte* put(std::byte* to, const T& value) {
  static_assert(sizeof value == word_bytes);
  std::memcpy(to, &value, word_bytes);
  return to + word_bytes;
}

void enlarge(runtime::buffer& of, std::size_t used, std::size_t wanted, runtime::buffer_pool& pool) {
  if (wanted <= of.size()) return;
  runtime::buffer larger = pool.allocate(std::max<std::size_t>(wanted, 2 * of.size()));
  if (used) std::memcpy(larger.data(), of.data(), used);
  of = std::move(larger);
}

}  // namespace

packed_keys::packed_keys(const ir::type& key, key_equality custom, runtime::buffer_pool& pool, keep what)
    : custom_(custom), pool_(&pool), addresses_(what == keep::all) {
  if (custom_) leaves_ = {{&key, 0}};
  else leaves_ = leaves_of(key);
  const auto packed = [](const key_leaf& l) { return ir::is_arithmetic(l.type->k) || l.type->k == ir::kind::string; };
  packs_ = addresses_ || (!custom_ && leaves_.size() == 1 && std::all_of(leaves_.begin(), leaves_.end(), packed));
}

packed_keys::places packed_keys::places_of(key_view keys, std::size_t first) const {
  places at;
  if (!packs_) return at;
  at.reserve(leaves_.size());
  for (const key_leaf& l : leaves_) {
    at.push_back(part_at(keys, l.offset, first));
    at.back().type = l.type;
  }
  return at;
}

std::size_t packed_keys::bytes_of(const places& at, std::size_t row) const {
  std::size_t bytes = 0;
  for (const key_part& p : at) {
    if (p.type->k != ir::kind::string || custom_) {
      bytes += word_bytes;
      continue;
    }
    const std::string& s = string_at(p, row);
    if (!addresses_ && s.size() > most_characters) return 0;
    bytes += packed_size(s);
  }
  return bytes;
}

void packed_keys::skip() {
  if (!packs_) return;
  enlarge(begins_, size_ * word_bytes, (size_ + 1) * word_bytes, *pool_);
  begins_.as<std::uint64_t>()[size_++] = not_packed;
}

void packed_keys::add(const places& at, std::size_t row) {
  skip();
  const std::size_t bytes = packs_ ? bytes_of(at, row) : 0;
  if (!bytes) return;
  begins_.as<std::uint64_t>()[size_ - 1] = used_;
  enlarge(bytes_, used_, used_ + bytes, *pool_);
  std::byte* to = bytes_.as<std::byte>() + used_;
  used_ += bytes;
  for (const key_part& p : at) {
    if (!custom_ && ir::is_arithmetic(p.type->k)) {
      to = put(to, number_at(p, row));
    } else if (custom_ || p.type->k != ir::kind::string) {
      to = put(to, p.at(row));
    } else {
      const std::string& s = string_at(p, row);
      to = put(to, std::uint64_t{s.size()});
      if (s.size() > most_characters) {
        to = put(to, s.data());
      } else {
        std::memcpy(to, s.data(), s.size());
        to += packed_size(s) - word_bytes;
      }
    }
  }
}

bool packed_keys::equal(std::size_t number, const places& at, std::size_t row) const {
  const std::byte* from = bytes_.as<std::byte>() + begins_.as<std::uint64_t>()[number];
  for (const key_part& p : at) {
    const auto word = load<std::uint64_t>(from);
    from += word_bytes;
    if (!custom_ && ir::is_arithmetic(p.type->k)) {
      if (word != number_at(p, row)) return false;
    } else if (custom_ || p.type->k != ir::kind::string) {
      const auto* const other = load<const void*>(from - word_bytes);
      if (custom_) return custom_.same(*p.type, p.at(row), other);
      if (!equal_keys(*p.type, p.at(row), other)) return false;
    } else {
      const std::string& s = string_at(p, row);
      if (word != s.size()) return false;
      if (std::memcmp(s.data(), s.size() > most_characters ? load<const char*>(from) : reinterpret_cast<const char*>(from), s.size()) != 0)
        return false;
      from += packed_size(s) - word_bytes;
    }
  }
  return true;
}

void packed_keys::prefetch_characters(const places& at, std::size_t row) const {
  if (custom_) return;
  for (const key_part& p : at)
    if (p.type->k == ir::kind::string) __builtin_prefetch(string_at(p, row).data());
}

}  // namespace query::cpu
