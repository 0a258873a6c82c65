// A hash exchange between processes of this machine beside its transport alone: what each step adds to moving the bytes.
//
//   cluster_exchange [MEBIBYTES] [PROCESSES]      256, and four processes, if nothing else is said
//
// Every process sends the same share to every other one; only bytes that change the process count. "alone" moves them from and to
// buffers with nothing else to do; "blocks" pulls them as a query does. "exchange of rows put apart" makes pages of rows, pulls these and
// makes a table of what came; "exchange of a query" is the vertex that puts them apart by hash, too. Rounds are interleaved; ratios are
// medians over the rounds.
#include <netinet/in.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
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
#include "runtime/run_context.hpp"
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

void check(bool well, int line = __builtin_LINE()) {
  if (well) return;
  std::fprintf(stderr, "cluster_exchange: line %d has failed\n", line);
  std::abort();
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

// Measures n processes that prepare, each by itself, and then move their data at the same time. Prepared data stay until all are done.
cost cost_of(int n, const std::function<std::function<void()>(int)>& prepared) {
  int ready[2], go[2], done[2];
  check(!::pipe(ready) && !::pipe(go) && !::pipe(done));
  std::vector<pid_t> all;
  std::fflush(nullptr);
  for (int i = 0; i < n; ++i) {
    all.push_back(::fork());
    if (all.back()) continue;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
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
  ::close(ready[1]), ::close(done[1]);  // the end of a process is heard of
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
  for (const int fd : {ready[0], done[0], go[0], go[1]}) ::close(fd);
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

// What processes of one way have in common: where each listens, and what each has for whom, as the master would tell.
struct meeting {
  explicit meeting(int n, bool tcp) : n_(n), tcp_(tcp), base_(20000 + static_cast<int>(std::random_device()() % 10000)) {
    const std::size_t bytes = sizeof(pthread_barrier_t) + sizeof(block_size) * static_cast<std::size_t>(n * n);
    shared_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(shared_ != MAP_FAILED);
    pthread_barrierattr_t attributes;
    check(!::pthread_barrierattr_init(&attributes) && !::pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
    check(!::pthread_barrier_init(static_cast<pthread_barrier_t*>(shared_), &attributes, static_cast<unsigned>(n)));
  }
  void wait_for_all() const { ::pthread_barrier_wait(static_cast<pthread_barrier_t*>(shared_)); }
  block_size& size(int from, int to) const {
    return reinterpret_cast<block_size*>(static_cast<pthread_barrier_t*>(shared_) + 1)[from * n_ + to];
  }
  std::string where(int i) const {
    return tcp_ ? "tcp:127.0.0.1:" + std::to_string(base_ + i) : "unix:@query_bench_" + std::to_string(base_) + "_" + std::to_string(i);
  }
  const transport::session_token token = transport::session_token::random();

 private:
  int n_;
  bool tcp_;
  int base_;
  void* shared_;
};

// One of them.
struct member {
  member(const meeting& all, int self, int n)
      : all_(all), self_(self), n_(n), session({.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / n),
                                                .gpu = query::gpu_use::off}),
        server_(transport::address::parse(all.where(self)), all.token), connections_(all.token) {}

  void keep(std::vector<query::runtime::row_pages> buckets) {
    std::vector<const query::runtime::row_page*> pages;
    for (const auto& b : buckets)
      for (const auto& p : b) pages.push_back(&p);
    std::vector<std::uint64_t> sums(pages.size());
    session.state()->scheduler->for_each(pages.size(), [&](std::size_t i) { sums[i] = checksum_of(*pages[i]); }, cancel);
    auto sum = sums.begin();
    for (int to = 0; to < n_; ++to) {
      block_size size;
      for (const auto& p : buckets[static_cast<std::size_t>(to)]) add(size, p, *sum++);
      all_.size(self_, to) = size;
    }
    store_->keep(1, 1, std::move(buckets));
    server_.open(1, store_);
  }
  // Of all, in the order of their senders.
  std::vector<block_store::held_block> pull() {
    std::vector<block_store::held_block> came(static_cast<std::size_t>(n_));
    came[static_cast<std::size_t>(self_)] = store_->find_held(1, 1, static_cast<std::uint32_t>(self_));
    std::latch left(n_ - 1);
    block_puller pulls(connections_, session.state()->pool, [&](block_puller::outcome o) {
      check(o.pages != nullptr);
      came[o.wanted.at.partition] = std::move(o.pages);
      left.count_down();
    });
    for (int k = 1; k < n_; ++k) {
      const int other = (self_ + k) % n_;
      const host_id host{static_cast<std::uint32_t>(other), 1};
      pulls.peer(host, all_.where(other), 1);
      pulls.pull({2, static_cast<std::uint32_t>(self_), 1}, {1, static_cast<std::uint32_t>(self_), host, 1, all_.size(other, self_)},
                 pages_->make());
    }
    left.wait();
    return came;
  }

 private:
  const meeting& all_;
  int self_, n_;

 public:
  query::Session session;
  query::runtime::cancel_flag cancel;

 private:
  std::shared_ptr<query::runtime::page_store> pages_ = std::make_shared<query::runtime::page_store>(session.state()->pool, nullptr);
  std::shared_ptr<block_store> store_ = std::make_shared<block_store>(pages_);
  block_server server_;
  peer_connections connections_;
};

// Buffers are warm, as in a session's second query.
cost blocks_alone(bool tcp, const char* transport, int n, std::size_t to_each) {
  const meeting all(n, tcp);
  return cost_of(n, [&](int self) {
    ::setenv("QUERY_CLUSTER_TRANSPORT", transport, 1);
    auto* const me = new member(all, self, n);
    std::vector<query::runtime::row_pages> buckets(static_cast<std::size_t>(n));
    for (auto& bucket : buckets)
      for (std::size_t at = 0; at < to_each; at += page_bytes) {
        query::runtime::row_page p{me->session.state()->pool.allocate(std::min(page_bytes, to_each - at)), 1};
        std::fill_n(p.bytes.as<char>(), p.bytes.size(), 'x');
        bucket.push_back(std::move(p));
      }
    me->keep(std::move(buckets));
    all.wait_for_all();
    me->pull();
    return [=] { me->pull(); };
  });
}

// Measures an exchange whose rows are hashed first: pages, checksums, pulls, and the table that the receiver makes.
cost exchange_of_parts(const char* transport, int n, std::size_t to_each) {
  const meeting all(n, false);
  return cost_of(n, [&](int self) {
    ::setenv("QUERY_CLUSTER_TRANSPORT", transport, 1);
    auto* const me = new member(all, self, n);
    auto* const context = new query::runtime::run_context{*me->session.state()->scheduler, me->session.state()->pool, me->cancel};
    const std::size_t each = to_each / sizeof(row);
    auto* const rows = new std::vector<row>(each * static_cast<std::size_t>(n), row{1, 2, 3, 4});
    const auto run = [=, &all] {
      query::runtime::local_engine& engine = *me->session.state()->cpu;
      query::detail::table part;
      part.type = query::from(*rows).in(me->session).to_pipe().node->row;
      part.n = each;
      std::vector<query::runtime::row_pages> buckets;
      for (std::size_t r = 0; r < static_cast<std::size_t>(n); ++r) {
        part.rows = rows->data() + r * each;
        buckets.push_back(engine.pages_of(part, *context));
      }
      me->keep(std::move(buckets));
      all.wait_for_all();
      std::vector<shared_page> came;
      for (const block_store::held_block& block : me->pull())
        for (std::size_t i = 0; shared_page p = query::runtime::page_store::read(block, i); ++i) came.push_back(std::move(p));
      std::vector<const query::runtime::row_page*> in_order;
      for (const shared_page& p : came) in_order.push_back(p.get());
      check(engine.rows_of(part.type, in_order, *context).n == rows->size());
    };
    run();
    return [=, &all] {
      run();
      all.wait_for_all();  // nobody's pages go before
    };
  });
}

// The vertex of a query that puts rows apart, in a process whose threads end with it.
cost exchange_of_query(int n, const std::vector<row>& rows) {
  int answer[2];
  check(::pipe(answer) == 0);
  const pid_t process = ::fork();
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    query::Session many = query::Session::cluster("local:" + std::to_string(n), {.gpu = query::gpu_use::off});
    const auto q = query::from(rows).in(many).distinct();
    for (int i = 0; i < 2; ++i) check(static_cast<std::size_t>(q.count()) == rows.size());  // the first one takes memory from the system
    const double seconds = query::profile(q).vertices.at(0).seconds;
    check(::write(answer[1], &seconds, sizeof seconds) == sizeof seconds);
    { const query::Session ends = std::move(many); }
    ::_exit(0);
  }
  ::close(answer[1]);
  cost vertex;
  check(::read(answer[0], &vertex.seconds, sizeof vertex.seconds) == sizeof vertex.seconds);
  ::waitpid(process, nullptr, 0);
  ::close(answer[0]);
  return vertex;
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
      {"exchange of rows put apart", 0, [&] { return exchange_of_parts("", n, each); }},
      {"... over sockets", 0, [&] { return exchange_of_parts("sockets", n, each); }},
      {"exchange of a query", 0, [&] { return exchange_of_query(n, rows); }},
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
