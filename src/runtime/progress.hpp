// How far a query is: vertices done, and parts of the one that runs. Reports by steps of at least one percent, and by time: while no
// part ends, as in a sort, progress_beat repeats the last report.
//
//   progress meter(settings);
//   progress_beat beat(meter, flag);   // a thread of its own, if anybody wants reports
//   meter.part_done(16);
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <query/session.hpp>

#include "runtime/cancellation.hpp"

namespace query::runtime {

class progress {
 public:
  explicit progress(const detail::settings& s) {
    if (s) told_ = s->progress.all();
    if (*this) share_ = std::exchange(next_share_, 1.0);
  }
  // The query with reports that this thread begins next is the first part of some work, up to this fraction of it.
  static void next_is_part(double share) { next_share_ = share; }
  explicit operator bool() const { return !told_.empty(); }

  void expect(std::size_t vertices) { vertices_ = vertices ? vertices : 1; }
  void vertex_done() {
    parts_done_ = 0;
    vertex_done_elsewhere();
  }
  // Of another process: the one that runs here goes on.
  void vertex_done_elsewhere() {
    done_.fetch_add(1, std::memory_order_relaxed);
    tell_of_work(static_cast<double>(done_) / static_cast<double>(vertices_));
  }
  // `n` more of so many parts, or rows, of the vertex that runs now.
  void part_done(std::uint64_t of, std::uint64_t n = 1) {
    const std::uint64_t k = parts_done_.fetch_add(n, std::memory_order_relaxed) + n;
    part_is_at(k < of ? static_cast<double>(k) / static_cast<double>(of) : 1.0);
  }
  // Work that knows how far it is, in place of parts.
  void part_is_at(double fraction) { tell_of_work((static_cast<double>(done_) + fraction) / static_cast<double>(vertices_)); }
  // Of the work that this thread does after its query (detail::run_limits); null: nobody wants reports.
  static constinit thread_local progress* after_query;
  void finished() { tell(1.0); }
  // Says again how far it is, unless somebody is saying so now.
  void repeat() {
    const std::unique_lock hold(lock_, std::try_to_lock);
    if (hold && last_ < 1) report(last_);  // a part goes on saying that it is done
  }

 private:
  // Whoever sees all parts done does not know what is still done with the result.
  void tell_of_work(double fraction) { tell(std::min(fraction, 0.99)); }
  void tell(double fraction) {
    if (!*this) return;
    if (fraction > 1) fraction = 1;
    const bool last_word = fraction >= 1;
    fraction *= share_;
    const std::unique_lock hold(lock_, std::try_to_lock);
    // Whoever reports now speaks for the others; the last word is never left out.
    if (!hold && !last_word) return;
    if (!hold) lock_.lock();
    const std::unique_lock own = hold ? std::unique_lock<std::mutex>() : std::unique_lock<std::mutex>(lock_, std::adopt_lock);
    if (fraction < last_ + 0.01 && !last_word) return;
    if (fraction <= last_) return;
    last_ = fraction;
    report(fraction);
  }
  void report(double fraction) const {
    for (const detail::progress_call& c : told_) c.report(c.f.get(), fraction);
  }

  std::vector<detail::progress_call> told_;
  std::size_t vertices_ = 1;
  std::atomic<std::size_t> done_{0};
  std::atomic<std::uint64_t> parts_done_{0};
  std::mutex lock_;
  double last_ = 0, share_ = 1;
  static constinit thread_local double next_share_;
};

// Repeats a query's report twenty times a second as long as it lives. What a report throws stops the query.
class progress_beat {
 public:
  progress_beat(progress& meter, const cancel_flag& flag);
  ~progress_beat();
  progress_beat(const progress_beat&) = delete;
  progress_beat& operator=(const progress_beat&) = delete;

 private:
  std::mutex lock_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace query::runtime
