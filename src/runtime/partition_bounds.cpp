#include "runtime/partition_bounds.hpp"

namespace query::runtime {

namespace {
// How a table's owner is told from others: by the type of its deleter.
struct delete_bounds {
  void operator()(partition_bounds* b) const { delete b; }
};
}  // namespace

detail::table with_bounds(detail::table rows, std::vector<std::size_t> ends) {
  auto bounds = std::make_unique<partition_bounds>(partition_bounds{rows.rows, std::move(ends), std::move(rows.owner)});
  rows.owner = std::shared_ptr<void>(bounds.release(), delete_bounds{});
  return rows;
}

const partition_bounds* bounds_of(const detail::table& t) {
  if (!t.owner || !std::get_deleter<delete_bounds>(t.owner)) return nullptr;
  const auto* bounds = static_cast<const partition_bounds*>(t.owner.get());
  if (bounds->rows != t.rows || (bounds->ends.empty() ? 0 : bounds->ends.back()) != t.n) return nullptr;
  return bounds;
}

std::vector<std::size_t> ends_without_empty(std::vector<std::size_t> ends) {
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  if (!ends.empty() && ends.front() == 0) ends.erase(ends.begin());
  return ends;
}

}  // namespace query::runtime
