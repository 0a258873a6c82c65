// Partitioned rows that are made as they are read: like runtime/partition_bounds.hpp for rows side by side, it remembers where the rows of
// each partition end.
//
//   if (const auto parts = std::dynamic_pointer_cast<const partitioned_tables>(kept)) use(parts->ends());    // one a partition
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "cpu_engine/made_tables.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::cpu {

class partitioned_tables final : public made_tables {
 public:
  partitioned_tables(std::shared_ptr<const made_tables> of, std::vector<std::size_t> ends)
      : made_tables(of->row()), of_(std::move(of)), ends_(std::move(ends)) {
    for (std::size_t t = 0; t < of_->tables(); ++t) add_table(of_->begin_of(t + 1) - of_->begin_of(t));
  }

  const std::vector<std::size_t>& ends() const { return ends_; }
  detail::table fetch(runtime::run_context& context) override { return runtime::with_bounds(made_tables::fetch(context), ends_); }

 private:
  std::size_t bytes_for(std::size_t t) const override { return of_->bytes_to_make(t); }
  detail::table made(std::size_t t, runtime::scheduler& scheduler) const override { return of_->make_one(t, scheduler); }

  std::shared_ptr<const made_tables> of_;
  std::vector<std::size_t> ends_;
};

}  // namespace query::cpu
