#include "gpu_engine/out_of_core/merge_runs.hpp"

#include <algorithm>
#include <cstring>

namespace query::gpu_engine {

namespace {

constexpr std::size_t smallest_range = 1 << 14;  // rows
constexpr std::size_t samples_of_range = 32;

struct place {
  std::size_t run, row;
};

class merging {
 public:
  merging(const std::vector<sorted_run>& runs, std::size_t row_bytes, std::size_t words, std::uint64_t limit)
      : runs_(runs), row_bytes_(row_bytes), words_(words) {
    for (const sorted_run& r : runs) total_ += r.rows.n;
    kept_ = static_cast<std::size_t>(std::min<std::uint64_t>(total_, limit));
  }

  std::size_t kept() const { return kept_; }

  // borders()[i][r]: where range i begins in run r; one more entry for the end.
  std::vector<std::vector<std::size_t>> borders(int threads) const {
    const std::size_t ranges =
        std::clamp<std::size_t>(total_ / smallest_range, 1, static_cast<std::size_t>(std::max(threads, 1)) * 4);
    std::vector<place> samples;
    const std::size_t step = std::max<std::size_t>(total_ / (ranges * samples_of_range), 1);
    for (std::size_t r = 0; r < runs_.size(); ++r)
      for (std::size_t i = step / 2; i < runs_[r].rows.n; i += step) samples.push_back({r, i});
    std::sort(samples.begin(), samples.end(), [this](const place& a, const place& b) { return before(a, b); });
    std::vector<std::vector<std::size_t>> all = {std::vector<std::size_t>(runs_.size(), 0)};
    for (std::size_t i = 1; i < ranges && !samples.empty(); ++i)
      all.push_back(border(samples[i * samples.size() / ranges]));
    std::vector<std::size_t>& end = all.emplace_back();
    for (const sorted_run& r : runs_) end.push_back(r.rows.n);
    return all;
  }

  void merge(std::vector<std::size_t> from, const std::vector<std::size_t>& to, std::byte* out, std::size_t at,
             const runtime::cancel_flag& cancel) const {
    // A heap of the runs by their next rows.
    std::vector<std::size_t> heap;
    for (std::size_t r = 0; r < runs_.size(); ++r)
      if (from[r] < to[r]) heap.push_back(r);
    const auto first = [&](std::size_t a, std::size_t b) { return before({a, from[a]}, {b, from[b]}); };
    const auto sink = [&](std::size_t i) {
      for (std::size_t child; (child = 2 * i + 1) < heap.size(); i = child) {
        if (child + 1 < heap.size() && first(heap[child + 1], heap[child])) ++child;
        if (!first(heap[child], heap[i])) return;
        std::swap(heap[i], heap[child]);
      }
    };
    for (std::size_t i = heap.size() / 2; i-- > 0;) sink(i);
    for (std::size_t written = 0; !heap.empty() && at < kept_; ++at) {
      const std::size_t r = heap.front();
      std::memcpy(out + at * row_bytes_, static_cast<const std::byte*>(runs_[r].rows.rows) + from[r] * row_bytes_,
                  row_bytes_);
      if (++from[r] == to[r]) {
        heap.front() = heap.back();
        heap.pop_back();
      }
      sink(0);
      if (++written % 4096 == 0) cancel.check();
    }
  }

 private:
  const std::uint64_t* key(const place& p) const { return runs_[p.run].keys.as<std::uint64_t>() + p.row * words_; }
  int compare(const std::uint64_t* a, const std::uint64_t* b) const {
    for (std::size_t w = 0; w < words_; ++w)
      if (a[w] != b[w]) return a[w] < b[w] ? -1 : 1;
    return 0;
  }
  // The order of the output.
  bool before(const place& a, const place& b) const {
    const int c = compare(key(a), key(b));
    return c != 0 ? c < 0 : a.run != b.run ? a.run < b.run : a.row < b.row;
  }
  // The first row of each run that does not come before p.
  std::vector<std::size_t> border(const place& p) const {
    std::vector<std::size_t> at;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      std::size_t low = 0, high = runs_[r].rows.n;
      while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (before({r, middle}, p))
          low = middle + 1;
        else
          high = middle;
      }
      at.push_back(low);
    }
    return at;
  }

  const std::vector<sorted_run>& runs_;
  std::size_t row_bytes_, words_, total_ = 0, kept_ = 0;
};

}  // namespace

detail::table merge_runs(const std::vector<sorted_run>& runs, const ir::type* row, std::size_t words,
                         std::uint64_t limit, runtime::run_context& context) {
  const merging m(runs, row->size, words, limit);
  auto memory = std::make_shared<runtime::buffer>(
      context.pool.allocate(runtime::buffer_pool::checked_bytes(std::max<std::size_t>(m.kept(), 1), row->size)));
  const auto borders = m.borders(context.scheduler.concurrency());
  std::vector<std::size_t> starts;
  for (const auto& b : borders) {
    std::size_t n = 0;
    for (const std::size_t at : b) n += at;
    starts.push_back(n);
  }
  context.scheduler.for_each(
      borders.size() - 1,
      [&](std::size_t i) {
        if (starts[i] < m.kept())
          m.merge(borders[i], borders[i + 1], memory->as<std::byte>(), starts[i], context.cancel);
      },
      context.cancel);
  detail::table t;
  t.type = row;
  t.n = m.kept();
  t.rows = memory->data();
  t.owner = std::move(memory);
  return t;
}

}  // namespace query::gpu_engine
