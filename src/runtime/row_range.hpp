// Some rows of a container in host memory, or some of range() or repeat(), as a source of their own that any engine reads like the whole.
//
//   const row_range part(*branch.source, 0, 1 << 20);
//   branch.source = part.node();        // as long as `part` lives
#pragma once

#include <cstdint>
#include <memory>

#include <query/detail/plan.hpp>

namespace query::runtime {

class row_range {
 public:
  // Rows [first, end) of `source`, or as many of them as there are. `source` has a view, or is made in parts, and lives longer.
  row_range(const detail::logical& source, std::uint64_t first, std::uint64_t end);

  const detail::logical* node() const { return node_.get(); }
  std::uint64_t size() const { return size_; }

 private:
  struct rows;
  std::uint64_t size_ = 0;
  std::shared_ptr<const detail::logical> node_;
};

}  // namespace query::runtime
