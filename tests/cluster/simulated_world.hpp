// The world that a seed makes: master, processes, network and leader, of simulation.cpp and simulated_leader.cpp.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "cluster/container/written_name.hpp"
#include "simulation.hpp"

namespace query::tests::simulated {

using namespace query::cluster;

// A process of a partition. What a lost one still sends, as a zombie does, the master has to see through.
struct process {
  host_id id;
  bool alive = true;
  std::uint64_t slow = 1;  // it takes so many times as long
  task_queue queue;
  std::map<std::uint64_t, rows> tables;                                     // by vertex
  std::map<step_id, rows> variables;                                        // of loops, in each of their rounds
  std::map<step_id, std::pair<std::uint32_t, std::vector<rows>>> sent;      // with the attempt that made them
  std::map<std::pair<step_id, std::uint32_t>, std::map<std::uint64_t, rows>> inbox;  // of a task's attempt, by sender's attempt
};

class world {
 public:
  explicit world(const options& o) : options_(o), random_(o.seed), plan_(plan_of()), master_(options_of()) {}

  outcome run();

 private:
  struct event {
    std::uint64_t at = 0, number = 0;
    std::function<void()> what;
    bool operator<(const event& e) const { return std::pair(at, number) > std::pair(e.at, e.number); }
  };

  plan plan_of();
  master::options options_of();
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool one_in(std::uint64_t n) { return options_.faults && below(n) == 0; }
  void later(std::uint64_t delay, std::function<void()> what) { events_.push({now_ + delay, ++numbers_, std::move(what)}); }
  void note(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0);
  void next();
  void look_for_slow_until(std::uint64_t at);
  std::string where() const { return " at op " + std::to_string(at_) + " of " + std::to_string(plan_.ops.size()); }

  process made(host_id id);
  process* find(const host_id& id);

  // ------------------------------------------------------------ faults
  void maybe_kill();
  void lose(host_id id, bool zombie);
  void lost(host_id id, const char* why);

  // ------------------------------------------------------------ the master, and messages to and from it
  void tell(const master_event& e);
  void send(std::uint64_t from, std::uint64_t to, std::function<void()> what);
  using place = std::pair<step_id, std::uint32_t>;
  static place place_of(const task_id& t) { return {t.step, t.partition}; }
  static std::uint64_t name(const host_id& id) { return (std::uint64_t{id.partition} << 32) + id.incarnation; }
  static std::uint64_t name(const block& b) { return (name(b.at) << 12) + b.attempt; }

  void act(const master_actions& actions);
  static queue_event event_of(const run_task& a) { return a.task; }
  static queue_event event_of(const redirect& a) { return other_block{a.task, a.instead}; }
  static queue_event event_of(const drop& a) { return no_longer_read{a.step}; }
  static queue_event event_of(const give_up& a) { return given_up{a.step}; }
  // What the leader says to its own partitions, and they to it, is said within what it was doing.
  bool is_current(const host_id& id) const {
    const auto known = incarnations_.find(id.partition);
    return id.partition < local_ || (known != incarnations_.end() && known->second == id.incarnation);
  }
  void start(const start_host& a);
  void take_its_place(const host_id& id);
  void end(const host_id& id);
  bool is_nested(const host_id& id) const { return nested_ && id.partition < local_; }
  void to_process(host_id id, queue_event e);
  void to_master(const host_id& from, const master_event& e);

  // ------------------------------------------------------------ processes
  void put(process& p, const queue_event& e);
  void do_it(host_id id, const queue_action& a);
  void pulled_now(host_id id, const pull& want);

  bool is_pending(const task_id& t) const;
  void pull_fails(process& p, const pull& want);

  void work_now(process& p, const task& t);

  // ------------------------------------------------------------ the leader
  std::uint32_t all() const { return plan_.partitions; }
  bool done(step_id s) const { return lockstep_ ? master_.done(s) : master_.done(s, 0); }
  void lead();
  void wait(step_id s, bool for_all);
  step_id submit(step s);
  bool one();
  void release(const std::vector<step_id>& gone);

