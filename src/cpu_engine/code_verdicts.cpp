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
code_verdicts::bits* code_verdicts::of(const dictionary* d) const {
  std::call_once(made_, [&] {
    all_ = std::make_unique<bits[]>(d->size() / codes_a_word + 1);
    dictionary_ = d;
  });
  return dictionary_ == d ? all_.get() : nullptr;
}

std::optional<std::size_t> code_verdicts::find(const column_batch& b, test with, std::uint32_t* chosen) const {
  if (!column_) return std::nullopt;
  const column& c = b.columns[*column_];
  if (!c.coded || !c.as_stored()) return std::nullopt;
  bits* const all = of(c.coded);
  if (!all) return std::nullopt;
  const std::uint32_t* const codes = c.select;
  std::size_t n = 0;
  const auto all_known = [&] {
    n = 0;
    std::uint64_t seen = known;
    for (std::size_t i = 0; i < b.n; ++i) {
      const std::uint64_t of_code = all[codes[i] / codes_a_word].load(std::memory_order_relaxed) >> codes[i] % codes_a_word * 2;
      chosen[n] = static_cast<std::uint32_t>(i);
      n += of_code & passes;
      seen &= of_code;
    }
    return seen != 0;
  };
  if (!all_known()) {
    test_unknown(b, with, all);
    all_known();
  }
  return n;
}

// An entry that comes twice in a batch may be tested twice.
void code_verdicts::test_unknown(const column_batch& b, test with, bits* all) const {
  const std::uint32_t* const codes = b.columns[*column_].select;
  std::uint32_t untested[column_batch_rows];
  std::size_t n = 0;
  for (std::size_t i = 0; i < b.n; ++i) {
    const std::uint64_t of_code = all[codes[i] / codes_a_word].load(std::memory_order_relaxed) >> codes[i] % codes_a_word * 2;
    if (!(of_code & known)) untested[n++] = codes[i];
  }
  std::vector<column> some(b.columns.begin(), b.columns.end());
  some[*column_].select = untested;
  bool passed[column_batch_rows];
  with(some, n, passed);
  for (std::size_t k = 0; k < n; ++k)
    all[untested[k] / codes_a_word].fetch_or((passed[k] ? known | passes : known) << untested[k] % codes_a_word * 2,
                                             std::memory_order_relaxed);
}

}  // namespace query::cpu
