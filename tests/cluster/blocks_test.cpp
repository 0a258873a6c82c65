// Blocks between a server and those who pull them: over sockets, and read from the server's memory; and servers that lie.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cluster/blocks/block_puller.hpp"
#include "cluster/blocks/block_server.hpp"
#include "cluster/blocks/peer_memory.hpp"
#include "runtime/page_store.hpp"
#include "runtime/temp_file.hpp"
#include "temp_folder.hpp"

namespace blocks_test {
namespace {

using namespace query::cluster;
using namespace std::chrono_literals;

constexpr std::uint64_t query = 7;
constexpr std::uint32_t step = 3, attempt = 1;
constexpr host_id server_host{1, 1};

struct way {
  const char *name, *where, *transport;
};

query::runtime::row_pages pages(query::runtime::buffer_pool& pool, std::size_t n, std::size_t bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  query::runtime::row_pages all;
  for (std::size_t i = 0; i < n; ++i) {
    query::runtime::row_page& p = all.emplace_back(query::runtime::row_page{pool.allocate(bytes + i), i + 1});
    for (auto& b : p.bytes.span<unsigned char>()) b = static_cast<unsigned char>(random());
  }
  return all;
}

block_size size_of_block(const query::runtime::page_store::handle& b) {
  block_size all;
  for (std::size_t i = 0; const auto page = query::runtime::page_store::read(b, i); ++i) add(all, *page, checksum_of(*page));
  return all;
}

// Hands out what pulls come to.
struct pulling {
  query::runtime::buffer_pool pool;
  peer_connections connections;
  std::mutex lock;
  std::condition_variable some;
  std::vector<block_puller::outcome> ended;
  std::unique_ptr<block_puller> pulls;

  pulling(const transport::session_token& token, const std::string& where) : connections(token) { begin(where); }
  void begin(const std::string& where) { begin(where, pool); }
  void begin(const std::string& where, query::runtime::buffer_pool& memory) {
    pulls = std::make_unique<block_puller>(connections, memory, [this](block_puller::outcome o) {
      const std::lock_guard hold(lock);
      ended.push_back(std::move(o));
      some.notify_one();
    });
    pulls->peer(server_host, where, query);
  }
  void pull(const block_size& size, std::uint32_t bucket, query::runtime::page_store::handle into = query::runtime::page_store().make()) {
    pulls->pull({step + 1, 0, 1}, {step, bucket, server_host, attempt, size}, std::move(into));
  }
  block_puller::outcome next() {
    std::unique_lock hold(lock);
    if (!some.wait_for(hold, 20s, [&] { return !ended.empty(); })) throw std::runtime_error("no pull has ended");
    block_puller::outcome o = std::move(ended.back());
    ended.pop_back();
    return o;
  }
};

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

class blocks : public ::testing::TestWithParam<way> {
 protected:
  blocks() { ::setenv("QUERY_CLUSTER_TRANSPORT", GetParam().transport, 1); }
  ~blocks() override { ::unsetenv("QUERY_CLUSTER_TRANSPORT"); }

  const transport::session_token token = transport::session_token::random();
  query::runtime::buffer_pool pool;
  std::shared_ptr<block_store> store = std::make_shared<block_store>(std::make_shared<query::runtime::page_store>(pool, nullptr));
  block_server server{transport::address::parse(GetParam().where), token};
  std::vector<block_size> sizes;

