// Integers of a range, by their place in it: the key less the lowest one, in 64 bits, which wrap, whatever the sign. Outside of the range
// places are larger; they still put all integers of a type in an order.
//
//   key_range range{static_cast<std::uint64_t>(low), n};
//   if (range.place(key) < range.size) ...
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "cpu_engine/key_view.hpp"
#include "cpu_engine/scalar_order.hpp"

namespace query::cpu {

// Calls f(Key{}) with the C++ type of an integer kind.
template <class F> decltype(auto) with_integer(ir::kind k, F&& f) {
  return with_type(k, [&]<class Key>(Key key) -> decltype(f(std::int64_t{})) {
    if constexpr (std::is_integral_v<Key> && !std::is_same_v<Key, bool>) return f(key);
    else throw internal_error("query: a key that is not an integer has no place in a range");
  });
}

struct key_range {
  std::uint64_t low = 0, size = 0;

  template <class Key> std::uint64_t place(Key key) const { return static_cast<std::uint64_t>(key) - low; }
  // Writes the keys of n places, of a type.
  void write_keys(const ir::type& key, const std::uint32_t* places, std::size_t n, void* to) const {
    with_integer(key.k, [&]<class Key>(Key) {
      auto* at = static_cast<std::byte*>(to);
      for (std::size_t i = 0; i < n; ++i, at += sizeof(Key)) {
        const Key k = static_cast<Key>(low + places[i]);
        std::memcpy(at, &k, sizeof k);
      }
    });
  }
  // Writes the places of n keys; returns the largest. Places of 2^32 or more lose their upper half.
  std::uint64_t places(const key_part& keys, std::size_t n, std::uint32_t* to) const {
    return with_integer(keys.type->k, [&]<class Key>(Key) {
      std::uint64_t most = 0;
      with_places(keys, [&](const auto& at) {
        for (std::size_t i = 0; i < n; ++i) {
          const std::uint64_t p = place(load<Key>(at(i)));
          to[i] = static_cast<std::uint32_t>(p);
          most = std::max(most, p);
        }
      });
      return most;
    });
  }
  std::uint64_t place_at(const key_part& keys, std::size_t i) const {
    return with_integer(keys.type->k, [&]<class Key>(Key) { return place(load<Key>(keys.at(i))); });
  }
};

// The lowest and the highest of the integers that it sees.
class key_bounds {
 public:
  void add(const key_part& keys, std::size_t n) {
    with_integer(keys.type->k, [&]<class Key>(Key) {
      with_places(keys, [&](const auto& at) {
        Key low = load<Key>(at(0)), high = low;
        for (std::size_t i = 1; i < n; ++i) {
          const Key k = load<Key>(at(i));
          low = std::min(low, k);
          high = std::max(high, k);
        }
        if (any_) {
          low = std::min(low, static_cast<Key>(low_));
          high = std::max(high, static_cast<Key>(high_));
        }
        low_ = static_cast<std::uint64_t>(low);
        high_ = static_cast<std::uint64_t>(high);
        any_ = true;
      });
    });
  }
  // Nothing if it has seen no key. width: the highest less the lowest.
  bool any() const { return any_; }
  std::uint64_t low() const { return low_; }
  std::uint64_t width() const { return high_ - low_; }

 private:
  bool any_ = false;
  std::uint64_t low_ = 0, high_ = 0;
};

}  // namespace query::cpu
