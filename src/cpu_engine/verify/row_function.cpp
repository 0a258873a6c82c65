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
  rows_buffer out(function_->result, *pool_);
  function_->native.map(function_->f.get(), rows.data(), nullptr, rows.size(), out.extend(rows.size()));
  out.grow(rows.size());
  if (!program_) return out;
  const auto collections = captured_collections(how_.captures);
  for (std::size_t from = 0; from < rows.size(); from += 1024) {
    const std::size_t n = std::min<std::size_t>(1024, rows.size() - from);
    rows_buffer traced(function_->result, *pool_);
    const interpreter::binding row{rows.at(from), rows.type()->size, {}};
    program_->run({&row, 1}, {collections, {}}, n, traced.extend(n), scratch_);
    traced.grow(n);
    for (std::size_t i = 0; i < n; ++i)
      if (!same(function_->result, out.at(from + i), traced.at(i)))
        differ(*node_, *function_, shown_row(side, from + i, rows.type(), read_, rows.at(from + i)), function_->result, out.at(from + i),
               traced.at(i), how_.expression.root);
  }
  return out;
}

void row_function::check_filter(const rows_buffer& rows, const bool* native, std::size_t first, std::size_t n) {
  if (!program_) return;
  const auto collections = captured_collections(how_.captures);
  const auto traced = std::make_unique<bool[]>(n);
  const interpreter::binding row{rows.at(first), rows.type()->size, {}};
  program_->filter({&row, 1}, {collections, {}}, n, traced.get(), scratch_);
  for (std::size_t i = 0; i < n; ++i)
    if (native[i] != traced[i])
      differ(*node_, *function_, shown_row({}, first + i, rows.type(), read_, rows.at(first + i)), ir::describe<bool>(), &native[i],
             &traced[i], how_.expression.root);
}

std::vector<char> row_function::filter(const rows_buffer& rows) {
  const auto pass = std::make_unique<bool[]>(rows.size());
  function_->native.filter(function_->f.get(), rows.data(), rows.size(), pass.get());
  check_filter(rows, pass.get(), 0, rows.size());
  return {pass.get(), pass.get() + rows.size()};
}

std::size_t row_function::filter_to_first_failure(const rows_buffer& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bool pass = false;
    function_->native.filter(function_->f.get(), rows.at(i), 1, &pass);
    check_filter(rows, &pass, i, 1);
    if (!pass) return i;
  }
  return rows.size();
}

bool takes(const detail::user_function& f, const ir::type* row) {
  return f.row == row && !f.native.map_pairs && (f.native.map || f.native.filter);
}

}  // namespace query::cpu::verify
