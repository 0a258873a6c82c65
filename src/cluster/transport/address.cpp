#include "cluster/transport/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>

#include <query/errors.hpp>

namespace query::cluster::transport {

namespace {

[[noreturn]] void unknown(std::string_view text) {
  throw user_error("cluster: expected an address such as tcp:10.0.0.1:0 or unix:@name: found '" + std::string(text) + "'");
}

}  // namespace

// Hosts are numbers: looking up names may take as long as a name server likes, and can be done before.
address address::parse(std::string_view text) {
  address a;
  constexpr std::string_view local = "unix:", tcp = "tcp:";
  if (text.starts_with(local)) {
    const std::string_view path = text.substr(local.size());
    auto& to = reinterpret_cast<sockaddr_un&>(a.where_);
    to.sun_family = AF_UNIX;
    if (path.size() >= sizeof to.sun_path || path.find('\0') != path.npos || (!path.empty() && path[0] != '@' && path[0] != '/') ||
        path == "@")
      unknown(text);
    std::memcpy(to.sun_path, path.data(), path.size());
    if (path.starts_with('@')) to.sun_path[0] = '\0';
    // Names without a path have no terminator; the system names a socket that is bound to none.
    a.size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (path.starts_with('/') ? 1 : 0));
    return a;
  }
  if (!text.starts_with(tcp)) unknown(text);
  std::string_view rest = text.substr(tcp.size());
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  if (!rest.empty()) {
    const std::size_t colon = rest.rfind(':');
    if (colon == rest.npos) unknown(text);
    const std::string_view number = rest.substr(colon + 1);
    const auto [at, error] = std::from_chars(number.data(), number.data() + number.size(), port);
    if (number.empty() || error != std::errc() || at != number.data() + number.size()) unknown(text);
    rest = rest.substr(0, colon);
    if (rest.size() > 2 && rest.front() == '[' && rest.back() == ']') rest = rest.substr(1, rest.size() - 2);
    if (rest != "localhost") host = rest;
  }
  auto& four = reinterpret_cast<sockaddr_in&>(a.where_);
  if (::inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    a.size_ = sizeof four;
    return a;
  }
  auto& six = reinterpret_cast<sockaddr_in6&>(a.where_);
  if (::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) != 1) unknown(text);
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  a.size_ = sizeof six;
  return a;
}

address address::of_listener(int fd) {
  address a;
  a.size_ = sizeof a.where_;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&a.where_), &a.size_) != 0) throw cluster_error("cluster: a socket has no address");
  return a;
}

std::string address::text() const {
  if (!is_tcp()) {
    const auto& from = reinterpret_cast<const sockaddr_un&>(where_);
    std::string path(from.sun_path, size_ - offsetof(sockaddr_un, sun_path));
    if (path.starts_with('\0')) path[0] = '@';
    else path = path.c_str();
    return "unix:" + path;
  }
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (family() == AF_INET) {
    const auto& from = reinterpret_cast<const sockaddr_in&>(where_);
    ::inet_ntop(AF_INET, &from.sin_addr, host.data(), host.size());
    return std::string("tcp:") + host.data() + ":" + std::to_string(ntohs(from.sin_port));
  }
  const auto& from = reinterpret_cast<const sockaddr_in6&>(where_);
  ::inet_ntop(AF_INET6, &from.sin6_addr, host.data(), host.size());
  return std::string("tcp:[") + host.data() + "]:" + std::to_string(ntohs(from.sin6_port));
}

}  // namespace query::cluster::transport
