#include "gpu_engine/several/row_exchange.hpp"

#include <algorithm>

#include "gpu_engine/operators/key_ranges.hpp"
#include "gpu_engine/out_of_core/block_feed.hpp"
#include "gpu_engine/several/peer_copy.hpp"
#include "gpu_engine/table_rows.hpp"
#include "gpu_engine/upload.hpp"

namespace query::gpu_engine {

using planner::branch;
using planner::stage;

std::shared_ptr<device_rows> part_of_all(const std::vector<rows_apart>& of, std::size_t part, const std::shared_ptr<gpu_session>& to,
                                         runtime::run_context& context) {
  std::vector<std::shared_ptr<device_rows>> slices;
  for (const rows_apart& apart : of) {
    const std::size_t begin = part ? apart.ends[part - 1] : 0;
    slices.push_back(std::const_pointer_cast<device_rows>(slice(apart.rows->gpu(), apart.rows, begin, apart.ends[part] - begin)));
  }
  return brought_together(slices, to, context);
}

namespace {

// A build side in parts, or in host memory.
struct build_rows {
  std::shared_ptr<parted_rows> parted;
  host_block here;
  std::uint64_t n = 0;
};
std::optional<build_rows> build_of(const stage& s, const runtime::run_context& context) {
  const auto it = context.tables.find(s.build);
  if (it == context.tables.end()) return std::nullopt;
  build_rows b;
  b.parted = std::dynamic_pointer_cast<parted_rows>(it->second.kept);
  if (b.parted) {
    b.n = b.parted->size();
  } else if (it->second.here()) {
    b.here = {rows_of(it->second.rows), it->second.rows.owner};
    b.n = it->second.rows.n;
  } else {
    return std::nullopt;  // one device has it
  }
  return b;
}

// The share's part of rows that lie beside it, or in host memory; whole, or all of its columns.
std::shared_ptr<const device_rows> rows_beside(const share& s, std::size_t place, std::size_t shares, const build_rows& all,
                                               const ir::type* row, vertex_run& run) {
  if (all.parted) return all.parted->parts()[place];
  const std::size_t begin = all.n * place / shares, end = all.n * (place + 1) / shares;
  const host_block part = slice(all.here, row, begin, end - begin);
  return upload_rows(s.gpu, part.rows, row, {{0, row}}, run.on(), run.context());
}
std::shared_ptr<const device_rows> rows_of_share(const share& s, const ir::type* row, vertex_run& run) {
  if (s.there) return s.there;
  const auto columns = s.rows.rows.columns ? field_columns(row) : std::vector<input_column>{{0, row}};
  return upload_rows(s.gpu, s.rows.rows, row, columns, run.on(), run.context());
}

constexpr std::uint64_t fewest_bytes_to_exchange = std::uint64_t{64} << 20;  // of a device: below, waits and kernels cost more than copies

}  // namespace

bool exchanges_join(const branch& b, const std::vector<share>& shares, const gpu_set& gpus, const runtime::run_context& context) {
  constexpr std::uint64_t smaller_build = 4;  // times; to copy it to all is cheaper then
  constexpr std::size_t unread = 2;           // whole rows are exchanged
  if (b.stages.empty() || !b.prefilters.empty() || numbers_rows(b)) return false;
  const stage& s = b.stages.front();
  if (s.what != stage::kind::probe || !s.join || s.join->join != detail::join_kind::inner || s.join->keys.equal || !s.join->key)
    return false;
  const ir::type *probe = source_row(b), *build = s.build ? s.build->row() : nullptr;
  if (!build || !same_on_device(probe) || !same_on_device(build)) return false;
  const auto other = build_of(s, context);
  if (!other || (other->parted && other->parted->parts().size() != shares.size())) return false;
  if (other->parted)
    for (std::size_t i = 0; i < shares.size(); ++i)
      if (other->parted->parts()[i]->gpu() != shares[i].gpu) return false;
  std::uint64_t n = 0;
  for (const share& of : shares) n += of.there ? of.there->size() : of.rows.rows.n;
  if (other->n < n / smaller_build) return false;
  if (probe->size > unread * bytes_of_row(probe, fields_before_parts(b), true)) return false;
  return gpus.share_rows() || other->n * build->size >= fewest_bytes_to_exchange * shares.size();
}

std::vector<share> exchanged_for_join(const branch& b, std::vector<share> shares, gpu_set& gpus, runtime::run_context& context) {
  const stage& s = b.stages.front();
  const build_rows build = *build_of(s, context);
  const std::size_t n = shares.size(), build_is = s.build_left ? 0 : 1;
  const std::vector<planner::binding> none;
  std::vector<rows_apart> probes(n), builds(n);
  gpus.threads().run_or_throw(n, [&](std::size_t i) {
    const scoped_context here(shares[i].gpu->on());
    vertex_run run(shares[i].gpu, none, context);
    const auto apart = [&](const detail::user_function& key, const std::shared_ptr<const device_rows>& rows) {
      run.reset_status();
      return apart_by_hash(*s.join, key, rows, n, run);
    };
    probes[i] = apart(s.join->functions[1 - build_is], rows_of_share(shares[i], source_row(b), run));
    builds[i] = apart(s.join->functions[build_is], rows_beside(shares[i], i, n, build, s.build->row(), run));
    run.on().synchronize(context.cancel);
  });
  gpus.threads().run_or_throw(n, [&](std::size_t j) {
    share& mine = shares[j];
    const scoped_context here(mine.gpu->on());
    mine.there = part_of_all(probes, j, mine.gpu, context);
    mine.rows = {};
    mine.instead.emplace_back(s.build, part_of_all(builds, j, mine.gpu, context));
  });
  for (std::size_t j = 0; j < n; ++j) shares[j].first = j ? shares[j - 1].first + shares[j - 1].there->size() : 0;
  return shares;
}

namespace {

constexpr std::uint64_t samples_of_share = 1024;  // parts are then a few hundredths longer or shorter than others

// A share's rows, what they are sorted by, and some of that.
struct keyed_share {
  std::shared_ptr<const device_rows> rows;
  std::optional<key_ranges> keys;
  std::vector<std::uint64_t> samples;
};

class taking_keys final : public block_consumer {
 public:
  taking_keys(const planner::vertex& w, const std::vector<bool>& fields, vertex_run& run, keyed_share& to)
      : w_(w), fields_(fields), run_(run), to_(to) {}
  void take() override {
    const branch& last = w_.inputs.front();
    to_.rows = bare(last) ? run_.input(last, fields_) : run_collect_before(last, run_);
    run_.reset_status();
    to_.keys.emplace(w_, to_.rows, run_);
    to_.samples = to_.keys->sample(samples_of_share);
  }

