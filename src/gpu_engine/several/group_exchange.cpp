#include "gpu_engine/several/group_exchange.hpp"

#include <algorithm>

#include "gpu_engine/several/peer_copy.hpp"
#include "gpu_engine/several/results_in_order.hpp"
#include "gpu_primitives/group_exchange.cuh"

namespace query::gpu_engine {

namespace {

block_results of_one(group_stream::result r) { return {std::move(r.kept), std::move(r.tables)}; }

// How many parts the pairs of each share are put into.
std::uint32_t parts_of(std::size_t shares) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(shares, gpu::most_exchange_parts));
}

// Pairs of some shares where this one can merge them: those of other devices are copied, all at once.
class gathered_pairs {
 public:
  explicit gathered_pairs(share_run& to) : to_(to) {}
  // After a failure copies and merges may be under way, and the others' pairs go with their streams.
  ~gathered_pairs() {
    if (merged_ || ranges_.empty()) return;
    try {
      to_.run().on().synchronize(to_.context().cancel);
    } catch (...) {
    }
  }
  gathered_pairs(const gathered_pairs&) = delete;
  gathered_pairs& operator=(const gathered_pairs&) = delete;

  void add(const share_run& from, const group_stream& groups, group_stream::pair_range pairs) {
    if (!pairs.n) return;
    if (from.rows().gpu != to_.rows().gpu) {
      const std::size_t bytes = pairs.n * groups.pair_bytes();
      const device_buffer& here = copies_.emplace_back(to_.run().allocate(bytes));
      peer_copy(to_.rows().gpu->on(), here.address(), from.rows().gpu->on(), pairs.at, bytes, to_.run().on());
      pairs.at = here.address();
    }
    ranges_.push_back(pairs);
  }
  block_results merged_by(group_stream& mine) {
    block_results r = of_one(mine.finish_pairs(ranges_));
    merged_ = true;
    return r;
  }

 private:
  share_run& to_;
  std::vector<device_buffer> copies_;
  std::vector<group_stream::pair_range> ranges_;
  bool merged_ = false;
};

}  // namespace

void ready_to_exchange(group_stream& groups, std::size_t shares) {
  if (!groups.begun() || groups.spilled()) return;
  groups.to_pairs();
  if (groups.all_pairs().n > most_groups_of_one / shares) groups.part_pairs(parts_of(shares));
}

block_results exchanged_groups(const ir::type* row, std::vector<std::unique_ptr<group_stream>>& streams, share_runs& runs,
                               runtime::run_context& context) {
  // Shares without rows behind their filters have no groups.
  std::vector<std::size_t> with;
  for (std::size_t i = 0; i < streams.size(); ++i)
    if (streams[i]->begun()) with.push_back(i);
  const std::size_t n = with.size(), first = n ? with.front() : 0;
  if (n < 2 || std::any_of(with.begin(), with.end(), [&](std::size_t i) { return streams[i]->spilled(); })) {
    for (std::size_t i = 1; i < n; ++i) {
      const scoped_context here(runs[with[i]].rows().gpu->on());
      streams[first]->take_spilled(*streams[with[i]]);
      streams[with[i]] = nullptr;
    }
    const scoped_context here(runs[first].rows().gpu->on());
    return of_one(streams[first]->finish());
  }

  std::uint64_t total = 0;
  for (const std::size_t i : with) total += streams[i]->all_pairs().n;
  if (total <= most_groups_of_one) {
    const scoped_context here(runs[first].rows().gpu->on());
    gathered_pairs pairs(runs[first]);
    for (const std::size_t i : with) pairs.add(runs[i], *streams[i], streams[i]->all_pairs());
    return pairs.merged_by(*streams[first]);
  }

  const std::uint32_t parts = parts_of(streams.size());
  if (std::any_of(with.begin(), with.end(), [&](std::size_t i) { return !streams[i]->parted(); }))
    runs.at_once([&](share_run& r) {
      group_stream& mine = *streams[r.place()];
      if (mine.begun() && !mine.parted()) mine.part_pairs(parts);
    });
  // of[j] merges what wanted[j] names; a stream that merges no longer says where its pairs are. More parts than devices with groups
  // are dealt out in turn.
  std::vector<block_results> of(std::min<std::size_t>(n, parts));
  struct wanted_pairs {
    std::size_t from;
    group_stream::pair_range pairs;
  };
  std::vector<std::vector<wanted_pairs>> wanted(of.size());
  for (const std::size_t i : with)
    for (std::uint32_t part = 0; part < parts; ++part) wanted[part % of.size()].push_back({i, streams[i]->pairs_of(part)});
  runs.at_once([&](share_run& r) {
    const auto j = static_cast<std::size_t>(std::find(with.begin(), with.end(), r.place()) - with.begin());
    if (j >= of.size()) return;
    gathered_pairs pairs(r);
    for (const wanted_pairs& w : wanted[j]) pairs.add(runs[w.from], *streams[w.from], w.pairs);
    of[j] = pairs.merged_by(*streams[r.place()]);
  });
  return results_in_order(row, std::move(of), context);
}

}  // namespace query::gpu_engine
