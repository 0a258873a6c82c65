// Whether rows pass a test that reads nothing but one column: where this comes as codes, the test runs once for each entry that a row
// names.
//
//   code_verdicts verdicts(predicate, schema);
//   if (const auto n = verdicts.find(batch, test, chosen)) use(chosen, *n);
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
  // Writes the numbers of the rows that pass; returns how many. Null: the rows are to be tested one by one. Several threads at once.
  std::optional<std::size_t> find(const column_batch& b, test with, std::uint32_t* chosen) const;

 private:
  // Two bits for each code, so that the cache holds them: does it pass, and is that known?
  using bits = std::atomic<std::uint64_t>;
  static constexpr std::uint64_t passes = 1, known = 2;
  static constexpr std::uint32_t codes_a_word = 32;

  bits* of(const dictionary* d) const;
  void test_unknown(const column_batch& b, test with, bits* all) const;

  std::optional<std::size_t> column_;  // the one that is read
  mutable std::once_flag made_;
  mutable const dictionary* dictionary_ = nullptr;
  mutable std::unique_ptr<bits[]> all_;
};

}  // namespace query::cpu
