#include "cluster/transport/listener.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <query/errors.hpp>

namespace query::cluster::transport {

namespace {

using clock = listener::clock;

[[noreturn]] void fail(const std::string& what, int error) { throw cluster_error("cluster: " + what + ": " + std::strerror(error)); }

file_descriptor new_socket(const address& where) {
  file_descriptor fd(::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) fail("no socket", errno);
  return fd;
}

// Messages go at once, and a machine that was cut off is noticed in seconds though nobody sends.
void set_tcp(int fd, const address& where) {
  if (!where.is_tcp()) return;
  const auto set = [&](int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}
void block(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK); }

int milliseconds_until(clock::time_point then) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(then - clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

// A handshake's messages fit what an empty socket takes.
bool send_at_once(int fd, const void* from, std::size_t n) {
  return ::send(fd, from, n, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(n);
}

// How long somebody waits, who may be told meanwhile that it need not.
struct limits {
  clock::time_point end;
  const std::atomic<bool>* given_up = nullptr;
  bool over() const { return clock::now() >= end || (given_up && *given_up); }
};

bool wait_for(int fd, short events, const limits& until) {
  constexpr int a_look = 50;  // milliseconds
  for (;;) {
    pollfd ready{fd, events, 0};
    const int n = ::poll(&ready, 1, std::min(a_look, milliseconds_until(until.end)));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return false;
    if (until.over()) return false;
  }
}

bool receive_all(int fd, void* to, std::size_t n, const limits& until) {
  auto* p = static_cast<unsigned char*>(to);
  while (n) {
    const ssize_t got = ::recv(fd, p, n, MSG_DONTWAIT);
    if (got > 0) {
      p += got;
      n -= static_cast<std::size_t>(got);
    } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) || !wait_for(fd, POLLIN, until)) {
      return false;
    }
  }
  return true;
}

std::array<unsigned char, 8> bytes_of(std::uint64_t n) {
  std::array<unsigned char, 8> bytes{};
  for (auto& b : bytes) {
    b = static_cast<unsigned char>(n & 0xff);
    n >>= 8;
  }
  return bytes;
}
std::uint64_t number_of(const std::array<unsigned char, 8>& bytes) {
  std::uint64_t n = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) n = n << 8 | bytes[i];
  return n;
}

}  // namespace

listener::listener(const address& where, const session_token& token) : where_(where), token_(token), fd_(new_socket(where)) {
  if (::bind(fd_.get(), where_.data(), where_.size()) != 0) fail("it cannot listen at " + where_.text(), errno);
  constexpr int waiting = 1024;
  if (::listen(fd_.get(), waiting) != 0) fail("it cannot listen at " + where_.text(), errno);
  where_ = address::of_listener(fd_.get());
}
listener::~listener() {
  const std::string at = where_.text();
  constexpr std::string_view path = "unix:/";
  if (at.starts_with(path)) ::unlink(at.c_str() + path.size() - 1);
}

void listener::take_new() {
  while (unproved_.size() < most_unproved) {
    file_descriptor fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    set_tcp(fd.get(), where_);
    unproved& one = unproved_.emplace_back();
    one.fd = std::move(fd);
    one.began = clock::now();
    fill_random(one.of_listener);
    const listener_greeting first{handshake_magic, one.of_listener};
    if (!send_at_once(one.fd.get(), &first, sizeof first)) unproved_.pop_back();
  }
}

