// One user function over batches, natively or by the interpreter: the single place where that choice takes effect.
//
//   function_calls key(node.functions[0], vertex.interpreted, false);
//   key.map(rows, nullptr, n, out, scratch);
#pragma once

#include <memory>

#include <query/detail/plan.hpp>

#include "cpu_engine/interpreter.hpp"

namespace query::cpu {

class function_calls {
 public:
  // interpreted: use the traced expression if there is one. predicate: filter() is called, else map().
  function_calls(const detail::user_function& f, bool interpreted, bool predicate);
  function_calls(const ir::traced& predicate, const ir::type* row);  // an expression over rows of `row` that never had native code

  bool is_interpreted() const { return program_ != nullptr; }
  void filter(const void* rows, std::size_t n, bool* out, interpreter::scratch& s) const;
  // Rows 0..n-1, or those that `select` names; constructs results in raw memory.
  void map(const void* rows, const std::uint32_t* select, std::size_t n, void* out, interpreter::scratch& s) const;
  // Pairs of rows by address; a null address is the missing side of an outer join.
  void map_pairs(const void* const* left, const void* const* right, std::size_t n, void* out) const;

 private:
  const detail::user_function* function_ = nullptr;
  ir::traced expression_;
  std::shared_ptr<const interpreter::program> program_;
  std::size_t row_size_ = 0;
};

}  // namespace query::cpu
