// The result function of a join over pairs of rows, natively or by the interpreter.
//
//   pair_calls result(join, interpreted);
//   result.map(left, right, n, out, scratch);      // addresses of rows; null: the missing side of an outer join
#pragma once

#include <memory>
#include <optional>

#include <query/detail/plan.hpp>

#include "cpu_engine/interpreter.hpp"
#include "cpu_engine/rows_buffer.hpp"
#include "planner/interpretation.hpp"

namespace query::cpu {

class pair_calls {
 public:
  // left, right: the row types of the two sides. `interpreted`: by its expression, if it has one.
  pair_calls(const detail::user_function& f, const ir::type* left, const ir::type* right, bool interpreted, runtime::buffer_pool& pool);

  // Working memory of one thread.
  class scratch {
   private:
    friend class pair_calls;
    interpreter::scratch registers_;
    std::optional<rows_buffer> optionals_[2];
  };

  const ir::type* result() const { return function_->result; }
  bool is_interpreted() const { return program_ != nullptr; }
  // Constructs n results in raw memory.
  void map(const void* const* left, const void* const* right, std::size_t n, void* out, scratch& s) const;

 private:
  interpreter::binding side(int number, const void* const* rows, std::size_t n, scratch& s) const;

  const detail::user_function* function_;
  planner::pair_interpretation how_;
  std::shared_ptr<const interpreter::program> program_;
  runtime::buffer_pool* pool_;
};

}  // namespace query::cpu