listener::state listener::hear(unproved& one) {
  while (one.bytes < sizeof one.said) {
    auto* const to = reinterpret_cast<unsigned char*>(&one.said) + one.bytes;
    const ssize_t got = ::recv(one.fd.get(), to, sizeof one.said - one.bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return state::waits;
    if (got <= 0) return state::ends;
    one.bytes += static_cast<std::size_t>(got);
    // What does not begin as it should need not be waited for.
    if (!std::equal(handshake_magic.begin(), handshake_magic.begin() + std::min(one.bytes, handshake_magic.size()), one.said.magic.begin()))
      return state::ends;
  }
  if (!same(one.said.right, proof_of(token_, side::connects, one.said, one.of_listener))) return state::ends;
  const proof own = proof_of(token_, side::listens, one.said, one.of_listener);
  if (!send_at_once(one.fd.get(), own.data(), own.size())) return state::ends;
  block(one.fd.get());
  return state::proved;
}

std::optional<listener::peer> listener::accept(std::chrono::milliseconds limit, const wake_signal* woken) {
  const clock::time_point end = clock::now() + limit;
  for (bool last = false;; last = clock::now() >= end) {
    take_new();
    const auto now = clock::now();
    for (auto one = unproved_.begin(); one != unproved_.end();) {
      const state s = hear(*one);
      if (s == state::proved) {
        peer found{std::move(one->fd), number_of(one->said.number)};
        unproved_.erase(one);
        return found;
      }
      const bool full = unproved_.size() >= most_unproved;
      one = s == state::ends || now - one->began > (full ? a_while : patience) ? unproved_.erase(one) : std::next(one);
    }
    if (last) return std::nullopt;
    std::vector<pollfd> ready;
    clock::time_point look = end;
    const bool full = unproved_.size() >= most_unproved;
    ready.push_back({woken ? woken->fd() : -1, POLLIN, 0});
    ready.push_back({full ? -1 : fd_.get(), POLLIN, 0});
    for (const unproved& one : unproved_) {
      ready.push_back({one.fd.get(), POLLIN, 0});
      look = std::min(look, one.began + (full ? a_while : patience) + std::chrono::milliseconds(1));
    }
    const int n = ::poll(ready.data(), ready.size(), milliseconds_until(look));
    if (n < 0 && errno != EINTR) fail("it cannot wait for connections", errno);
    if (n > 0 && ready[0].revents) {
      woken->take();
      return std::nullopt;
    }
    if (n <= 0 || !ready[1].revents) continue;
    const std::size_t before = unproved_.size();
    take_new();
    // The process may have no descriptor left for those that wait: it must not turn in circles.
    if (unproved_.size() == before) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

file_descriptor connect_to(const address& where, const session_token& token, std::uint64_t number, std::chrono::milliseconds limit,
                           const std::atomic<bool>* given_up) {
  const limits until{clock::now() + limit, given_up};
  const std::string to = " the master at " + where.text();
  file_descriptor fd = new_socket(where);
  while (::connect(fd.get(), where.data(), where.size()) != 0) {
    if (errno == EINTR) continue;
    // A socket of this machine says so while the listener's queue is full, and does not wait.
    if (errno == EAGAIN && !until.over()) {
      ::poll(nullptr, 0, 5);
      continue;
    }
    if (errno != EINPROGRESS) fail("no connection to" + to, errno);
    if (!wait_for(fd.get(), POLLOUT, until)) throw cluster_error("cluster: no connection to" + to + " in time");
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) fail("no connection to" + to, error);
    break;
  }
  set_tcp(fd.get(), where);
  listener_greeting first;
  connector_proof own;
  proof other{};
  own.number = bytes_of(number);
  fill_random(own.of_connector);
  const auto refuse = [&](const std::string& why) { throw cluster_error("cluster:" + to + " " + why); };
  if (!receive_all(fd.get(), &first, sizeof first, until) || first.magic != handshake_magic) refuse("does not speak as one");
  own.right = proof_of(token, side::connects, own, first.of_listener);
  if (!send_at_once(fd.get(), &own, sizeof own)) refuse("has ended the connection");
  if (!receive_all(fd.get(), other.data(), other.size(), until)) refuse("did not accept this session's token");
  if (!same(other, proof_of(token, side::listens, own, first.of_listener))) refuse("does not know this session's token");
  block(fd.get());
  return fd;
}

}  // namespace query::cluster::transport
