#include "cluster/connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace query::cluster {

namespace {

constexpr std::uint32_t magic = 0x31435151;  // "QQC1"
struct header {
  std::uint32_t magic = cluster::magic;
  message_kind kind = message_kind::done;
  std::uint64_t query = 0, bytes = 0;
};

}  // namespace

connection::~connection() { ::close(fd_); }
void connection::close() { ::shutdown(fd_, SHUT_RDWR); }
bool connection::is_idle() const {
  pollfd ready{fd_, POLLIN | POLLRDHUP, 0};
  return ::poll(&ready, 1, 0) == 0;
}
pid_t connection::peer_process() const {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}
void connection::limit_silence(std::chrono::seconds most) {
  const timeval limit{most.count(), 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

// All parts of a message in as few calls as the socket takes.
bool connection::write_all(std::span<iovec> parts, function_ref<bool(int)> goes_on, bool& begun) {
  constexpr int a_look = 50;  // milliseconds
  int waited = 0;
  for (;;) {
    while (!parts.empty() && parts.front().iov_len == 0) parts = parts.subspan(1);
    if (parts.empty()) return true;
    msghdr all{};
    all.msg_iov = parts.data();
    all.msg_iovlen = parts.size();
    const ssize_t n = ::sendmsg(fd_, &all, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      auto sent = static_cast<std::size_t>(n);
      for (iovec& part : parts) {
        const std::size_t of_it = std::min(sent, part.iov_len);
        part.iov_base = static_cast<std::byte*>(part.iov_base) + of_it;
        part.iov_len -= of_it;
        sent -= of_it;
      }
      begun = true;
      waited = 0;
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return false;
    pollfd ready{fd_, POLLOUT, 0};
    const int woken = ::poll(&ready, 1, a_look);
    if (woken < 0 && errno != EINTR) return false;
    if (woken == 0 && !goes_on(waited += a_look)) return false;
  }
}

bool connection::send(message_kind kind, std::uint64_t query, std::span<const std::byte> head, std::span<const std::byte> rest,
                      function_ref<bool(int)> goes_on) {
  header h;
  h.kind = kind;
  h.query = query;
  h.bytes = head.size() + rest.size();
  const std::lock_guard hold(sending_);
  if (cut_) return false;
  // A message that is cut would be the connection's end for all: once it has begun, nobody is asked before the other side had a second.
  bool begun = false;
  const auto waits = [&](int waited) { return (begun && for_a_second(waited)) || goes_on(waited); };
  struct whole {
    ~whole() { cut = begun && !all; }
    std::atomic<bool>& cut;
    const bool& begun;
    bool all = false;
  } sent{cut_, begun};
  const auto part = [](std::span<const std::byte> bytes) { return iovec{const_cast<std::byte*>(bytes.data()), bytes.size()}; };
  std::array parts{part(std::as_bytes(std::span(&h, 1))), part(head), part(rest)};
  return sent.all = write_all(parts, waits, begun);
}

bool connection::receive_bytes(std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t got = ::recv(fd_, to.data(), to.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

std::optional<message_head> connection::receive_head() {
  header h;
  if (!receive_bytes(std::as_writable_bytes(std::span(&h, 1))) || h.magic != magic || h.kind > message_kind::block_failed)
    return std::nullopt;
  return message_head{h.kind, h.query, h.bytes};
}

std::optional<message> connection::receive() {
  const auto h = receive_head();
  return h ? receive_rest(*h) : std::nullopt;
}

std::optional<message> connection::receive_rest(const message_head& h) {
  message m{h.kind, h.query, {}};
  // Memory is taken as the bytes come: a length alone takes none.
  constexpr std::size_t piece = std::size_t{1} << 24;
  for (std::uint64_t left = h.bytes; left;) {
    const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece)), have = m.bytes.size();
    m.bytes.resize(have + n);
    if (!receive_bytes(std::span(m.bytes).subspan(have))) return std::nullopt;
    left -= n;
  }
  return m;
}

}  // namespace query::cluster
