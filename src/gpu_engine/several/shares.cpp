#include "gpu_engine/several/shares.hpp"

#include <algorithm>

#include "gpu_engine/table_rows.hpp"
#include "gpu_engine/upload.hpp"

namespace query::gpu_engine {

std::size_t devices_for(std::uint64_t n, std::size_t bytes_a_row, std::size_t gpus, std::size_t share_rows) {
  const std::uint64_t worth = share_rows ? n / share_rows : n * bytes_a_row / fewest_bytes_of_share;
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(worth, 1, gpus));
}

std::size_t bytes_of_row(const ir::type* row, const std::vector<bool>& fields, bool columnar) {
  std::size_t bytes = 0;
  for (const input_column& c : choose_columns(row, fields, columnar)) bytes += device_layout(c.type).size;
  return bytes;
}

std::vector<share> cut(const planner::branch& b, const std::vector<bool>& fields, gpu_set& gpus, runtime::run_context& context) {
  std::vector<share> shares;
  host_block all;
  if (b.table) {
    const auto it = context.tables.find(b.table);
    if (it == context.tables.end()) return shares;
    if (const auto parted = std::dynamic_pointer_cast<parted_rows>(it->second.kept)) {
      const auto there = gpus.all();
      for (const auto& part : parted->parts()) {
        const auto gpu = std::find_if(there.begin(), there.end(), [&](const auto& g) { return part->on(g->on()); });
        if (gpu == there.end()) return {};  // of another session, or lost
        share s;
        s.gpu = *gpu;
        s.there = part;
        s.first = shares.empty() ? 0 : shares.back().first + shares.back().there->size();
        shares.push_back(std::move(s));
      }
      return shares;
    }
    if (it->second.kept) return shares;  // of one device, which works on them
    const detail::table& t = it->second.rows;
    all = {rows_of(t), t.owner};
  } else if (b.source && b.source->view) {
    b.source->view(b.source->source.get(), all.rows);
  } else {
    return shares;
  }
  const ir::type* row = source_row(b);
  const std::size_t a_row = bytes_of_row(row, fields, all.rows.columns != nullptr);
  if (devices_for(all.rows.n, a_row, gpus.size(), gpus.share_rows()) < 2) return shares;
  const auto use = gpus.all();
  const std::size_t n = devices_for(all.rows.n, a_row, use.size(), gpus.share_rows());
  if (n < 2) return shares;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t begin = all.rows.n / n * i + std::min(i, all.rows.n % n);
    const std::size_t rows = all.rows.n / n + (i < all.rows.n % n ? 1 : 0);
    share s;
    s.gpu = use[i];
    s.rows = slice(all, row, begin, rows);
    s.first = s.rows.rows.first;
    shares.push_back(std::move(s));
  }
  return shares;
}

}  // namespace query::gpu_engine
