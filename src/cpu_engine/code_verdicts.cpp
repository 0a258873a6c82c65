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

bool code_verdicts::find(const column_batch& b, test with, bool* pass) const {
  if (!column_) return false;
  const column& c = b.columns[*column_];
  if (!c.coded || c.optional) return false;
  std::atomic<verdict>* const all = of(c.coded);
  if (!all) return false;
  std::uint32_t untested[column_batch_rows];
  std::size_t n = 0;
  for (std::size_t i = 0; i < b.n; ++i) {
    const std::uint32_t code = c.select[i];
    const verdict known = all[code].load(std::memory_order_relaxed);
    pass[i] = known == passes;
    untested[n] = code;
    n += known == unknown;
  }
  if (!n) return true;
  std::sort(untested, untested + n);
  n = static_cast<std::size_t>(std::unique(untested, untested + n) - untested);
  std::vector<column> some(b.columns.begin(), b.columns.end());
  some[*column_].select = untested;
  bool tested[column_batch_rows];
  with(some, n, tested);
  for (std::size_t k = 0; k < n; ++k) all[untested[k]].store(tested[k] ? passes : fails, std::memory_order_relaxed);
  for (std::size_t i = 0; i < b.n; ++i) pass[i] = all[c.select[i]].load(std::memory_order_relaxed) == passes;
  return true;
}

}  // namespace query::cpu
