// Hands the blocks of this process to the other processes of its session, which pull them.
//
//   block_server server(transport::address::parse("unix:"), token);
//   server.open(query, store);                   // until close(query)
//   others connect to server.where()
//
// Each connection has a thread. Pages go out as fast as their reader takes them: what it has not read stays here, in memory or in a file.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "cluster/blocks/block_store.hpp"
#include "cluster/connection.hpp"
#include "cluster/transport/listener.hpp"
#include "cluster/transport/wake_signal.hpp"

namespace query::cluster {

// Of messages about blocks: which one is wanted and how, and what precedes the bytes of a page. The size of a block, which the master has
// told, includes a checksum of all of its pages. A process of the same machine may ask for the places of pages instead, and reads them
// itself: they stay until its next message, or its end. It is told some at a time: block_read asks for more.
enum class handed : std::uint32_t { over_socket, by_place };
struct block_name {
  step_id step = 0;
  std::uint32_t attempt = 0, bucket = 0;
  handed how = handed::over_socket;
  std::uint32_t first_page = 0;
};
struct page_header {
  std::uint64_t rows = 0;
};
struct page_place {
  std::uint64_t rows = 0, address = 0, bytes = 0;
};

class block_server {
 public:
  block_server(const transport::address& at, const transport::session_token& token);
  ~block_server();
  block_server(const block_server&) = delete;
  block_server& operator=(const block_server&) = delete;

  std::string where() const { return listener_.where().text(); }
  void open(std::uint64_t query, std::shared_ptr<const block_store> blocks);
  void close(std::uint64_t query);

 private:
  struct peer {
    explicit peer(int fd) : to(fd) {}
    connection to;
    std::atomic<bool> ended{false};
    std::thread serves{};
  };
  struct wanted_pages;
  void accept();
  void serve(peer& p);
  wanted_pages find(std::uint64_t query, const block_name& b);
  bool answer(peer& p, std::uint64_t query, wanted_pages& wanted);

  transport::listener listener_;
  const transport::wake_signal wake_;
  std::atomic<bool> ending_{false};
  std::mutex lock_;
  std::unordered_map<std::uint64_t, std::shared_ptr<const block_store>> stores_;
  std::list<peer> peers_;
  std::atomic<std::size_t> n_peers_{0};
  std::thread accepts_;
};

}  // namespace query::cluster
