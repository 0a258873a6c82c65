// The user's own equality and hash of keys as the library calls them: by address, whatever the key's type.
//
//   n->keys = custom_keys<std::string>(same_text{}, text_hash{});
#pragma once

#include <utility>

#include <query/detail/plan.hpp>
#include <query/detail/stop.hpp>

namespace query::detail {

template <class K, class Equal, class Hash> key_calls custom_keys(Equal equal, Hash hash) {
  struct both {
    Equal equal;
    Hash hash;
  };
  key_calls c;
  c.context = keep(both{std::move(equal), std::move(hash)});
  c.equal = [](const void* x, const void* a, const void* b) -> bool {
    stop_point().check();
    return static_cast<const both*>(x)->equal(*static_cast<const K*>(a), *static_cast<const K*>(b));
  };
  c.hash = [](const void* x, const void* k) -> std::uint64_t {
    stop_point().check();
    return static_cast<const both*>(x)->hash(*static_cast<const K*>(k));
  };
  return c;
}

}  // namespace query::detail
