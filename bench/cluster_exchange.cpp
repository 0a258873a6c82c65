// A hash exchange between processes of this machine beside its transport alone: what each step adds to moving the bytes.
//
//   cluster_exchange [MEBIBYTES] [PROCESSES]      256, and four processes, if nothing else is said
//
// Every process sends the same share to every other one; only bytes that change the process count. "sockets" moves them from and to
// buffers with nothing else to do, "blocks" pulls them as a query does, and "exchange" is a query's vertex that puts its rows apart by
// hash, sends them, and makes a table of what came. Rounds are interleaved; ratios are medians over the rounds.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <query/profile.hpp>
#include <query/query.hpp>

#include "cluster/blocks/block_puller.hpp"
#include "cluster/blocks/block_server.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query::cluster;
using clock = std::chrono::steady_clock;

struct row {
  std::int64_t id, key;
  double x, y;
};
QUERY_RECORD(row, id, key, x, y);

constexpr std::size_t page_bytes = query::runtime::page_bytes;

void check(bool well) {
  if (!well) std::abort();
}
void read_one(int fd) {
  char c = 0;
  check(::read(fd, &c, 1) == 1);
}
void write_all(int fd, int n) {
  const std::string bytes(static_cast<std::size_t>(n), 'x');
  check(::write(fd, bytes.data(), bytes.size()) == n);
}

// Each of n processes prepares, and then all move at once: the seconds of that. What they have prepared stays until all are done.
double seconds_of(int n, const std::function<std::function<void()>(int)>& prepared) {
  int ready[2], go[2], done[2];
  check(!::pipe(ready) && !::pipe(go) && !::pipe(done));
  std::vector<pid_t> all;
  std::fflush(nullptr);
  for (int i = 0; i < n; ++i) {
    all.push_back(::fork());
    if (all.back()) continue;
    const auto move = prepared(i);
    write_all(ready[1], 1);
    read_one(go[0]);
    move();
    write_all(done[1], 1);
    read_one(go[0]);
    ::_exit(0);
  }
  for (int i = 0; i < n; ++i) read_one(ready[0]);
  const auto begin = clock::now();
  write_all(go[1], n);
  for (int i = 0; i < n; ++i) read_one(done[0]);
  const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
  write_all(go[1], n);
  for (const pid_t p : all) ::waitpid(p, nullptr, 0);
  for (int* fds : {ready, go, done}) ::close(fds[0]), ::close(fds[1]);
  return seconds;
}

