#include "gpu_engine/several/results_in_order.hpp"

#include <algorithm>

#include "gpu_engine/several/parted_rows.hpp"

namespace query::gpu_engine {

block_results results_in_order(const ir::type* row, std::vector<block_results> of_shares, runtime::run_context& context) {
  block_results all;
  if (std::all_of(of_shares.begin(), of_shares.end(), [](const block_results& r) { return r.kept != nullptr; })) {
    std::vector<std::shared_ptr<device_rows>> parts;
    for (block_results& r : of_shares) parts.push_back(std::static_pointer_cast<device_rows>(r.kept));
    all.kept = std::make_shared<parted_rows>(row, std::move(parts));
    return all;
  }
  for (block_results& r : of_shares) {
    if (r.kept) all.tables.push_back(r.kept->fetch(context));
    for (detail::table& t : r.tables) all.tables.push_back(std::move(t));
  }
  return all;
}

}  // namespace query::gpu_engine
