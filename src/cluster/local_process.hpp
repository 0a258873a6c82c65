// A container, as the master sees it: the process that a backend started, the socket to it, and a thread that hands what comes from it to
// the queries that have opened it.
//
//   local_process p("process 2 of local:4", backend.start(0), hello);
//   p.open(query, who, {1, 1});                       // who->heard(...), who->lost(...), until it is closed
//   p.send(message_kind::task, query, cancel, bytes);
//   p.look_after();                                   // now and then, by who waits for it
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "cluster/backends/backend.hpp"
#include "cluster/connection.hpp"
#include "cluster/master/tasks.hpp"
#include "cluster/messages.hpp"
#include "runtime/cancellation.hpp"

namespace query::cluster {

class local_process {
 public:
  // The driver of a query. The process's reader thread calls it.
  class listener {
   public:
    virtual ~listener() = default;
    virtual void heard(const host_id& from, message m) = 0;
    virtual void lost(const host_id& from, const std::string& why) = 0;
  };

  local_process(std::string name, std::unique_ptr<backends::container_process> process, const hello& first);
  ~local_process();  // the process ends with it
  local_process(const local_process&) = delete;
  local_process& operator=(const local_process&) = delete;

  void open(std::uint64_t query, std::shared_ptr<listener> who, const host_id& as);
  void close(std::uint64_t query);
  // Throws runtime::process_lost, cancelled; a query that was cancelled while the process took nothing costs the process.
  void send(message_kind kind, std::uint64_t query, const runtime::cancel_flag& cancel, std::span<const std::byte> head,
            std::span<const std::byte> rest = {});
  // A process that says nothing is asked whether it is there, and lost if it does not answer.
  void look_after();
  // Where others find its blocks, as soon as it has said so. Throws process_lost, cancelled.
  std::string listens_at(const runtime::cancel_flag& cancel);
  bool lost() const { return lost_; }
  const std::string& name() const { return name_; }

  // Its answer needs no thread that runs functions of the user's.
  static constexpr std::chrono::milliseconds silence{500}, patience{3000}, patience_at_start{60000};

 private:
  [[noreturn]] void throw_lost();
  void read();
  void lose(const std::string& why);

  const std::string name_;
  const std::unique_ptr<backends::container_process> process_;
  std::unique_ptr<connection> to_;
  std::atomic<bool> lost_{false}, ending_{false}, answered_{false};
  std::atomic<std::chrono::steady_clock::rep> heard_{0}, asked_{0};
  std::mutex lock_;
  std::string why_lost_;
  struct opened {
    std::shared_ptr<listener> who;
    host_id as;
  };
  std::unordered_map<std::uint64_t, opened> queries_;
  std::string listens_at_;
  std::condition_variable says_where_;
  std::thread reader_;
};

}  // namespace query::cluster
