// Stream sockets between the processes of a session, each end of which has proved the session's token (handshake.hpp) before it is
// handed out. They block, and programs that the process starts do not get them.
//
//   const session_token token = session_token::random();
//   listener at(address::parse("tcp:"), token);                                  // the master: loopback, a port of the system's
//   auto fd = connect_to(at.where(), token, 2, std::chrono::seconds(5));         // container 2
//   if (auto peer = at.accept(std::chrono::seconds(5))) use(peer->fd, peer->number);
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "cluster/transport/address.hpp"
#include "cluster/transport/file_descriptor.hpp"
#include "cluster/transport/handshake.hpp"
#include "cluster/transport/wake_signal.hpp"

namespace query::cluster::transport {

class listener {
 public:
  using clock = std::chrono::steady_clock;

  listener(const address& where, const session_token& token);  // throws cluster_error
  ~listener();
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  const address& where() const { return where_; }

  struct peer {
    file_descriptor fd;
    std::uint64_t number = 0;  // which it gave, and proved with its token
  };
  // Of one thread. The next peer that knows the token; nothing: none came within the limit. Peers prove themselves side by side, so one
  // that says nothing, or something else, delays no other and ends by itself. A signal ends the wait at once.
  std::optional<peer> accept(std::chrono::milliseconds limit, const wake_signal* woken = nullptr);

  // Connections that have not proved themselves: how many there are at once, and how long each has. More wait in the system's queue, and
  // take the place of those that were silent for a while.
  static constexpr std::size_t most_unproved = 64;
  static constexpr std::chrono::milliseconds patience{5000}, a_while{500};

 private:
  struct unproved {
    file_descriptor fd;
    clock::time_point began;
    challenge of_listener{};
    connector_proof said;
    std::size_t bytes = 0;  // of what it said
  };
  enum class state { waits, proved, ends };

  void take_new();
  state hear(unproved& one);

  address where_;
  const session_token token_;
  file_descriptor fd_;
  std::list<unproved> unproved_;  // the oldest first
};

// Throws cluster_error: nobody listens there, who listens does not know the token, or the limit has passed; or what is given up.
file_descriptor connect_to(const address& where, const session_token& token, std::uint64_t number, std::chrono::milliseconds limit,
                           const std::atomic<bool>* given_up = nullptr);

}  // namespace query::cluster::transport
