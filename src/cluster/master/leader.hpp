// Runs a query's partitions for the executor of the first one: the master's driver. It turns vertices into steps, does what the master asks
// for - by itself for partitions of this process, by messages for others - and tells it what came of that.
//
// The executor is on one thread, and all of this is. It works on the tasks of its own partitions when it waits for a step; the other
// processes have theirs meanwhile, and go on to the next ones: another thread attends to them as long as a task takes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/blocks/block_puller.hpp"
#include "cluster/bytes.hpp"
#include "cluster/container/partition_work.hpp"
#include "cluster/container/task_queue.hpp"
#include "cluster/local_process.hpp"
#include "cluster/master/attendant.hpp"
#include "cluster/master/master.hpp"
#include "cluster/master/session_cluster.hpp"
#include "runtime/heavy_keys.hpp"
#include "runtime/partitions.hpp"
#include "runtime/row_range.hpp"

namespace query::cluster {

// What has happened meanwhile, told by other threads to the one that leads.
class leader_inbox final : public local_process::listener {
 public:
  struct said {
    host_id from;
    std::optional<message> what;  // nothing: the process was lost
    std::string why;
    std::chrono::steady_clock::time_point at = std::chrono::steady_clock::now();
  };
  void heard(const host_id& from, message m) override { put({from, std::move(m), ""}); }
  void lost(const host_id& from, const std::string& why) override { put({from, std::nullopt, why}); }
  void put(said s);
  void put(block_puller::outcome o);
  // Waits for a moment if there is nothing, and not at all once it is closed.
  void await();
  void close();
  void take(std::deque<said>& from_processes, std::deque<block_puller::outcome>& pulled, bool wait);

 private:
  std::mutex lock_;
  std::condition_variable some_;
  std::deque<said> said_;
  std::deque<block_puller::outcome> pulled_;
  bool closed_ = false;
};

class leader final : public runtime::partitions {
 public:
  leader(planner::machine_graph& first, runtime::session_state& session, runtime::run_context& context,
         std::shared_ptr<const prepared_plan> sent);
  ~leader() override;
  leader(const leader&) = delete;
  leader& operator=(const leader&) = delete;

  void leads(runtime::executor& first) override;
  bool others_have(const planner::vertex& v) const override;
  void make_anew(const planner::vertex& v) override;
  void begin_loop(const planner::vertex& v) override;
  void next_round(const planner::vertex& v) override;
  void forget_previous() override;
  void save(std::uint64_t round) override;
  std::uint64_t restart(const planner::vertex& v) override;
  runtime::vertex_rows end_loop(const planner::vertex& v) override;
  void run(const planner::vertex& v) override;
  void forget(const std::vector<planner::vertex*>& vs) override;
  std::optional<std::uint64_t> rows_of_result() const override;
  void verify_result() override;
  std::string repairs() const override;
  void count_pieces() override;
  void fold(detail::fold_kind k, detail::fold_state& state) override;
  std::vector<std::vector<data::written_file>> write(const data::folder_sink& to) override;
  void hand_on(const planner::vertex* v) override { handed_on_ = v; }
  bool next_rows() override;

