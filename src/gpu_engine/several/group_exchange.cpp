#include "gpu_engine/several/group_exchange.hpp"

#include <algorithm>

#include "gpu_engine/several/parted_rows.hpp"
#include "gpu_engine/several/peer_copy.hpp"

namespace query::gpu_engine {

namespace {

block_results finished(group_stream& s) {
  group_stream::result r = s.finish();
  return {std::move(r.kept), std::move(r.tables)};
}

// Takes pairs that lie on another device.
void take_from(const share_run& from, const group_stream::pairs& p, share_run& to, group_stream& into) {
  if (!p.n) return;
  if (from.rows().gpu == to.rows().gpu) {
    into.take_pairs(p.memory, p.n);
    return;
  }
  const device_buffer here = to.run().allocate(p.n * p.bytes);
  peer_copy(to.rows().gpu->on(), here.address(), from.rows().gpu->on(), p.memory.address(), p.n * p.bytes, to.run().on());
  into.take_pairs(here, p.n);
}

}  // namespace

block_results exchanged_groups(const ir::type* row, std::vector<std::unique_ptr<group_stream>>& streams, share_runs& runs,
                               runtime::run_context& context) {
  // Shares without rows behind their filters have no groups.
  std::vector<std::size_t> with;
  for (std::size_t i = 0; i < streams.size(); ++i)
    if (streams[i]->begun()) with.push_back(i);
  if (with.size() < 2) return finished(*streams[with.empty() ? 0 : with.front()]);

  const auto part_of = [&](const share_run& r) {
    return static_cast<std::size_t>(std::find(with.begin(), with.end(), r.place()) - with.begin());
  };
  const std::size_t n = with.size();
  group_stream& first = *streams[with.front()];
  if (std::any_of(with.begin(), with.end(), [&](std::size_t i) { return streams[i]->spilled(); })) {
    for (std::size_t i = 1; i < n; ++i) {
      const scoped_context here(runs[with[i]].rows().gpu->on());
      first.take_spilled(*streams[with[i]]);
      streams[with[i]] = nullptr;
    }
    const scoped_context here(runs[with.front()].rows().gpu->on());
    return finished(first);
  }

  std::vector<std::uint64_t> groups(n);
  runs.at_once([&](share_run& r) {
    if (const std::size_t i = part_of(r); i < n) groups[i] = streams[r.place()]->groups();
  });
  std::uint64_t total = 0;
  for (const std::uint64_t g : groups) total += g;
  const bool few = total <= most_groups_of_one;
  const std::uint32_t parts = few ? 1 : static_cast<std::uint32_t>(n);

  // pairs[i][j]: what device i has for device j.
  std::vector<std::vector<group_stream::pairs>> pairs(n);
  runs.at_once([&](share_run& r) {
    const std::size_t i = part_of(r);
    if (i >= n || (few && i == 0)) return;  // the first keeps its table
    for (std::uint32_t part = 0; part < parts; ++part) {
      r.context().cancel.check();
      pairs[i].push_back(streams[r.place()]->pairs_of(part, parts));
    }
    streams[r.place()]->clear_table();
  });
  std::vector<block_results> of(n);
  runs.at_once([&](share_run& r) {
    const std::size_t j = part_of(r);
    if (j >= parts) return;
    group_stream& mine = *streams[r.place()];
    for (std::size_t i = 0; i < n; ++i)
      if (!pairs[i].empty()) take_from(runs[with[i]], pairs[i][j], r, mine);
    of[j] = finished(mine);
  });
  if (parts == 1) return std::move(of.front());
  block_results all;
  if (std::all_of(of.begin(), of.end(), [](const block_results& r) { return r.kept != nullptr; })) {
    std::vector<std::shared_ptr<device_rows>> kept;
    for (block_results& r : of) kept.push_back(std::static_pointer_cast<device_rows>(r.kept));
    all.kept = std::make_shared<parted_rows>(row, std::move(kept));
    return all;
  }
  for (block_results& r : of) {
    if (r.kept) all.tables.push_back(r.kept->fetch(context));
    for (detail::table& t : r.tables) all.tables.push_back(std::move(t));
  }
  return all;
}

}  // namespace query::gpu_engine
