// Pulls blocks from the processes that hold them, a few at once; each pull ends with a call on a thread of the puller's.
//
//   block_puller pulls(connections, pool, [](block_puller::outcome o) { ... });
//   pulls.peer({2, 1}, "unix:@...", query);             // where the host listens, and the number of the query there
//   pulls.pull(task, wanted, store.make());             // its pages go there as they come, and from there to files
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cluster/blocks/block_store.hpp"
#include "cluster/blocks/peer_connections.hpp"
#include "cluster/connection.hpp"
#include "runtime/buffer_pool.hpp"

namespace query::cluster {

class block_puller {
 public:
  // What became of a pull: its pages; or that they were not to be had, `gone` where their process said so; or an exception, as no memory.
  struct outcome {
    task_id task;
    block wanted;
    block_store::held_block pages;
    bool gone = false;
    std::exception_ptr error;
    std::uint32_t milliseconds = 0;  // that it took, if there are no pages
  };
  block_puller(peer_connections& connections, runtime::buffer_pool& pool, std::function<void(outcome)> ended);
  ~block_puller();  // those under way end, without a call
  block_puller(const block_puller&) = delete;
  block_puller& operator=(const block_puller&) = delete;

  void peer(const host_id& host, std::string where, std::uint64_t query);
  void pull(const task_id& task, const block& wanted, block_store::held_block into);

 private:
  static constexpr std::size_t most_at_once = 3;
  struct place {
    std::string where;
    std::uint64_t query = 0;
  };
  struct request {
    task_id task;
    block wanted;
    block_store::held_block into;
    place from;
  };
  void work();
  outcome pulled(const request& r);
  bool pull_from(connection& to, const request& r, outcome& o);
  static std::pair<std::uint32_t, std::uint32_t> key(const host_id& h) { return {h.partition, h.incarnation}; }

  peer_connections& connections_;
  runtime::buffer_pool& pool_;
  const std::function<void(outcome)> ended_;

  std::mutex lock_;
  std::condition_variable some_;
  std::atomic<bool> ending_{false};
  std::size_t idle_ = 0;
  std::deque<request> requests_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, place> peers_;
  std::vector<std::shared_ptr<connection>> in_use_;
  std::vector<std::thread> threads_;
};

}  // namespace query::cluster