  // ------------------------------------------------------------ rows that are handed on in order, and files of partitions
  bool ask_for_next();
  bool hand_on(const op& o, const std::vector<step_id>& reads);
  void write_now(host_id id, const task& t, rows all);
  void commit(const op& o);

  // ------------------------------------------------------------ loops whose variable lies in partitions
  static bool is_variable(std::uint64_t number) { return number >= variable_numbers; }
  step_id of_variable(work does, std::vector<step_id> reads, step_id receives = 0);
  void see_saved();
  void forget_given_up();
  void restart();

  std::vector<std::vector<std::byte>> shares() const;
  std::vector<std::vector<std::byte>> places() const;
  std::vector<std::byte> begins() const;

  // ------------------------------------------------------------ what has to be
  void fail(const master::failure& f);
  void check_end();

  void check_read();

  void drain();

  const options options_;
  std::mt19937_64 random_;
  const plan plan_;
  std::uint32_t local_ = 1;
  bool lockstep_ = false, nested_ = false, kills_late_ = false;  // late: when rows are handed on, or written
  bool calm_ = false;                                            // nothing is lost, but copies: these may not cost the query anything
  std::uint64_t kills_left_ = 0;
  std::uint32_t most_losses_ = 1000, most_lost_ = 0;
  bool replayable_ = true;
  std::map<std::uint32_t, std::uint32_t> losses_;
  std::set<std::uint64_t> known_lost_;
  master master_;
  expectation expected_;
  std::uint64_t now_ = 0, numbers_ = 0;
  std::priority_queue<event> events_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> channels_;
  std::deque<process> processes_;
  std::map<std::uint32_t, std::uint32_t> incarnations_{{0, 1}};  // of those that are the partitions' hosts
  std::set<std::uint64_t> ended_;                                // hosts: of a copy and a slow one, that which was second
  std::uint64_t next_look_ = 0;
  bool repeated_ = false;                                        // something was computed again, or may be
  struct by_name {
    bool operator()(const host_id& a, const host_id& b) const { return name(a) < name(b); }
  };
  std::map<host_id, std::int64_t, by_name> pulls_;

  std::size_t at_ = 0;
  step_id waits_for_ = 0, folding_ = 0, counting_ = 0, sampling_ = 0;
  std::set<step_id> errors_of_pulls_;  // of steps that are wanted: the query is to end with one of them
  bool waits_for_all_ = false, over_ = false, failed_ = false, differed_ = false;
  std::uint64_t actions_vertex_ = 0, answer_ = 0;
  static constexpr std::uint64_t variable_numbers = 1000;  // of the variable of a loop in a round: with the vertex in the last digits
  struct saving {
    std::size_t at = 0;
    step_id of = 0, sends = 0, holds = 0;
  };
  struct handing {
    step_id sends = 0, given = 0, coming = 0;
    std::uint32_t sender = 0, bucket = 0;
    rows all;
  };
  handing handing_;
  step_id writing_ = 0;
  using file = std::shared_ptr<rows>;
  std::map<std::string, file> files_;                                       // of a folder that all processes see, by their names
  std::map<std::uint64_t, std::vector<std::pair<file, rows>>> committed_;   // of a vertex: its files, by partition, and what was in them
  std::uint64_t loop_ = 0, rounds_made_ = 0;
  std::size_t began_ = 0;
  step_id variable_ = 0, previous_ = 0, ending_ = 0;
  saving saving_, saved_;
  std::vector<step_id> after_saving_;
  std::set<step_id> held_;
  std::map<std::uint64_t, std::vector<step_id>> steps_;
  std::map<std::uint64_t, const op*> ops_of_;
  std::map<std::uint64_t, std::uint64_t> taken_;
  std::map<std::pair<place, std::uint64_t>, std::uint32_t> asked_;          // of each task, by its host: the last attempt
  using blocks_read = std::pair<std::uint32_t, std::vector<block>>;
  std::map<place, blocks_read> read_;                                       // of each receiver: by its last attempt
  std::map<std::pair<place, std::uint64_t>, blocks_read> read_by_copy_;     // and its host, before that is its partition's
  std::set<place> pulls_failed_;
  std::string wrong_;
  outcome out_;
};

}  // namespace query::tests::simulated
