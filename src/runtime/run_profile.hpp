// Counts what a run does, in a record for each vertex of its machine graph and one for the terminal verb. explain() and
// query::profile show it afterwards (kept_profiles.hpp).
//
// Time belongs to one record at a time: a vertex that another one reads piece by piece has its own while it makes a piece. The clock is
// read for each vertex and each task, never for each row.
//
//   profiled_run run(graph, pool, threads, ticks());
//   const profiled_run::scope now(&run, v.number);               // until it ends, time and tasks are those of v
//   measured_scheduler(threads, &run).for_each(n, task, cancel);  // adds each task's time to that record
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <query/profile.hpp>

#include "planner/machine_graph.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/tick_clock.hpp"

namespace query::runtime {

// Counters are atomic, as tasks on any thread add to them; pages may go to files even after the run.
struct profiled_vertex {
  profiled_vertex() {}  // NOLINT: not zeroed before its members are

  std::atomic<std::uint64_t> rows_in{0}, rows_out{0}, bytes_out{0}, morsels{0}, spilled{0}, rounds{0};
  std::atomic<std::uint64_t> ticks{0}, busy{0};  // of the clock; of all threads inside tasks
  std::atomic<std::uint64_t> peak{0};            // bytes of the session
  std::atomic<std::uint64_t> perfect{0};         // keys in the range of a perfect hash table, if that was what the vertex made
  std::atomic<bool> ran{false};
  bool reads_source = false;
  // Of its name, which is made when somebody asks for it.
  bool has_verb = false;
  detail::verb what{};
  int place = 0;                              // among the vertices, as explain() numbers them; 0: the result
  std::weak_ptr<const detail::logical> verb;  // without one: the join that probes its hash table
  std::string engine;

  void add_rows_in(std::uint64_t n) { rows_in.fetch_add(n, std::memory_order_relaxed); }
  void gave(std::uint64_t rows, std::uint64_t bytes) {
    // By the thread that takes them: there is one.
    rows_out.store(rows_out.load(std::memory_order_relaxed) + rows, std::memory_order_relaxed);
    bytes_out.store(bytes_out.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
};

class profiled_run {
 public:
  // Numbers the vertices of the graph. begin: ticks() when the run began, before it was planned.
  profiled_run(planner::machine_graph& g, buffer_pool& pool, const scheduler& threads, std::uint64_t begin);
  profiled_run(const profiled_run&) = delete;
  profiled_run& operator=(const profiled_run&) = delete;

  static constexpr int nobody = -1;
  int result() const { return vertices_; }
  profiled_vertex* at(int number) { return number < 0 ? nullptr : &records_[number]; }
  profiled_vertex& of_result() { return records_[vertices_]; }
  profiled_vertex* now() { return at(current_.load(std::memory_order_relaxed)); }

  // From here on, time is that of another record. Returns whose it was.
  int enter(int number) noexcept;

  // While it lives, time is that of a vertex, and then of the one before. Without one before it stays the vertex's until the next begins:
  // that saves a look at the clock. No switch in tasks, whose time is their vertex's, nor for vertices that the plan does not show.
  class scope {
   public:
    scope(profiled_run* run, int number);
    ~scope() {
      if (before_ != nobody) run_->enter(before_);
    }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

   private:
    profiled_run* run_;
    int before_ = nobody;
  };

  void clear();  // the vertices run again
  // The run is over. What terminal verbs add to the user's query is not part of it.
  void end(const detail::logical& last, std::string_view terminal) noexcept;

  // After the end.
  const detail::logical* query() const { return of_; }  // the user's last verb; compare with living ones only
  bool is_of(const detail::logical& n) const { return of_ == &n && !alive_.expired(); }
  bool forgotten() const { return alive_.expired(); }   // nobody can ask for it any more
  const std::string& terminal() const { return terminal_; }  // as the planner knows it, and verbs that it adds: "rows first"
  bool fits(const planner::machine_graph& g) const;          // the same vertices
  std::string text_of(int number) const;                     // "ran in 12.3 ms: ..."; empty: it did not run
  std::shared_ptr<const vertex_profile> observed(int number) const;  // null: it did not run
  run_profile shown() const;

 private:
  vertex_profile shown(const profiled_vertex& r) const;
  std::string name_of(int number) const;

  std::atomic<int> current_{nobody};
  profiled_vertex* records_;
  const int vertices_, threads_;
  static constexpr std::size_t few = 3;  // records without an allocation of their own, for queries that take microseconds
  profiled_vertex few_[few];
  const std::unique_ptr<profiled_vertex[]> many_;
  buffer_pool* pool_;
  std::atomic<std::uint64_t> since_;
  const std::uint64_t begin_;
  std::uint64_t all_ = 0;  // ticks of the run
  const detail::logical* of_ = nullptr;
  std::weak_ptr<const detail::logical> alive_;
  std::string terminal_;
  std::vector<std::pair<int, std::string>> added_;  // names of vertices that the terminal verb added: their verbs go with the run
};

// Adds up the time that threads spend in tasks. Tasks within tasks have been counted.
class measured_scheduler final : public scheduler {
 public:
  explicit measured_scheduler(scheduler& threads, profiled_run* run = nullptr) : threads_(&threads), run_(run) {}
  void measure(profiled_run* run) { run_ = run; }
  int concurrency() const override { return threads_->concurrency(); }
  void for_each(std::size_t n, function_ref<void(std::size_t)> task, const cancel_flag& cancel) override;

 private:
  scheduler* threads_;
  profiled_run* run_;  // null: nobody asks
};

// "12.3 ms", "3.2 MiB", "1,000,000"
std::string readable_seconds(double s);
std::string readable_bytes(std::uint64_t bytes);
std::string readable_count(std::uint64_t n);

}  // namespace query::runtime
