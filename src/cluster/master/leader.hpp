// Runs a query's partitions for the executor of the first one: the master's driver. It turns vertices into steps, does what the master asks
// for - by itself for partitions of this process, by messages for others - and tells it what came of that.
//
// The executor is on one thread, and all of this is. It works on the tasks of its own partitions when it waits for a step; the other
// processes have theirs meanwhile, and go on to the next ones.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/blocks/block_puller.hpp"
#include "cluster/container/partition_work.hpp"
#include "cluster/container/task_queue.hpp"
#include "cluster/local_process.hpp"
#include "cluster/master/master.hpp"
#include "cluster/master/session_cluster.hpp"
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
  };
  void heard(const host_id& from, message m) override { put({from, std::move(m), ""}); }
  void lost(const host_id& from, const std::string& why) override { put({from, std::nullopt, why}); }
  void put(said s);
  void put(block_puller::outcome o);
  // Waits for a moment if there is nothing.
  void take(std::deque<said>& from_processes, std::deque<block_puller::outcome>& pulled, bool wait);

 private:
  std::mutex lock_;
  std::condition_variable some_;
  std::deque<said> said_;
  std::deque<block_puller::outcome> pulled_;
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
  void run(const planner::vertex& v) override;
  void forget(const std::vector<planner::vertex*>& vs) override;
  std::optional<std::uint64_t> rows_of_result() const override;
  void verify_result() override;
  std::string repairs() const override;
  void count_pieces() override;
  void fold(detail::fold_kind k, detail::fold_state& state) override;

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
  };
  std::size_t parts() const { return static_cast<std::size_t>(all_[0].graph->partitions); }
  bool is_here(std::uint32_t partition) const { return partition < all_.size(); }

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
  void place_file(const planner::vertex& v);
  std::vector<std::byte> begins_of_ranges(const planner::vertex& v);
  void progressed() const;

  // What goes on.
  void go_on(function_ref<bool()> until);
  void tell(const master_event& e);
  void act(const master_actions& actions);
  void act(const queue_actions& actions, std::uint32_t partition);
  void put(std::uint32_t partition, const queue_event& e);
  void work_here();
  void start_hosts();
  there begun(const host_id& host);
  void send_plan(const std::shared_ptr<local_process>& to, const host_id& as);
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

  master::repairs repaired_before_;  // in a run that began again

  // Of a run.
  const runtime::executor* leads_ = nullptr;
  std::unordered_map<const planner::vertex*, std::uint64_t> cached_numbers_;  // of cached() ones, as processes know their rows
  std::uint64_t query_ = 0;
  bool begun_ = false;
  const planner::vertex* waits_for_ = nullptr;  // null: the terminal verb
  std::optional<master> master_;
  std::unordered_map<const planner::vertex*, std::vector<step_id>> steps_;  // the last one leaves the vertex's table
  std::unordered_map<const planner::vertex*, step_id> placed_;              // files of which each partition reads a part
  std::map<step_id, const planner::vertex*> vertices_;                      // whose progress is to be told
  std::deque<std::pair<std::uint32_t, task>> to_do_;                        // by partitions of this process
  std::vector<host_id> to_start_;
  std::map<std::pair<step_id, std::uint32_t>, std::exception_ptr> errors_;
  std::vector<there> there_;                                                // by partition
  std::shared_ptr<leader_inbox> inbox_;
  std::unique_ptr<block_puller> pulls_;
};

}  // namespace query::cluster
