#include "cpu_engine/function_calls.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include <query/cpu/segment_form.hpp>
#include <query/errors.hpp>

#include "cpu_engine/captured.hpp"
#include "cpu_engine/rows_buffer.hpp"

namespace query::cpu {

function_calls::function_calls(const detail::user_function& f, bool interpreted, bool)
    : function_calls(interpreted ? planner::interpret(f) : planner::interpretation{{}, {}, "not asked"}) {
  function_ = &f;
  row_size_ = f.row ? f.row->size : 0;
  numbered_ = planner::takes_row_number(f);
}
function_calls::function_calls(planner::interpretation i) {
  if (!i) return;
  expression_ = std::move(i.expression);
  captures_ = std::move(i.captures);
  program_ = std::make_shared<const interpreter::program>(expression_.root);
}
function_calls::function_calls(const ir::traced& p, const ir::type* row) : expression_(p), row_size_(row->size) {
  program_ = std::make_shared<const interpreter::program>(expression_.root);
}

void function_calls::filter(const interpreter::binding& rows, std::size_t n, bool* out, interpreter::scratch& s) const {
  const auto collections = captured_collections(captures_);
  program_->filter({&rows, 1}, {collections, {}}, n, out, s);
}
void function_calls::map(const interpreter::binding& rows, std::size_t n, void* out, interpreter::scratch& s) const {
  const auto collections = captured_collections(captures_);
  program_->run({&rows, 1}, {collections, {}}, n, out, s);
}

void function_calls::filter(const void* rows, std::uint64_t first, std::size_t n, bool* out, interpreter::scratch& s) const {
  if (numbered_) run_numbered(rows, first, n, out, s);
  else filter(rows, n, out, s);
}
void function_calls::map(const void* rows, std::uint64_t first, std::size_t n, void* out, interpreter::scratch& s) const {
  if (numbered_) run_numbered(rows, first, n, out, s);
  else map(rows, nullptr, n, out, s);
}
void function_calls::run_numbered(const void* rows, std::uint64_t first, std::size_t n, void* out, interpreter::scratch& s) const {
  std::vector<std::int64_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), static_cast<std::int64_t>(first));
  const interpreter::binding sides[2] = {{rows, row_size_, {}}, {numbers.data(), sizeof(std::int64_t), {}}};
  const auto collections = captured_collections(captures_);
  program_->run(sides, {collections, {}}, n, out, s);
}

void function_calls::filter(const void* rows, std::size_t n, bool* out, interpreter::scratch& s) const {
  if (program_) filter(interpreter::binding{rows, row_size_, {}}, n, out, s);
  else function_->native.filter(function_->f.get(), rows, n, out);
}

void function_calls::map(const void* rows, const std::uint32_t* select, std::size_t n, void* out, interpreter::scratch& s) const {
  if (!program_) {
    function_->native.map(function_->f.get(), rows, select, n, out);
    return;
  }
  interpreter::binding row;
  row.base = rows;
  row.stride = row_size_;
  row.select = select;
  map(row, n, out, s);
}

}  // namespace query::cpu
