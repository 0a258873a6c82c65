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
#include <ctime>
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

struct cost {
  double seconds = 0, cpu = 0;  // of all processes together
};

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Each of n processes prepares, and then all move at once: what that costs. What they have prepared stays until all are done.
cost cost_of(int n, const std::function<std::function<void()>(int)>& prepared) {
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
    const double before = cpu_seconds();
    move();
    write_all(done[1], 1);
    read_one(go[0]);  // others have what they pull from here
    const double cpu = cpu_seconds() - before;
    check(::write(ready[1], &cpu, sizeof cpu) == sizeof cpu);
    ::_exit(0);
  }
  for (int i = 0; i < n; ++i) read_one(ready[0]);
  const auto begin = clock::now();
  write_all(go[1], n);
  for (int i = 0; i < n; ++i) read_one(done[0]);
  cost all_of_them{std::chrono::duration<double>(clock::now() - begin).count()};
  write_all(go[1], n);
  for (int i = 0; i < n; ++i) {
    double cpu = 0;
    check(::read(ready[0], &cpu, sizeof cpu) == sizeof cpu);
    all_of_them.cpu += cpu;
  }
  for (const pid_t p : all) ::waitpid(p, nullptr, 0);
  for (int* fds : {ready, go, done}) ::close(fds[0]), ::close(fds[1]);
  return all_of_them;
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
cost sockets_alone(bool tcp, int n, std::size_t to_each) {
  const auto count = static_cast<std::size_t>(n);
  std::vector<std::vector<std::pair<int, int>>> pairs(count, std::vector<std::pair<int, int>>(count));
  for (auto& of_one : pairs)
    for (auto& p : of_one) p = connected_pair(tcp);
  const cost moved = cost_of(n, [&](int self) {
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
  return moved;
}

// Every process serves blocks to the others and pulls theirs; buffers of both are warm, as in a session's second query.
cost blocks_alone(bool tcp, const char* transport, int n, std::size_t to_each) {
  const transport::session_token token = transport::session_token::random();
  const int base = 20000 + static_cast<int>(std::random_device()() % 10000);
  const auto where = [&](int i) {
    return tcp ? "tcp:127.0.0.1:" + std::to_string(base + i) : "unix:@query_bench_" + std::to_string(base) + "_" + std::to_string(i);
  };
  return cost_of(n, [&](int self) {
    ::setenv("QUERY_CLUSTER_TRANSPORT", transport, 1);
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
  constexpr std::size_t rounds = 7;
  const auto each = bytes / static_cast<std::size_t>(n * n);
  const double moved = static_cast<double>(each) * n * (n - 1);

  std::vector<row> rows(bytes / sizeof(row));
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = {static_cast<std::int64_t>(i), static_cast<std::int64_t>(random()), static_cast<double>(i), 1};
  const auto exchange = [&] {
    query::Session many = query::Session::cluster("local:" + std::to_string(n), {.gpu = query::gpu_use::off});
    const auto q = query::from(rows).in(many).distinct();
    cost vertex;
    for (int i = 0; i < 2; ++i) {  // the first one takes memory from the system
      check(static_cast<std::size_t>(q.count()) == rows.size());
      vertex.seconds = query::profile(q).vertices.at(0).seconds;
    }
    return vertex;
  };

  struct way {
    const char* name;
    std::size_t alone;  // which is its transport with nothing else to do
    std::function<cost()> run;
    std::vector<cost> rounds{};
  };
  std::vector<way> ways{
      {"Unix sockets alone", 0, [&] { return sockets_alone(false, n, each); }},
      {"TCP alone, loopback", 1, [&] { return sockets_alone(true, n, each); }},
      {"blocks over Unix sockets", 0, [&] { return blocks_alone(false, "sockets", n, each); }},
      {"blocks read by place", 0, [&] { return blocks_alone(false, "", n, each); }},
      {"blocks over TCP, loopback", 1, [&] { return blocks_alone(true, "", n, each); }},
      {"exchange of a query", 0, exchange},
  };
  for (int r = -1; r < static_cast<int>(rounds); ++r)
    for (way& w : ways) {
      const cost c = w.run();
      if (r >= 0) w.rounds.push_back(c);
    }
  const auto median = [](const auto& of_each) {
    std::vector<double> all;
    for (std::size_t i = 0; i < rounds; ++i) all.push_back(of_each(i));
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  };
  std::printf("%d processes, %.0f MiB between them\n", n, moved / (1 << 20));
  for (const way& w : ways) {
    const std::vector<cost>& alone = ways[w.alone].rounds;
    std::printf("  %-28s %6.2f GB/s   against its transport alone %5.2f", w.name,
                moved / median([&](std::size_t i) { return w.rounds[i].seconds; }) / 1e9,
                median([&](std::size_t i) { return alone[i].seconds / w.rounds[i].seconds; }));
    if (w.rounds[0].cpu > 0)
      std::printf("   CPU %.2f ns a byte, against it %5.2f", median([&](std::size_t i) { return w.rounds[i].cpu; }) / moved * 1e9,
                  median([&](std::size_t i) { return alone[i].cpu / w.rounds[i].cpu; }));
    std::printf("\n");
  }
}
