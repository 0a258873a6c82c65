// Owns the descriptions of types that came from another process, one object a type.
//
// Scalars, strings, and optionals and lists of those are the program's own descriptions. Records and arrays without such
// members are rebuilt from their layout: their values are bytes, `life` and `get` stay empty. Anything else must be found
// by the resolver: only the program that defines a type knows how to copy it.
//
//   type_registry types;
//   const type* t = deserialise_type(bytes, types);
#pragma once

#include <deque>
#include <string>
#include <vector>

#include <query/detail/function_ref.hpp>
#include <query/detail/type.hpp>

namespace query::ir {

// The program's own type of this name and size, or null.
using type_resolver = function_ref<const type*(std::string_view name, std::size_t size)>;

class type_registry {
 public:
  type_registry() = default;
  type_registry(const type_registry&) = delete;
  type_registry& operator=(const type_registry&) = delete;

  // The registered or built-in type that equals t, which may refer to registered types only. Throws std::runtime_error for
  // layouts that cannot be, and for types that only another program knows.
  const type* intern(const type& t, type_resolver resolve);

 private:
  std::deque<type> types_;
  std::deque<std::string> names_;
};

// Is all of a value known to the library? What it does not know may hold addresses.
bool is_described(const type& t);

// Same kind, size, alignment, name and parts?
bool same_layout(const type& a, const type& b);

}  // namespace query::ir
