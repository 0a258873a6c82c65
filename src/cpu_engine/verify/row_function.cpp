#include "cpu_engine/verify/row_function.hpp"

#include <algorithm>
#include <memory>

#include "cpu_engine/captured.hpp"
#include "cpu_engine/verify/difference.hpp"

namespace query::cpu::verify {

row_function::row_function(const detail::logical& n, const detail::user_function& f, std::vector<bool> read, runtime::buffer_pool& pool)
    : node_(&n), function_(&f), read_(std::move(read)), pool_(&pool), how_(planner::interpret(f)) {
  if (how_) program_.emplace(how_.expression.root);
}

rows_buffer row_function::map(const rows_buffer& rows, std::string_view side) {
  rows_buffer out(function_->result, *pool_), traced(function_->result, *pool_);
  if (program_) {
    const auto collections = captured_collections(how_.captures);
    for (std::size_t from = 0; from < rows.size(); from += 1024) {
      const std::size_t n = std::min<std::size_t>(1024, rows.size() - from);
      const interpreter::binding row{rows.at(from), rows.type()->size, {}};
      program_->run({&row, 1}, {collections, {}}, n, traced.extend(n), scratch_);
      traced.grow(n);
    }
  }
  function_->native.map(function_->f.get(), rows.data(), nullptr, rows.size(), out.extend(rows.size()));
  out.grow(rows.size());
  for (std::size_t i = 0; i < traced.size(); ++i)
    if (!same(function_->result, out.at(i), traced.at(i)))
      differ(*node_, *function_, shown_row(side, i, rows.type(), read_, rows.at(i)), function_->result, out.at(i), traced.at(i),
             how_.expression.root);
  return out;
}

void row_function::filter(const rows_buffer& rows, std::size_t first, std::size_t n, bool* native) {
  const auto traced = std::make_unique<bool[]>(n);
  if (program_) {
    const auto collections = captured_collections(how_.captures);
    const interpreter::binding row{rows.at(first), rows.type()->size, {}};
    program_->filter({&row, 1}, {collections, {}}, n, traced.get(), scratch_);
  }
  function_->native.filter(function_->f.get(), rows.at(first), n, native);
  if (!program_) return;
  for (std::size_t i = 0; i < n; ++i)
    if (native[i] != traced[i])
      differ(*node_, *function_, shown_row({}, first + i, rows.type(), read_, rows.at(first + i)), ir::describe<bool>(), &native[i],
             &traced[i], how_.expression.root);
}

std::vector<char> row_function::filter(const rows_buffer& rows) {
  const auto pass = std::make_unique<bool[]>(rows.size());
  filter(rows, 0, rows.size(), pass.get());
  return {pass.get(), pass.get() + rows.size()};
}

std::size_t row_function::filter_to_first_failure(const rows_buffer& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bool pass = false;
    filter(rows, i, 1, &pass);
    if (!pass) return i;
  }
  return rows.size();
}

bool takes(const detail::user_function& f, const ir::type* row) {
  return f.row == row && !f.native.map_pairs && (f.native.map || f.native.filter);
}

}  // namespace query::cpu::verify
