// One user function over batches, natively or by the interpreter: where the choice of planner/interpretation.hpp takes effect.
//
//   function_calls key(node.functions[0], vertex.interpreted, false);
//   key.map(rows, nullptr, n, out, scratch);
#pragma once

#include <cstdint>
#include <memory>

#include <query/detail/plan.hpp>

#include "cpu_engine/interpreter.hpp"
#include "planner/interpretation.hpp"

namespace query::cpu {

class function_calls {
 public:
  // interpreted: by its expression, if it has one. predicate: filter() is called, else map().
  function_calls(const detail::user_function& f, bool interpreted, bool predicate);
  explicit function_calls(planner::interpretation of);
  function_calls(const ir::traced& predicate, const ir::type* row);  // an expression over rows of `row` that never had native code

  bool is_interpreted() const { return program_ != nullptr; }
  const ir::type* interpreted_type() const { return program_->type(); }
  void filter(const void* rows, std::size_t n, bool* out, interpreter::scratch& s) const;
  // Rows 0..n-1, or those that `select` names; constructs results in raw memory.
  void map(const void* rows, const std::uint32_t* select, std::size_t n, void* out, interpreter::scratch& s) const;
  // The same of adjacent rows from number `first` on, which the function may take, too.
  void filter(const void* rows, std::uint64_t first, std::size_t n, bool* out, interpreter::scratch& s) const;
  void map(const void* rows, std::uint64_t first, std::size_t n, void* out, interpreter::scratch& s) const;
  // The same of an interpreted function over rows wherever they are, in columns for one.
  void filter(const interpreter::binding& rows, std::size_t n, bool* out, interpreter::scratch& s) const;
  void map(const interpreter::binding& rows, std::size_t n, void* out, interpreter::scratch& s) const;

 private:
  void run_numbered(const void* rows, std::uint64_t first, std::size_t n, void* out, interpreter::scratch& s) const;

  const detail::user_function* function_ = nullptr;
  ir::traced expression_;
  planner::captured captures_;
  std::shared_ptr<const interpreter::program> program_;
  std::size_t row_size_ = 0;
  bool numbered_ = false;  // takes the row's number
};

}  // namespace query::cpu
