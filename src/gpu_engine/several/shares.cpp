#include "gpu_engine/several/shares.hpp"

#include <algorithm>
#include <cmath>

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

std::vector<std::size_t> rows_by_rate(std::size_t n, std::vector<double> rates) {
  constexpr double alike = 0.95;
  if (*std::min_element(rates.begin(), rates.end()) >= alike * *std::max_element(rates.begin(), rates.end()))
    std::fill(rates.begin(), rates.end(), 1.0);
  double all = 0;
  for (const double r : rates) all += r;
  std::vector<std::size_t> rows;
  std::size_t given = 0;
  for (const double r : rates) {
    rows.push_back(static_cast<std::size_t>(static_cast<double>(n) * (r / all)));
    given += rows.back();
  }
  for (std::size_t i = 0; given < n; i = (i + 1) % rows.size()) ++rows[i], ++given;
  while (given > n) {  // rounded up
    std::size_t& most = *std::max_element(rows.begin(), rows.end());
    --most, --given;
  }
  return rows;
}

std::vector<double> rates_of(const std::vector<std::shared_ptr<gpu_session>>& gpus) {
  constexpr int memory_clock = 36, memory_bus_width = 37;  // CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, ..._GLOBAL_MEMORY_BUS_WIDTH
  const auto asked = [](const device& d, int what) {
    int value = 0;
    return d.calls().cuDeviceGetAttribute(&value, what, d.handle()) == cuda_result::success ? static_cast<double>(value) : 0.0;
  };
  const auto like_the_first = [&](const auto& gpu) { return gpu->on().name() == gpus.front()->on().name(); };
  if (std::all_of(gpus.begin(), gpus.end(), like_the_first)) return std::vector<double>(gpus.size(), 1.0);
  std::vector<double> bandwidths, rates;
  for (const auto& gpu : gpus) {
    bandwidths.push_back(asked(gpu->on(), memory_clock) * asked(gpu->on(), memory_bus_width));
    rates.push_back(static_cast<double>(std::max(gpu->on().multiprocessors(), 1)));
  }
  // A driver that no longer tells clocks leaves the multiprocessors.
  if (std::all_of(bandwidths.begin(), bandwidths.end(), [](double b) { return b > 0; }))
    for (std::size_t i = 0; i < rates.size(); ++i) rates[i] = std::sqrt(rates[i] * bandwidths[i]);
  return rates;
}

namespace {

// Empty where a part is another session's, or lies on a device that is lost.
std::vector<share> shares_of(const parted_rows& rows, gpu_set& gpus) {
  std::vector<share> shares;
  const auto there = gpus.all();
  for (const auto& part : rows.parts()) {
    const auto gpu = std::find_if(there.begin(), there.end(), [&](const auto& g) { return part->on(g->on()); });
    if (gpu == there.end()) return {};
    share s;
    s.gpu = *gpu;
    s.there = part;
    s.first = shares.empty() ? 0 : shares.back().first + shares.back().there->size();
    shares.push_back(std::move(s));
  }
  return shares;
}

}  // namespace

std::vector<share> cut(const planner::branch& b, const std::vector<bool>& fields, gpu_set& gpus, runtime::run_context& context) {
  std::vector<share> shares;
  host_block all;
  if (b.table) {
    const auto it = context.tables.find(b.table);
    if (it == context.tables.end()) return shares;
    if (const auto parted = std::dynamic_pointer_cast<parted_rows>(it->second.kept)) return shares_of(*parted, gpus);
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
  std::vector<double> rates = rates_of(use);
  rates.resize(n);
  const std::vector<std::size_t> rows_of_share = rows_by_rate(all.rows.n, rates);
  for (std::size_t i = 0, begin = 0; i < n; begin += rows_of_share[i++]) {
    if (!rows_of_share[i]) continue;
    share s;
    s.gpu = use[i];
    s.rows = slice(all, row, begin, rows_of_share[i]);
    s.first = s.rows.rows.first;
    shares.push_back(std::move(s));
  }
  return shares;
}

std::vector<share> cut_for_rounds(const planner::branch& b, const std::vector<bool>& fields, gpu_set& gpus,
                                  runtime::run_context& context) {
  // By the container: under the node the engine keeps copies of one device.
  const void* const key = b.source->source.get();
  const auto known = context.copies.find(key);
  const auto* before = known == context.copies.end() ? nullptr : dynamic_cast<const parted_rows*>(known->second.get());
  const ir::type* row = source_row(b);
  const auto has_all = [&](const device_rows& part, const std::vector<input_column>& columns) {
    return std::all_of(columns.begin(), columns.end(), [&](const input_column& c) { return part.has(c); });
  };
  std::vector<share> shares = cut(b, fields, gpus, context);
  if (shares.size() < 2) return {};
  const bool columnar = shares.front().rows.rows.columns != nullptr;
  const auto columns = choose_columns(row, fields, columnar);
  if (before && has_all(*before->parts().front(), columns))
    if (auto there = shares_of(*before, gpus); !there.empty()) return there;
  const auto fits = [&](const share& s) { return s.rows.rows.n * bytes_of_row(row, fields, columnar) <= s.gpu->memory().budget() / 2; };
  if (!std::all_of(shares.begin(), shares.end(), fits)) return {};
  try {
    gpus.threads().run_or_throw(shares.size(), [&](std::size_t i) {
      share& s = shares[i];
      const scoped_context here(s.gpu->on());
      const stream_lease on = s.gpu->lease();
      s.there = upload_rows(s.gpu, s.rows.rows, row, columns, *on, context);
      on->synchronize(context.cancel);
    });
  } catch (const resource_error&) {
    context.cancel.check();
    return {};
  }
  std::vector<std::shared_ptr<device_rows>> parts;
  for (share& s : shares) {
    s.rows = {};
    parts.push_back(s.there);
  }
  context.copies[key] = std::make_shared<parted_rows>(row, std::move(parts));
  return shares;
}

}  // namespace query::gpu_engine
