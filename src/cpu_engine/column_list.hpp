// The rows of a vertex as columns: pieces one after the other, each with columns of its own. A column is a selection of rows of a source,
// or values that the piece holds. Readers of columns take them as they are; readers of records assemble them, or fetch them all.
//
//   context.tables[v].kept = std::make_shared<column_list>(row, schema, std::move(pieces), sources);
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "cpu_engine/column_batch.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

class column_list final : public runtime::kept_rows {
 public:
  struct piece {
    std::size_t n = 0;
    std::vector<column> columns;  // of the list's schema; none is transient
    std::shared_ptr<const void> owner;
  };
  // sources: what columns of the pieces select rows of.
  column_list(const ir::type* row, planner::column_schema schema, std::vector<piece> pieces,
              std::vector<std::shared_ptr<const void>> sources);

  std::string_view engine() const override { return "cpu"; }
  bool stays() const override { return false; }
  std::uint64_t size() const override { return begins_.back(); }
  detail::table fetch(runtime::run_context& context) override;

  const ir::type* row() const { return row_; }
  const planner::column_schema& schema() const { return schema_; }
  const std::vector<piece>& pieces() const { return pieces_; }
  // Calls f(batch) with rows [first, first + n), at most `most` at a time.
  template <class F> void each_batch(std::uint64_t first, std::uint64_t n, std::size_t most, F f) const {
    std::vector<column> columns;
    auto p = static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), first) - begins_.begin()) - 1;
    for (; n; ++p) {
      while (n && first < begins_[p + 1]) {
        const std::size_t from = static_cast<std::size_t>(first - begins_[p]);
        const std::size_t k = std::min({static_cast<std::size_t>(n), most, pieces_[p].n - from});
        columns.clear();
        for (const column& c : pieces_[p].columns) columns.push_back(part_of(c, from));
        f(column_batch{columns, k, first});
        first += k;
        n -= k;
      }
    }
  }

 private:
  const ir::type* row_;
  planner::column_schema schema_;
  std::vector<piece> pieces_;
  std::vector<std::shared_ptr<const void>> sources_;
  std::vector<std::uint64_t> begins_;  // one more: the end
};

}  // namespace query::cpu
