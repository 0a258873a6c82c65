// Connections to the processes that hold blocks. Pulls take one and give it back; the session keeps one idle connection for each process.
//
//   peer_connections peers(token);
//   std::shared_ptr<connection> to = peers.take("unix:@...", given_up);     // null: nobody listens there
//   peers.give_back("unix:@...", to);                                       // after a whole answer
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cluster/connection.hpp"
#include "cluster/transport/handshake.hpp"

namespace query::cluster {

// Thread-safe.
class peer_connections {
 public:
  explicit peer_connections(const transport::session_token& token) : token_(token) {}
  peer_connections(const peer_connections&) = delete;
  peer_connections& operator=(const peer_connections&) = delete;

  std::shared_ptr<connection> take(const std::string& where, const std::atomic<bool>& given_up);
  void give_back(const std::string& where, std::shared_ptr<connection> idle);

 private:
  const transport::session_token token_;
  std::mutex lock_;
  std::map<std::string, std::shared_ptr<connection>> idle_;
};

}  // namespace query::cluster
