// Device functions of the user's (query::accelerated) by number: a call of one in an expression names it by its number.
//
//   if (const auto d = ir::device_function_of(node)) link(function_of(*d));
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <query/accelerated.hpp>

namespace query::detail {

// Known by its number as long as it lives, which is as long as a query holds it or an arena has a call of it.
struct held_device_function {
  held_device_function(device_function f, call_site at);
  ~held_device_function();
  held_device_function(const held_device_function&) = delete;
  held_device_function& operator=(const held_device_function&) = delete;

  const device_function function;
  const call_site where;      // of accelerated(...)
  const std::size_t content;  // a hash of the two; equal ones are compared in full
  const std::uint64_t id;     // from 1 on, never used again
};

std::string_view name_of(device_form f);  // "CUDA", "PTX", "LTO-IR", "cubin"

}  // namespace query::detail

namespace query::ir {

// The function that a node calls; null for all other nodes. Throws internal_error if it is gone.
std::shared_ptr<const detail::held_device_function> device_function_of(const node* n);
// The same; null if it is gone, too.
std::shared_ptr<const detail::held_device_function> living_device_function(const node& n);
bool calls_device_function(const node* root);

// Where the layouts that the device function was compiled for differ from the host's; "" if they do not.
std::string layout_difference(const detail::held_device_function& d, const node* call);

}  // namespace query::ir