std::pair<int, int> connected_pair(bool tcp) {
  int fds[2];
  if (!tcp) {
    check(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    return {fds[0], fds[1]};
  }
  const int listens = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* const where = reinterpret_cast<sockaddr*>(&at);
  check(!::bind(listens, where, size) && !::listen(listens, 1) && !::getsockname(listens, where, &size));
  fds[0] = ::socket(AF_INET, SOCK_STREAM, 0);
  check(::connect(fds[0], where, size) == 0);
  fds[1] = ::accept(listens, nullptr, nullptr);
  ::close(listens);
  return {fds[0], fds[1]};
}

// As many threads as the library has: one for each connection at either end.
double sockets_alone(bool tcp, int n, std::size_t to_each) {
  const auto count = static_cast<std::size_t>(n);
  std::vector<std::vector<std::pair<int, int>>> pairs(count, std::vector<std::pair<int, int>>(count));
  for (auto& of_one : pairs)
    for (auto& p : of_one) p = connected_pair(tcp);
  const double seconds = seconds_of(n, [&](int self) {
    const auto me = static_cast<std::size_t>(self);
    auto threads = std::make_shared<std::vector<std::thread>>();
    auto begin = std::make_shared<std::latch>(1);
    for (std::size_t other = 0; other < count; ++other) {
      if (other == me) continue;
      for (const bool sends : {true, false}) {
        auto buffer = std::make_shared<std::vector<char>>(to_each, 'x');
        threads->emplace_back([=, fd = sends ? pairs[me][other].first : pairs[other][me].second] {
          begin->wait();
          for (std::size_t at = 0; at < to_each;) {
            const std::size_t most = std::min(page_bytes, to_each - at);
            const ssize_t some = sends ? ::send(fd, buffer->data() + at, most, 0) : ::recv(fd, buffer->data() + at, most, 0);
            check(some > 0);
            at += static_cast<std::size_t>(some);
          }
        });
      }
    }
    return [=] {
      begin->count_down();
      for (auto& t : *threads) t.join();
    };
  });
  for (auto& of_one : pairs)
    for (auto& p : of_one) ::close(p.first), ::close(p.second);
  return seconds;
}

// Every process serves blocks to the others and pulls theirs; buffers of both are warm, as in a session's second query.
double blocks_alone(bool tcp, int n, std::size_t to_each) {
  const transport::session_token token = transport::session_token::random();
  const int base = 20000 + static_cast<int>(std::random_device()() % 10000);
  const auto where = [&](int i) {
    return tcp ? "tcp:127.0.0.1:" + std::to_string(base + i) : "unix:@query_bench_" + std::to_string(base) + "_" + std::to_string(i);
  };
  return seconds_of(n, [&](int self) {
    auto* const pool = new query::runtime::buffer_pool;
    auto store = std::make_shared<block_store>();
    auto sizes = std::make_shared<std::vector<block_size>>();
    const auto pages = [&] {
      query::runtime::row_pages all;
      for (std::size_t at = 0; at < to_each; at += page_bytes) {
        query::runtime::row_page p{pool->allocate(std::min(page_bytes, to_each - at)), 1};
        std::fill_n(p.bytes.as<char>(), p.bytes.size(), 'x');
        all.push_back(std::move(p));
      }
      return all;
    };
    std::vector<query::runtime::row_pages> buckets;
    for (int i = 0; i < n; ++i) buckets.push_back(pages());
    const block_size size = size_of(buckets[0]);
    { std::vector<query::runtime::row_pages> warm(buckets.size() - 1); for (auto& w : warm) w = pages(); }
    auto* const server = new block_server(transport::address::parse(where(self)), token);
    store->keep(1, 1, std::move(buckets));
    server->open(1, store);
    return [=] {
      std::latch left(n - 1);
      std::vector<shared_pages> kept;
      std::mutex lock;
      peer_connections connections(token);
      block_puller pulls(1, connections, *pool, [&](block_puller::outcome o) {
        check(o.pages != nullptr);
        {
          const std::lock_guard hold(lock);
          kept.push_back(std::move(o.pages));
        }
        left.count_down();
      });
      const auto host = [](int i) { return host_id{static_cast<std::uint32_t>(i), 1}; };
      for (int k = 1; k < n; ++k) {
        const int other = (self + k) % n;
        pulls.peer(host(other), where(other));
        pulls.pull({2, static_cast<std::uint32_t>(self), 1}, {1, static_cast<std::uint32_t>(self), host(other), 1, size});
      }
      left.wait();
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  query::container_main();
  const std::size_t bytes = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 256) << 20;
  const int n = argc > 2 ? std::atoi(argv[2]) : 4;
  constexpr int rounds = 7;
  const auto each = bytes / static_cast<std::size_t>(n * n);
  const double moved = static_cast<double>(each) * n * (n - 1);

  std::vector<double> unix_alone, tcp_alone, unix_blocks, tcp_blocks, exchange;
  std::vector<row> rows(bytes / sizeof(row));
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = {static_cast<std::int64_t>(i), static_cast<std::int64_t>(random()), static_cast<double>(i), 1};
  for (int r = -1; r < rounds; ++r) {
    // Before the session has threads: a forked process has one.
    const double a = sockets_alone(false, n, each), b = sockets_alone(true, n, each);
    const double c = blocks_alone(false, n, each), d = blocks_alone(true, n, each);
    query::Session many = query::Session::cluster("local:" + std::to_string(n), {.gpu = query::gpu_use::off});
    const auto q = query::from(rows).in(many).distinct();
    double e = 0;
    for (int i = 0; i < 2; ++i) {  // the first one takes memory from the system
      check(static_cast<std::size_t>(q.count()) == rows.size());
      e = query::profile(q).vertices.at(0).seconds;
    }
    if (r < 0) continue;
    unix_alone.push_back(a), tcp_alone.push_back(b), unix_blocks.push_back(c), tcp_blocks.push_back(d), exchange.push_back(e);
  }
  std::printf("%d processes, %.0f MiB between them\n", n, moved / (1 << 20));
  const auto median = [](std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  };
  const auto show = [&](const char* name, const std::vector<double>& took, const std::vector<double>& alone) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < took.size(); ++i) ratios.push_back(alone[i] / took[i]);
    std::printf("  %-40s %6.2f GB/s   speed against its transport alone %5.2f\n", name, moved / median(took) / 1e9, median(ratios));
  };
  show("Unix sockets alone", unix_alone, unix_alone);
  show("blocks over Unix sockets", unix_blocks, unix_alone);
  show("exchange of a query, Unix sockets", exchange, unix_alone);
  show("TCP alone, loopback", tcp_alone, tcp_alone);
  show("blocks over TCP, loopback", tcp_blocks, tcp_alone);
}
