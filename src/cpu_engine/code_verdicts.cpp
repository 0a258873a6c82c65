#include "cpu_engine/code_verdicts.hpp"

#include <algorithm>
#include <vector>

#include "cpu_engine/dictionary.hpp"

namespace query::cpu {

code_verdicts::code_verdicts(const ir::node* predicate, const planner::column_schema& rows) {
  std::vector<bool> read(rows.columns.size());
  planner::mark_read(predicate, rows, read);
  if (std::ranges::count(read, true) == 1) column_ = static_cast<std::size_t>(std::ranges::find(read, true) - read.begin());
}

// Those of the dictionary that comes first: a column has one in all batches.
std::atomic<code_verdicts::verdict>* code_verdicts::of(const dictionary* d) const {
  std::call_once(made_, [&] {
    all_ = std::make_unique<std::atomic<verdict>[]>(d->size());
    dictionary_ = d;
  });
  return dictionary_ == d ? all_.get() : nullptr;
}

std::optional<std::size_t> code_verdicts::find(const column_batch& b, test with, std::uint32_t* chosen) const {
  if (!column_) return std::nullopt;
  const column& c = b.columns[*column_];
  if (!c.coded || c.optional) return std::nullopt;
  std::atomic<verdict>* const all = of(c.coded);
  if (!all) return std::nullopt;
  const std::uint32_t* const codes = c.select;
  const auto choose = [&](bool& some_unknown) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < b.n; ++i) {
      const verdict known = all[codes[i]].load(std::memory_order_relaxed);
      chosen[n] = static_cast<std::uint32_t>(i);
      n += known == passes;
      some_unknown |= known == unknown;
    }
    return n;
  };
  bool some_unknown = false;
  const std::size_t n = choose(some_unknown);
  if (!some_unknown) return n;
  test_unknown(b, with, all);
  return choose(some_unknown);
}

// An entry that comes twice in a batch may be tested twice.
void code_verdicts::test_unknown(const column_batch& b, test with, std::atomic<verdict>* all) const {
  const std::uint32_t* const codes = b.columns[*column_].select;
  std::uint32_t untested[column_batch_rows];
  std::size_t n = 0;
  for (std::size_t i = 0; i < b.n; ++i)
    if (all[codes[i]].load(std::memory_order_relaxed) == unknown) untested[n++] = codes[i];
  std::vector<column> some(b.columns.begin(), b.columns.end());
  some[*column_].select = untested;
  bool passed[column_batch_rows];
  with(some, n, passed);
  for (std::size_t k = 0; k < n; ++k) all[untested[k]].store(passed[k] ? passes : fails, std::memory_order_relaxed);
}

}  // namespace query::cpu
