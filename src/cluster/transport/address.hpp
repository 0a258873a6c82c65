// Where a master listens for its containers.
//
//   unix:@NAME         an abstract name: gone with its listener
//   unix:/PATH         a socket in a folder that only the user can enter
//   unix:              an abstract name that the listener chooses
//   tcp:HOST:PORT      HOST is a number (10.0.0.1, [::1]) or localhost; port 0: the system chooses
//   tcp:               loopback, and a port that the system chooses
//
//   const address a = address::parse("tcp:10.0.0.1:0");        // throws user_error
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

namespace query::cluster::transport {

class address {
 public:
  static address parse(std::string_view text);
  // Of a socket: the port or name that the system chose for it.
  static address of_listener(int fd);
  std::string text() const;

  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&where_); }
  socklen_t size() const { return size_; }
  int family() const { return where_.ss_family; }
  bool is_tcp() const { return family() != AF_UNIX; }

 private:
  sockaddr_storage where_{};
  socklen_t size_ = 0;
};

}  // namespace query::cluster::transport