 private:
  // A partition of this process.
  struct here {
    planner::machine_graph* graph = nullptr;
    runtime::run_context* context = nullptr;
    std::unique_ptr<planner::machine_graph> own_graph{};
    std::unique_ptr<runtime::run_context> own_context{};
    std::unique_ptr<runtime::executor> own_executor{};
    std::vector<runtime::row_range> parts_of_sources{};
    std::unique_ptr<partition_work> work{};
    task_queue queue{{}};
  };
  struct there {
    std::shared_ptr<local_process> process;
    host_id as;
    std::string where;
    std::uint64_t query = 0;  // as the process knows it: it may run a copy of another partition
  };
  // How the rows of an exchange go, now that some have been counted.
  struct revision {
    sent_to to = sent_to::as_planned;
    runtime::heavy_keys heavy{};
    std::vector<std::vector<std::uint64_t>> rows{};  // of the exchange that spreads its heavy keys: of each sender, for each receiver
    runtime::heavy_keys of_sender(std::size_t sender) const;
  };
  std::size_t parts() const { return static_cast<std::size_t>(all_[0].graph->partitions); }
  bool is_here(std::uint32_t partition) const { return partition < all_.size(); }
  static std::uint64_t milliseconds_at(std::chrono::steady_clock::time_point t) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count());
  }

  // Steps.
  void begin();
  step_id submit(step s);
  step_id submit(const planner::vertex* v, work does, int partitions, step_id receives = 0,
                 std::vector<std::vector<std::byte>> arguments = {});
  step_id step_of_result(work does, std::vector<std::vector<std::byte>> arguments);
  void add_reads(std::vector<step_id>& reads, const planner::branch& b) const;
  void add_reads(std::vector<step_id>& reads, const planner::vertex* table) const;
  std::vector<step_id> reads_of(const planner::vertex& v) const;
  void wait_here(step_id s);  // until the partitions of this process have it
  void wait(step_id s);       // all
  void exchange(const planner::vertex& v);
  revision revised(const planner::vertex& exchange);
  std::vector<std::vector<std::uint64_t>> rows_by_hash(const planner::vertex& exchange);
  std::vector<std::uint64_t> sampled_hashes(const planner::vertex& exchange, const std::vector<std::vector<std::uint64_t>>& rows);
  std::string find_heavy_keys(const planner::vertex& build, const std::vector<std::vector<std::uint64_t>>& build_rows, revision& of_build);
  void note_skew(const planner::vertex& exchange, step_id sends);
  void place_file(const planner::vertex& v);
  std::vector<std::byte> begins_of_ranges(const planner::vertex& v);
  std::vector<std::vector<std::byte>> ends_of_places(const planner::vertex& v);
  void progressed() const;

  // Rows that are handed on in order, as they come.
  void begin_handing_on(const planner::vertex& v, byte_writer argument);
  bool ask_for_next();

  // Of a loop whose variable lies in partitions.
  step_id variable_step(const planner::vertex& loop, work does, std::vector<step_id> reads, step_id receives,
                        std::optional<variable_from> from = {});
  void first_rows(const planner::vertex& loop);
  void see_saved();
  void release(const std::vector<step_id>& gone);

  // What goes on.
  void go_on(function_ref<bool()> until);
  void attend(bool wait);
  void look_after_others();
  void begin_attending();
  void end_attending();
  void tell(const master_event& e, std::chrono::steady_clock::time_point at = std::chrono::steady_clock::now());
  void act(const master_actions& actions);
  void act(const queue_actions& actions, std::uint32_t partition);
  void put(std::uint32_t partition, const queue_event& e);
  void work_here();
  task_result worked_on(here& p, const task& t);
  void start_hosts();
  void begin_host(const host_id& host, std::shared_ptr<local_process> process);
  void introduce(const there& to);
  there* known(const host_id& host);
  void close(there& t);
  void close_all();
  void look_for_slow();
  void send_plan(const there& to);
  void send(const host_id& to, message_kind kind, std::span<const std::byte> what);
  void heard(leader_inbox::said& s);
  void count_done(const task_id& t, const host_id& by, const task_result& r);
  void named(function_ref<void()> f);
  [[noreturn]] void raise();

  runtime::session_state* session_;
  std::vector<here> all_;
  std::shared_ptr<const prepared_plan> sent_;  // null: all partitions are here
  session_cluster* cluster_ = nullptr;
  bool replayable_ = true;
  std::unordered_map<const planner::vertex*, std::vector<const detail::logical*>> sources_;  // as they were sent; null: of the result
  std::unordered_map<const planner::vertex*, std::uint64_t> numbers_;

  std::uint64_t writes_ = 0;  // how often the result has been written: each time to files of other names
  master::repairs repaired_before_;  // in a run that began again
  const planner::vertex* handed_on_ = nullptr;

  // Of a run.
  const runtime::executor* leads_ = nullptr;
  std::unordered_map<const planner::vertex*, std::uint64_t> cached_numbers_;  // of cached() ones, as processes know their rows
  std::uint64_t query_ = 0;
  bool begun_ = false;
  const planner::vertex* waits_for_ = nullptr;  // null: the terminal verb
  std::optional<master> master_;
  std::unordered_map<const planner::vertex*, std::vector<step_id>> steps_;  // the last one leaves the vertex's table
  const planner::vertex* loop_ = nullptr;                                   // that is running, and whose variable lies in partitions
  std::uint64_t rounds_made_ = 0;                                           // variables, of which each has a number of its own
  step_id now_ = 0, previous_ = 0;                                          // made them
  struct saving {  // of a variable: held in this process
    std::uint64_t round = 0;
    step_id of = 0, sends = 0, holds = 0;
    std::chrono::steady_clock::time_point begun{};
  };
  saving saving_, saved_;                                                   // 0: none
  std::vector<step_id> after_saving_;                                       // then they are no longer wanted
  std::chrono::steady_clock::time_point last_saved_{};
  std::chrono::steady_clock::duration cost_of_saving_{};
  std::uint64_t round_ = 0, rounds_again_ = 0;
  struct handing {
    step_id sends = 0;
    std::uint32_t sender = 0, bucket = 0;                                   // the block to ask for next
    step_id given = 0, coming = 0;                                          // blocks that the reader has, and that is on its way
  };
  handing handing_;
  std::unordered_map<const planner::vertex*, step_id> placed_;              // files of which each partition reads a part
  std::unordered_map<const planner::vertex*, revision> revised_;            // exchanges that are yet to run
  std::set<step_id> stays_;                                                 // steps that send no row to another partition
  std::map<step_id, const planner::vertex*> vertices_;                      // whose progress is to be told
  std::deque<std::pair<std::uint32_t, task>> to_do_;                        // by partitions of this process
  std::vector<start_host> to_start_;
  struct task_error {
    std::exception_ptr what;
    bool unnamed = false;                                                   // it does not say yet where in the query it was
  };
  std::map<std::pair<step_id, std::uint32_t>, task_error> errors_;
  std::vector<there> there_;                                                // by partition
  there copy_;                                                              // of one that is slow
  std::chrono::steady_clock::time_point looked_{};                          // for slow tasks
  std::shared_ptr<leader_inbox> inbox_;
  std::unique_ptr<block_puller> pulls_;

  // While this thread works on a task.
  bool works_ = false;
  std::vector<std::pair<std::uint32_t, forget_rows>> to_forget_;            // when it has ended
  std::exception_ptr error_of_others_;
  std::optional<attendant> attends_;
};

}  // namespace query::cluster