  void keep(std::vector<query::runtime::row_pages> buckets) {
    for (const auto& b : buckets) sizes.push_back(size_of(b));
    store->keep(step, attempt, std::move(buckets));
    server.open(query, store);
  }
};

TEST_P(blocks, arrive_whole) {
  std::vector<query::runtime::row_pages> buckets;
  for (const auto& [n, bytes] : std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {1, 1}, {3, 1000}, {40, 256 << 10}, {2, 3 << 20}})
    buckets.push_back(pages(pool, n, bytes, static_cast<std::uint32_t>(n)));
  keep(std::move(buckets));
  pulling p(token, server.where());
  for (int round = 0; round < 3; ++round)
    for (std::uint32_t b = 0; b < sizes.size(); ++b) {
      p.pull(sizes[b], b);
      const auto o = p.next();
      ASSERT_TRUE(o.pages) << b;
      EXPECT_EQ(size_of_block(o.pages), sizes[b]);
    }
}

TEST_P(blocks, that_are_not_what_was_told_are_none) {
  std::vector<query::runtime::row_pages> buckets;
  buckets.push_back(pages(pool, 4, 100'000, 1));
  keep(std::move(buckets));
  pulling p(token, server.where());
  for (int i = 0; i < 4; ++i) {
    block_size other = sizes[0];
    if (i == 0) ++other.rows;
    if (i == 1) ++other.bytes;
    if (i == 2) ++other.checksum;
    if (i == 3) other.bytes -= 200'000;
    p.pull(other, 0);
    const auto o = p.next();
    EXPECT_FALSE(o.pages) << i;
    EXPECT_FALSE(o.gone) << i;
    EXPECT_FALSE(o.error) << i;
  }
  p.pull(sizes[0], 0);
  EXPECT_TRUE(p.next().pages);
  p.pull(sizes[0], 1);
  EXPECT_TRUE(p.next().gone);
}

TEST_P(blocks, are_given_up_once_they_have_been_pulled) {
  std::vector<query::runtime::row_pages> buckets;
  buckets.push_back(pages(pool, 4, 100'000, 1));
  keep(std::move(buckets));
  const std::weak_ptr<query::runtime::page_store::block> held = store->find_held(step, attempt, 0);
  EXPECT_FALSE(held.expired());
  pulling p(token, server.where());
  p.pull(sizes[0], 0);
  EXPECT_TRUE(p.next().pages);
  store->forget(step);
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!held.expired() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(held.expired());
}

TEST_P(blocks, that_cannot_come_back_to_memory_say_why) {
  const query::tests::temp_folder folder("blocks_in_files");
  query::runtime::temp_space files(folder.name());
  query::runtime::buffer_pool small(std::size_t{1} << 20), other;
  store = std::make_shared<block_store>(std::make_shared<query::runtime::page_store>(small, &files));
  std::vector<query::runtime::row_pages> buckets;
  buckets.push_back(pages(small, 2, 300'000, 1));
  keep(std::move(buckets));
  pulling p(token, server.where());
  {
    const query::runtime::buffer taken = small.allocate(900'000);
    p.pull(sizes[0], 0);
    const auto o = p.next();
    EXPECT_FALSE(o.pages);
    ASSERT_TRUE(o.error);
    EXPECT_THROW(std::rethrow_exception(o.error), query::resource_error);
    // The server waits for the next message with nothing in its hands, once it has sent this one.
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (store.use_count() > 2 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(store.use_count(), 2);
  }
  p.pull(sizes[0], 0);
  EXPECT_TRUE(p.next().pages);
  server.close(query);
  store.reset();  // before the memory and the files that it uses
}

// Neither their process nor the one that pulls has room for a whole block.
TEST_P(blocks, larger_than_memory_come_page_by_page) {
  const query::tests::temp_folder folder("blocks_page_by_page");
  query::runtime::temp_space files(folder.name());
  query::runtime::buffer_pool small(std::size_t{3} << 20);
  query::runtime::page_store here(small, &files);
  store = std::make_shared<block_store>(std::make_shared<query::runtime::page_store>(small, &files));
  std::vector<query::runtime::page_store::handle> held{here.make()};
  sizes.emplace_back();
  for (std::uint32_t i = 0; i < 60; ++i) {
    auto one = pages(small, 1, 200'000, i);
    add(sizes[0], one[0], checksum_of(one[0]));
    query::runtime::page_store::add(held[0], std::move(one));
  }
  store->keep(step, attempt, std::move(held));
  server.open(query, store);
  {
    pulling p(token, server.where());
    p.pulls = nullptr;
    p.begin(server.where(), small);
    for (int i = 0; i < 3; ++i) p.pull(sizes[0], 0, here.make());
    for (int i = 0; i < 3; ++i) {
      const auto o = p.next();
      ASSERT_TRUE(o.pages);
      EXPECT_EQ(size_of_block(o.pages), sizes[0]);
    }
  }
  EXPECT_LE(small.peak(), small.limit());
  server.close(query);
  store.reset();
}

TEST_P(blocks, need_one_connection_for_each_peer_and_session) {
  std::vector<query::runtime::row_pages> buckets;
  for (std::uint32_t b = 0; b < 8; ++b) buckets.push_back(pages(pool, 2, 50'000, b));
  keep(std::move(buckets));
  pulling p(token, server.where());
  std::size_t after_first = 0;
  for (int q = 0; q < 20; ++q) {
    p.begin(server.where());
    for (std::uint32_t b = 0; b < 8; ++b) p.pull(sizes[b], b);
    for (int b = 0; b < 8; ++b) EXPECT_TRUE(p.next().pages);
    if (q == 0) after_first = open_descriptors();
  }
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (open_descriptors() > after_first && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
  EXPECT_LE(open_descriptors(), after_first);
}

TEST_P(blocks, come_from_a_server_that_began_again) {
  std::vector<query::runtime::row_pages> buckets;
  buckets.push_back(pages(pool, 4, 100'000, 1));
  keep(std::move(buckets));
  pulling p(token, server.where());
  p.pull(sizes[0], 0);
  EXPECT_TRUE(p.next().pages);
  auto second = std::make_unique<block_server>(transport::address::parse(GetParam().where), token);
  const std::string where = second->where();
  second->open(query, store);
  p.pulls->peer(server_host, where, query);
  p.pull(sizes[0], 0);
  EXPECT_TRUE(p.next().pages);
  second.reset();
  p.pull(sizes[0], 0);
  const auto o = p.next();
  EXPECT_FALSE(o.pages || o.gone || o.error);
  if (where.starts_with("tcp:")) return;  // a port is not free again at once
  second = std::make_unique<block_server>(transport::address::parse(where), token);
  second->open(query, store);
  p.pull(sizes[0], 0);
  EXPECT_TRUE(p.next().pages);
}

constexpr way read_by_place{"read_by_place", "unix:", ""}, over_unix{"unix_sockets", "unix:", "sockets"}, over_tcp{"tcp", "tcp:", ""};
INSTANTIATE_TEST_SUITE_P(ways, blocks, ::testing::Values(read_by_place, over_unix, over_tcp),
                         [](const auto& info) { return std::string(info.param.name); });

// A peer that knows the token and answers as `says` does.
struct liar {
  const transport::session_token token = transport::session_token::random();
  transport::listener at{transport::address::parse("unix:"), token};
  std::atomic<bool> stop{false};
  std::thread thread;

  explicit liar(std::function<void(connection&)> says)
      : thread([this, says = std::move(says)] {
          while (!stop)
            if (auto peer = at.accept(20ms)) {
              connection to(peer->fd.release());
              to.limit_silence(1s);
              if (to.receive()) says(to);
            }
        }) {}
  ~liar() {
    stop = true;
    thread.join();
  }
};

void say_places(connection& to, const std::vector<page_place>& all) {
  to.send(message_kind::block_places, query, std::as_bytes(std::span(all)));
  (void)to.receive();
}

TEST(blocks_of_liars, are_none) {
  static const std::vector<char> some(200'000, 'x');
  const auto place = [](std::uint64_t bytes) { return page_place{1, reinterpret_cast<std::uint64_t>(some.data()), bytes}; };
  const block_size size{1, some.size(), 17};
  const std::vector<std::function<void(connection&)>> all{
      [&](connection& to) { say_places(to, {place(some.size())}); },                       // another checksum
      [&](connection& to) { say_places(to, {{1, 4096, some.size()}}); },                   // nothing is there
      [&](connection& to) { say_places(to, {{1, ~0ull - 10, some.size()}}); },
      [&](connection& to) { say_places(to, {place(std::uint64_t{1} << 50)}); },            // a petabyte
      [&](connection& to) { say_places(to, {place(100'000), place(~0ull - 50'000)}); },    // whose sum is a smaller number
      [&](connection& to) { say_places(to, std::vector<page_place>(100'000, place(0))); },
      [&](connection& to) { say_places(to, {}); },
      [&](connection& to) { while (to.send(message_kind::block_places, query, {}) && to.receive()) {} },
      [&](connection& to) {
        const page_place nothing = place(0);
        while (to.send(message_kind::block_places, query, std::as_bytes(std::span(&nothing, 1))) && to.receive()) {}
      },
      [&](connection& to) {
        const page_header nothing{0};
        while (to.send(message_kind::page, query, std::as_bytes(std::span(&nothing, 1)))) {}
      },
      [&](connection& to) { to.send(message_kind::block_places, query, std::as_bytes(std::span("no list of places"))); },
      [&](connection& to) { to.send(message_kind::page, query, std::as_bytes(std::span("four"))); },
      [&](connection& to) { to.send(message_kind::block_end, query, {}); },
      [&](connection& to) { to.send(message_kind::block_end, query, std::as_bytes(std::span("x"))); },
      [&](connection& to) { to.send(message_kind::block_gone, query + 1, {}); },
      [&](connection& to) { to.send(message_kind::done, query, {}); },
      [&](connection&) {},
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const liar peer(all[i]);
    pulling p(peer.token, peer.at.where().text());
    p.pull(size, 0);
    const auto o = p.next();
    EXPECT_FALSE(o.pages) << i;
    EXPECT_FALSE(o.gone) << i;
    EXPECT_FALSE(o.error) << i;
    EXPECT_LT(p.pool.peak(), std::size_t{4} << 20) << i;
  }
}

TEST(blocks_of_liars, end_with_their_reader) {
  std::atomic<bool> asked{false};
  const liar silent([&](connection& to) {
    asked = true;
    (void)to.receive();
  });
  const auto began = std::chrono::steady_clock::now();
  {
    pulling p(silent.token, silent.at.where().text());
    p.pull({1, 100'000, 5}, 0);
    while (!asked && std::chrono::steady_clock::now() - began < 10s) std::this_thread::sleep_for(1ms);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 4s);  // less than a pull waits
}

// What asks a server for anything else ends its connection alone.
TEST(block_server, ends_at_what_is_no_request) {
  const transport::session_token token = transport::session_token::random();
  block_server server(transport::address::parse("unix:"), token);
  const auto where = transport::address::parse(server.where());
  const auto connected = [&] { return std::make_unique<connection>(transport::connect_to(where, token, 0, 10s).release()); };
  std::mt19937 random(5);
  for (int i = 0; i < 50; ++i) {
    const auto c = connected();
    c->limit_silence(10s);
    std::vector<std::byte> noise(random() % 23);  // shorter than a request
    for (auto& b : noise) b = static_cast<std::byte>(random());
    EXPECT_TRUE(c->send(i % 2 ? message_kind::pull_block : message_kind::task, query, noise));
    EXPECT_FALSE(c->receive());
  }
  const auto c = connected();
  const block_name name{step, attempt, 0};
  EXPECT_TRUE(c->send(message_kind::pull_block, query, std::as_bytes(std::span(&name, 1))));
  const auto m = c->receive();
  ASSERT_TRUE(m);
  EXPECT_EQ(m->kind, message_kind::block_gone);
}

}  // namespace
}  // namespace blocks_test
