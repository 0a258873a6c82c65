#include "runtime/shared_streams.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "planner/rules/edges.hpp"

namespace query::runtime {

namespace {

// Rows of a stream that somebody is yet to read.
class kept_piece {
 public:
  kept_piece(std::uint64_t first, const ir::type* row, const void* rows, std::size_t n, buffer_pool& pool)
      : first_(first), row_(row), memory_(pool.allocate(std::max<std::size_t>(n * row->size, 1))) {
    copy(memory_.data(), rows, n);
    n_ = n;
  }
  kept_piece(kept_piece&& o) noexcept : first_(o.first_), n_(std::exchange(o.n_, 0)), row_(o.row_), memory_(std::move(o.memory_)) {}
  kept_piece& operator=(kept_piece&&) = delete;
  ~kept_piece() {
    if (n_ && !row_->trivial) row_->life.destroy(memory_.data(), n_);
  }

  std::uint64_t first() const { return first_; }
  std::uint64_t end() const { return first_ + n_; }
  // As many of the rows from number `at` on as there are, up to `most`.
  std::size_t give(std::uint64_t at, void* raw, std::size_t most) const {
    const auto from = static_cast<std::size_t>(at - first_);
    const std::size_t n = std::min(most, n_ - from);
    copy(raw, memory_.as<std::byte>() + from * row_->size, n);
    return n;
  }

 private:
  void copy(void* to, const void* from, std::size_t n) const {
    if (row_->trivial) std::memcpy(to, from, n * row_->size);
    else row_->life.copy(to, from, n);
  }

  std::uint64_t first_;
  std::size_t n_ = 0;
  const ir::type* row_;
  buffer memory_;
};

class shared_stream {
 public:
  shared_stream(const detail::logical& source, std::size_t readers, buffer_pool& pool)
      : source_(source.shared_from_this()), pool_(&pool), at_(readers, not_begun) {}

  // Has the reader come before? Then rows that it would want may be gone.
  bool begin(std::size_t reader) {
    const std::lock_guard hold(lock_);
    if (at_[reader] != not_begun) return false;
    at_[reader] = 0;
    return true;
  }
  const detail::logical& source() const { return *source_; }

  std::size_t next(std::size_t reader, void* raw, std::size_t most) {
    const std::lock_guard hold(lock_);
    const std::size_t n = at_[reader] < taken_ ? again(at_[reader], raw, most) : more(reader, raw, most);
    at_[reader] += n;
    forget();
    return n;
  }
  void leave(std::size_t reader) {
    const std::lock_guard hold(lock_);
    at_[reader] = gone;
    forget();
  }

 private:
  static constexpr std::uint64_t gone = ~std::uint64_t{0}, not_begun = gone - 1;

  std::size_t again(std::uint64_t at, void* raw, std::size_t most) const {
    const auto behind = std::upper_bound(kept_.begin(), kept_.end(), at,
                                         [](std::uint64_t number, const kept_piece& p) { return number < p.first(); });
    return (behind - 1)->give(at, raw, most);
  }
  std::size_t more(std::size_t reader, void* raw, std::size_t most) {
    if (!stream_) stream_ = source_->open(source_->source.get());
    const std::size_t n = stream_->next(raw, most);
    try {
      if (n && others_come(reader)) kept_.emplace_back(taken_, source_->row, raw, n, *pool_);
    } catch (...) {
      if (!source_->row->trivial) source_->row->life.destroy(raw, n);
      throw;
    }
    taken_ += n;
    return n;
  }
  bool others_come(std::size_t reader) const {
    for (std::size_t i = 0; i < at_.size(); ++i)
      if (i != reader && at_[i] != gone) return true;
    return false;
  }
  void forget() {
    std::uint64_t passed = taken_;
    for (const std::uint64_t at : at_) passed = std::min(passed, at == not_begun ? 0 : at);
    while (!kept_.empty() && kept_.front().end() <= passed) kept_.pop_front();
  }

  const std::shared_ptr<const detail::logical> source_;
  buffer_pool* pool_;
  std::mutex lock_;
  std::unique_ptr<detail::row_stream> stream_;
  std::deque<kept_piece> kept_;    // one behind the other, up to taken_
  std::uint64_t taken_ = 0;        // rows that somebody has taken
  std::vector<std::uint64_t> at_;  // how far each reader is
};

// What takes the place of the source in one of the branches.
struct one_reader {
  std::shared_ptr<shared_stream> of;
  std::size_t number;
};
class reader final : public detail::row_stream {
 public:
  explicit reader(one_reader of) : of_(std::move(of)) {}
  ~reader() override { of_.of->leave(of_.number); }
  std::size_t next(void* raw, std::size_t most) override { return of_.of->next(of_.number, raw, most); }

 private:
  one_reader of_;
};
std::unique_ptr<detail::row_stream> open_reader(const void* source) {
  const one_reader& r = *static_cast<const one_reader*>(source);
  if (r.of->begin(r.number)) return std::make_unique<reader>(r);
  return r.of->source().open(r.of->source().source.get());  // once more, as in the next round of a loop
}

}  // namespace

void share_streams(planner::machine_graph& g, buffer_pool& pool) {
  std::map<const detail::logical*, std::vector<planner::branch*>> readers;
  planner::rules::each_branch(g, [&](planner::branch& b, const planner::vertex*) {
    // Those that tell how many rows they have make them from their numbers.
    if (b.source && b.source->open && !b.source->count && (b.source->row->trivial || b.source->row->life.copy))
      readers[b.source].push_back(&b);
  });
  for (const auto& [source, branches] : readers) {
    if (branches.size() < 2) continue;
    const auto shared = std::make_shared<shared_stream>(*source, branches.size(), pool);
    for (std::size_t i = 0; i < branches.size(); ++i) {
      auto own = std::make_shared<detail::logical>(*source);
      own->source = std::make_shared<const one_reader>(one_reader{shared, i});
      own->open = &open_reader;
      branches[i]->source = own.get();
      g.verbs.push_back(std::move(own));
    }
  }
}

}  // namespace query::runtime
