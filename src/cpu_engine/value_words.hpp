// A number or a string that an expression gives for each row of one side of a join, as words that sort and compare as the values do.
//
//   value_words end(expression, 1, pool);
//   end.ranks(right_rows, n, words, there, scratch);     // word i <= word j where value i < value j
#pragma once

#include <cstddef>
#include <cstdint>

#include <query/cpu/segment_form.hpp>

#include "cpu_engine/interpreter.hpp"
#include "cpu_engine/rows_buffer.hpp"

namespace query::cpu {

class value_words {
 public:
  // side: the number of the expression's row, 0 or 1.
  value_words(const ir::node* value, std::size_t side, runtime::buffer_pool& pool);

  struct scratch {
    interpreter::scratch registers;
    alignas(8) std::byte values[batch_rows * sizeof(std::uint64_t)];
  };

  bool exact() const { return type_->k != ir::kind::string; }  // else words may be equal where values are not
  // Of n rows side by side, batch_rows at most. there[i] becomes false where the value is a NaN, which compares with nothing.
  void ranks(const void* rows, std::size_t stride, std::size_t n, std::uint64_t* words, bool* there, scratch& s) const;
  // Mixes hashes of the values into the words: equal values do the same to equal words.
  void mix_hashes(const void* rows, std::size_t stride, std::size_t n, std::uint64_t* words, bool* there, scratch& s) const;

 private:
  template <class F> void visit(const void* rows, std::size_t stride, std::size_t n, scratch& s, F f) const;

  const ir::type* type_;
  std::size_t side_;
  interpreter::program program_;
  runtime::buffer_pool* pool_;
};

}  // namespace query::cpu
