// The rows of a vertex as several tables, one after the other: what an operator with a result a partition gives, without putting them
// side by side. Who reads rows as they come takes table after table; who needs them side by side fetches them.
#pragma once

#include <memory>
#include <vector>

#include "runtime/run_context.hpp"

namespace query::cpu {

class table_list final : public runtime::kept_rows, public std::enable_shared_from_this<table_list> {
 public:
  table_list(const ir::type* row, std::vector<detail::table> tables);

  std::string_view engine() const override { return "cpu"; }
  bool stays() const override { return false; }
  std::uint64_t size() const override { return begins_.back(); }
  detail::table fetch(runtime::run_context& context) override;

  const ir::type* row() const { return row_; }
  const std::vector<detail::table>& tables() const { return tables_; }
  // Calls f(table, first, n) for the runs of rows [first, first + n), each of one table.
  template <class F> void each_run(std::uint64_t first, std::uint64_t n, F f) const {
    for (std::size_t t = table_with(first); n; ++t) {
      const std::uint64_t from = first - begins_[t], k = std::min<std::uint64_t>(n, tables_[t].n - from);
      if (k) f(tables_[t], static_cast<std::size_t>(from), static_cast<std::size_t>(k));
      first += k;
      n -= k;
    }
  }

 private:
  std::size_t table_with(std::uint64_t row) const;

  const ir::type* row_;
  std::vector<detail::table> tables_;
  std::vector<std::uint64_t> begins_;  // one more: the end
};

}  // namespace query::cpu