 private:
  const planner::vertex& w_;
  const std::vector<bool>& fields_;
  vertex_run& run_;
  keyed_share& to_;
};

// Where all parts but the first begin, a key each. A sample of each share stands for as many rows as others where shares are alike.
std::vector<std::uint64_t> bounds_of(const std::vector<keyed_share>& of, std::size_t width, std::size_t parts) {
  struct sampled {
    const std::uint64_t* words;
    double rows;
  };
  std::vector<sampled> all;
  double total = 0;
  for (const keyed_share& s : of) {
    const std::size_t samples = s.samples.size() / width;
    for (std::size_t i = 0; i < samples; ++i)
      all.push_back({s.samples.data() + i * width, static_cast<double>(s.rows->size()) / static_cast<double>(samples)});
    total += static_cast<double>(s.rows->size());
  }
  std::sort(all.begin(), all.end(), [width](const sampled& a, const sampled& b) {
    return std::lexicographical_compare(a.words, a.words + width, b.words, b.words + width);
  });
  std::vector<std::uint64_t> bounds;
  double before = 0;
  for (const sampled& s : all) {
    while (bounds.size() / width + 1 < parts &&
           before >= total * static_cast<double>(bounds.size() / width + 1) / static_cast<double>(parts))
      bounds.insert(bounds.end(), s.words, s.words + width);
    before += s.rows;
  }
  bounds.resize((parts - 1) * width, ~std::uint64_t{0});
  return bounds;
}

}  // namespace

std::optional<std::vector<block_results>> sort_by_ranges(const planner::vertex& w, const std::vector<bool>& fields, share_runs& runs,
                                                         gpu_set& gpus, runtime::run_context& context) {
  constexpr std::uint64_t copies = 6;  // rows as they came, put apart, received, sorted, and what sorts need
  const std::size_t n = runs.size(), row = w.node->row->size;
  for (std::size_t i = 0; i < n; ++i) {
    const share& s = runs[i].rows();
    const std::uint64_t rows = s.there ? s.there->size() : s.rows.rows.n;
    if (!s.there && !runs[i].fits(fields)) return std::nullopt;
    if (rows * row > s.gpu->memory().budget() / copies) return std::nullopt;
  }
  std::vector<keyed_share> keyed(n);
  runs.each(
      [&](share_run& r) {
        keyed_share& mine = keyed[r.place()];
        mine.keys.reset();  // of an attempt before
        taking_keys taking(w, fields, r.run(), mine);
        r.feed_at_once(fields, false, taking);
      },
      gpus);
  const std::size_t width = keyed.front().keys->width();
  const std::vector<std::uint64_t> bounds = bounds_of(keyed, width, n);
  std::vector<rows_apart> apart(n);
  runs.at_once([&](share_run& r) {
    keyed_share& mine = keyed[r.place()];
    apart[r.place()] = apart_by_numbers(*w.node, mine.rows, mine.keys->numbers(bounds, n), n, r.run());
    mine.keys.reset();
    mine.rows.reset();
  });
  planner::vertex sorted = w;
  sorted.inputs.front() = behind(w.inputs.front());
  std::vector<block_results> of(n);
  runs.at_once([&](share_run& r) {
    vertex_run& run = r.run();
    run.reset_status();
    run.supply(part_of_all(apart, r.place(), r.rows().gpu, context), 0);
    of[r.place()].kept = run_order_by(sorted, run);
    run.on().synchronize(context.cancel);
    run.supply(nullptr);
  });
  return of;
}

}  // namespace query::gpu_engine
