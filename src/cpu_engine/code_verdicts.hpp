// Whether rows pass a test that reads nothing but one column: where this comes as codes, the test runs once for each entry that a row
// names.
//
//   code_verdicts verdicts(predicate, schema);
//   if (!verdicts.find(batch, test, pass)) test(batch.columns, batch.n, pass);
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include <query/detail/function_ref.hpp>

#include "cpu_engine/column_batch.hpp"

namespace query::cpu {

class code_verdicts {
 public:
  // Tests n rows, of which only the column is read.
  using test = function_ref<void(std::span<const column> columns, std::size_t n, bool* pass)>;

  code_verdicts(const ir::node* predicate, const planner::column_schema& rows);
  // False: the rows are to be tested one by one. Several threads at once.
  bool find(const column_batch& b, test with, bool* pass) const;

 private:
  enum verdict : std::uint8_t { unknown, fails, passes };
  std::atomic<verdict>* of(const dictionary* d) const;

  std::optional<std::size_t> column_;  // the one that is read
  mutable std::once_flag made_;
  mutable const dictionary* dictionary_ = nullptr;
  mutable std::unique_ptr<std::atomic<verdict>[]> all_;  // by code
};

}  // namespace query::cpu
