// A container, as the master sees it: the process that a backend started, the socket to it, and a thread that hands what comes from it to the
// queries that wait for it.
//
//   local_process p("process 2 of local:4", backend.start(0), hello);
//   auto box = p.open(query);                         // until it is closed
//   p.send(message_kind::run_vertex, query, bytes);
//   message m = box->wait(p, cancel);                 // throws process_lost, cancelled
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "cluster/backends/backend.hpp"
#include "cluster/connection.hpp"
#include "cluster/messages.hpp"
#include "runtime/cancellation.hpp"

namespace query::cluster {

class local_process {
 public:
  // The messages from the process to one query.
  class mailbox {
   public:
    message wait(local_process& from, const runtime::cancel_flag& cancel);

   private:
    friend class local_process;
    std::mutex lock_;
    std::condition_variable some_;
    std::deque<message> messages_;
  };

  local_process(std::string name, std::unique_ptr<backends::container_process> process, const hello& first);
  ~local_process();  // the process ends with it
  local_process(const local_process&) = delete;
  local_process& operator=(const local_process&) = delete;

  std::shared_ptr<mailbox> open(std::uint64_t query);
  void close(std::uint64_t query);
  // Throws runtime::process_lost, cancelled; a query that was cancelled while the process took nothing costs the process.
  void send(message_kind kind, std::uint64_t query, const runtime::cancel_flag& cancel, std::span<const std::byte> head,
            std::span<const std::byte> rest = {});
  bool lost() const { return lost_; }
  const std::string& name() const { return name_; }

  // A process that says nothing is asked whether it is there; its answer needs no thread that runs functions of the user's.
  static constexpr std::chrono::milliseconds silence{500}, patience{3000}, patience_at_start{60000};

 private:
  [[noreturn]] void throw_lost();
  void read();
  void wait_for_word();
  void lose(const std::string& why);

  const std::string name_;
  const std::unique_ptr<backends::container_process> process_;
  std::unique_ptr<connection> to_;
  std::atomic<bool> lost_{false}, ending_{false}, answered_{false};
  std::atomic<std::chrono::steady_clock::rep> heard_{0}, asked_{0};
  std::mutex lock_;
  std::string why_lost_;
  std::unordered_map<std::uint64_t, std::shared_ptr<mailbox>> boxes_;
  std::thread reader_;
};

}  // namespace query::cluster
