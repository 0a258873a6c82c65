#include "cpu_engine/function_calls.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <query/cpu/typed_segment.hpp>
#include <query/errors.hpp>

#include "cpu_engine/captured.hpp"
#include "cpu_engine/rows_buffer.hpp"

namespace query::cpu {

function_calls::function_calls(const detail::user_function& f, bool interpreted, bool) : function_(&f), row_size_(f.row ? f.row->size : 0) {
  if (!interpreted) return;
  expression_ = f.trace();
  if (expression_ && row_size_ && knows_captures(f, expression_.root)) program_ = std::make_shared<const interpreter::program>(expression_.root);
}
function_calls::function_calls(const ir::traced& p, const ir::type* row) : expression_(p), row_size_(row->size) {
  program_ = std::make_shared<const interpreter::program>(expression_.root);
}

void function_calls::filter(const void* rows, std::size_t n, bool* out, interpreter::scratch& s) const {
  if (!program_) {
    function_->native.filter(function_->f.get(), rows, n, out);
    return;
  }
  const interpreter::binding row{rows, row_size_, {}};
  const auto collections = captured_collections(function_);
  program_->filter({&row, 1}, {collections, {}}, n, out, s);
}

void function_calls::map(const void* rows, const std::uint32_t* select, std::size_t n, void* out, interpreter::scratch& s) const {
  if (!program_) {
    function_->native.map(function_->f.get(), rows, select, n, out);
    return;
  }
  const auto collections = captured_collections(function_);
  interpreter::binding row;
  row.base = rows;
  row.stride = row_size_;
  row.select = select;
  program_->run({&row, 1}, {collections, {}}, n, out, s);
}

void function_calls::map_pairs(const void* const* left, const void* const* right, std::size_t n, void* out) const {
  function_->native.map_pairs(function_->f.get(), left, right, n, out);
}

}  // namespace query::cpu
