// The keys of all rows of a table: computed in parallel, or read where they lie if the function gives a part of its row.
//
//   key_column keys(node.functions[0], v.interpreted, rows, tasks, key_column::layout::any);
//   sort_key k{.type = keys.type(), .base = keys.base(), .stride = keys.stride()};
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/order_keys.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

class key_column {
 public:
  enum class layout { any, adjacent };  // adjacent: stride() is the key's size

  // The table's rows must outlive the column.
  key_column(const detail::user_function& f, bool interpreted, const detail::table& rows, const vertex_tasks& tasks, layout wanted);

  const ir::type* type() const { return type_; }
  const void* base() const { return base_; }
  std::size_t stride() const { return stride_; }
  std::size_t size() const { return n_; }
  bool computed() const { return computed_.has_value(); }  // else the keys lie in the table's rows
  const void* at(std::size_t i) const { return static_cast<const std::byte*>(base_) + i * stride_; }

 private:
  const ir::type* type_;
  const void* base_ = nullptr;
  std::size_t stride_ = 0, n_ = 0;
  std::optional<rows_buffer> computed_;
};

// Where in its row the value lies that the function gives; nothing if it computes one.
std::optional<std::size_t> part_of_row(const detail::user_function& f);

// The user's own comparisons as the engine's tables and sorts take them; the calls must outlive what is made of them.
inline key_equality equality_of(const detail::key_calls& k) { return {.equal = k.equal, .hash = k.hash, .context = k.context.get()}; }
inline key_order order_of(const detail::order_calls& calls) {
  if (!calls.less) return {};
  const auto compare = [](const void* context, const void* a, const void* b) {
    const auto& own = *static_cast<const detail::order_calls*>(context);
    if (own.less(own.context.get(), a, b)) return -1;
    return own.less(own.context.get(), b, a) ? 1 : 0;
  };
  return {compare, &calls};
}

}  // namespace query::cpu
