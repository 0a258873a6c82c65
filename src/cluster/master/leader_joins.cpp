// Joins whose rows go another way than planned, once some of them have been counted. The rows of a hash table that prove to be few go to
// all partitions, and those that probe them stay. A key that many of the rows that probe have would leave most of the work to one
// partition: they are spread, and the rows that they look up go to all.
//
// The rows alone decide, and the number of partitions; so the ways are the same each time. They are arguments of the steps that send, so
// that they are the same for a part that is lost and sent again, too.
//
// Source: D. J. DeWitt, J. F. Naughton, D. A. Schneider, S. Seshadri, Practical Skew Handling in Parallel Joins, VLDB 1992 (virtual
// processors, subset and replicate).
#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "cluster/master/leader.hpp"
#include "runtime/run_profile.hpp"

namespace query::cluster {

using planner::vertex;
using rows_of_senders = std::vector<std::vector<std::uint64_t>>;

namespace {

std::uint64_t sum(const std::vector<std::uint64_t>& all) { return std::accumulate(all.begin(), all.end(), std::uint64_t{0}); }
std::uint64_t sum(const rows_of_senders& all) {
  std::uint64_t n = 0;
  for (const auto& each : all) n += sum(each);
  return n;
}
std::vector<std::uint64_t> for_each_receiver(const rows_of_senders& all) {
  std::vector<std::uint64_t> n(all.front().size());
  for (const auto& each : all)
    for (std::size_t r = 0; r < n.size(); ++r) n[r] += each[r];
  return n;
}

std::string counted(std::uint64_t n, const char* what) {
  return runtime::readable_count(n) + " " + what + (n == 1 ? "" : "s");
}
std::string percent(std::uint64_t n, std::uint64_t of) { return std::to_string((n * 100 + of / 2) / of) + "%"; }

// How often a value is in a sorted list.
std::uint64_t times(const std::vector<std::uint64_t>& sorted, std::uint64_t x) {
  const auto [first, end] = std::equal_range(sorted.begin(), sorted.end(), x);
  return static_cast<std::uint64_t>(end - first);
}

}  // namespace

runtime::heavy_keys leader::revision::of_sender(std::size_t sender) const {
  runtime::heavy_keys keys = heavy;
  if (rows.empty()) return keys;
  keys.of_all = for_each_receiver(rows);
  keys.before.assign(keys.of_all.size(), 0);
  for (std::size_t p = 0; p < sender; ++p)
    for (std::size_t r = 0; r < keys.before.size(); ++r) keys.before[r] += rows[p][r];
  return keys;
}

// Of each sender, for each receiver.
rows_of_senders leader::rows_by_hash(const vertex& v) {
  const step_id counts = submit(&v, work::count, v.partitions);
  wait(counts);
  rows_of_senders rows;
  for (std::uint32_t p = 0; p < static_cast<std::uint32_t>(v.partitions); ++p) {
    byte_reader from(master_->result(counts, p).answer);
    rows.push_back(get_numbers(from));
    if (rows.back().size() != parts()) throw cluster_error("cluster: rows are counted for other partitions");
  }
  return rows;
}

// Of some of the keys, in order; of each sender as many as its rows are of all.
std::vector<std::uint64_t> leader::sampled_hashes(const vertex& v, const rows_of_senders& rows) {
  constexpr std::uint64_t samples_a_partition = 1024;
  const std::uint64_t wanted = samples_a_partition * parts(), all = sum(rows);
  std::vector<std::vector<std::byte>> shares;
  for (const auto& of_sender : rows) {
    byte_writer share;
    share.put(all <= wanted ? sum(of_sender) : (sum(of_sender) * wanted + all - 1) / all);
    shares.push_back(share.take());
  }
  const step_id samples = submit(&v, work::sample, v.partitions, 0, std::move(shares));
  wait(samples);
  std::vector<std::uint64_t> hashes;
  for (std::uint32_t p = 0; p < static_cast<std::uint32_t>(v.partitions); ++p) {
    byte_reader from(master_->result(samples, p).answer);
    const std::vector<std::uint64_t> of_sender = get_numbers(from);
    hashes.insert(hashes.end(), of_sender.begin(), of_sender.end());
  }
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

namespace {
// One of them has half as many rows again as its share.
bool is_uneven(const std::vector<std::uint64_t>& rows, std::uint64_t least) {
  const std::uint64_t all = sum(rows), most = *std::max_element(rows.begin(), rows.end());
  return all >= least && most * rows.size() * 2 > all * 3;
}
std::string most_of(const std::vector<std::uint64_t>& rows) {
  return "one partition got " + percent(*std::max_element(rows.begin(), rows.end()), sum(rows)) + " of ";
}
}  // namespace

// A key is heavy that has a quarter of a partition's share.
std::string leader::find_heavy_keys(const vertex& build, const rows_of_senders& build_rows, revision& of_build) {
  const vertex& probing = *build.probing;
  rows_of_senders rows = rows_by_hash(probing);
  const std::vector<std::uint64_t> by_hash = for_each_receiver(rows);
  if (!is_uneven(by_hash, session_->least_spread)) return "";
  const std::uint64_t all = sum(by_hash);
  const std::vector<std::uint64_t> sample = sampled_hashes(probing, rows);
  std::vector<std::uint64_t> heavy;
  for (auto at = sample.begin(); at != sample.end();) {
    const auto end = std::upper_bound(at, sample.end(), *at);
    if (static_cast<std::uint64_t>(end - at) * parts() * 4 >= sample.size()) heavy.push_back(*at);
    at = end;
  }
  // Where there are no pairs to share, the hash table's rows may be more than those that probe.
  using detail::join_kind;
  if (const join_kind kind = build.sent_for->join; !heavy.empty() && (kind == join_kind::semi || kind == join_kind::anti)) {
    const std::vector<std::uint64_t> of_build_rows = sampled_hashes(build, build_rows);
    const std::uint64_t build_all = sum(build_rows);
    std::erase_if(heavy, [&](std::uint64_t h) {
      return !of_build_rows.empty() && times(of_build_rows, h) * build_all / of_build_rows.size() > times(sample, h) * all / sample.size();
    });
  }
  if (heavy.empty()) return "; " + most_of(by_hash) + "these";
  std::uint64_t spread = 0;
  for (const std::uint64_t h : heavy) spread += times(sample, h);
  of_build.heavy = {.hashes = heavy, .to_all = true, .before = {}, .of_all = {}};
  std::string told = "; " + counted(heavy.size(), "heavy key") + " spread, with about " + percent(spread, sample.size()) +
                     " of those that probe; each partition got the rows that they look up";
  revised_[&probing] = {.to = sent_to::as_planned, .heavy = {.hashes = std::move(heavy), .to_all = false, .before = {}, .of_all = {}},
                        .rows = std::move(rows)};
  return told;
}

leader::revision leader::revised(const vertex& v) {
  if (const auto known = revised_.extract(&v)) return known.mapped();
  if (!v.probing) return {};
  const rows_of_senders counts = rows_by_hash(v);
  const std::uint64_t rows = sum(counts);
  const bool few = rows * v.row()->size <= session_->most_broadcast && v.probing->partitions > 1;
  revision now;
  std::string told = counted(rows, "row");
  if (few) {
    now.to = sent_to::all;
    revised_[v.probing] = {.to = sent_to::itself};
    told += " went to each partition, and those that probe them stayed where they were";
  } else {
    told += " went by hash, as those that probe them" + find_heavy_keys(v, counts, now);
  }
  session_->history.note_pieces(v.sent_for, "exchange", std::move(told));
  return now;
}

// Rows of one group have to be in one partition: there is nothing to spread, but something to know.
void leader::note_skew(const vertex& v, step_id sends) {
  if (!v.sent_for || v.probing || !master_->done(sends)) return;
  std::vector<std::uint64_t> rows(parts());
  for (std::uint32_t p = 0; p < static_cast<std::uint32_t>(v.partitions); ++p)
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r] += master_->result(sends, p).blocks.at(r).rows;
  session_->history.note_pieces(v.sent_for, "exchange", is_uneven(rows, session_->least_spread) ? most_of(rows) + "the rows" : "");
}

}  // namespace query::cluster
