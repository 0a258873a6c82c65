// Connections that prove a token, and peers that have none.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <query/errors.hpp>

#include "cluster/connection.hpp"
#include "cluster/transport/listener.hpp"
#include "temp_folder.hpp"

namespace transport_test {
namespace {

using namespace query::cluster;
using namespace query::cluster::transport;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds long_enough = 20s, a_moment = 300ms;

// A peer that speaks for itself.
struct stranger {
  file_descriptor fd;
  listener_greeting greeting;

  explicit stranger(const listener& to) : fd(::socket(to.where().family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(::connect(fd.get(), to.where().data(), to.where().size()), 0);
  }
  bool sees_end(std::chrono::milliseconds limit = 10s) {
    pollfd ready{fd.get(), POLLIN, 0};
    std::array<char, 64> bytes;
    while (::poll(&ready, 1, static_cast<int>(limit.count())) > 0)
      if (::recv(fd.get(), bytes.data(), bytes.size(), 0) <= 0) return true;
    return false;
  }
  void read_greeting() { EXPECT_EQ(::recv(fd.get(), &greeting, sizeof greeting, MSG_WAITALL), static_cast<ssize_t>(sizeof greeting)); }
  void say(const void* what, std::size_t n) { (void)!::send(fd.get(), what, n, MSG_NOSIGNAL); }
};

// A listener that always listens, and counts those that it let in.
struct at_work {
  session_token token = session_token::random();
  listener at;
  std::atomic<int> let_in{0};
  std::atomic<bool> stop{false};
  std::thread thread;

  explicit at_work(const char* where = "tcp:") : at(address::parse(where), token), thread([this] {
    while (!stop)
      if (auto p = at.accept(50ms)) ++let_in;
  }) {}
  ~at_work() {
    stop = true;
    thread.join();
  }
  // Counting follows the last message of a handshake.
  void expect_let_in(int n) {
    const auto end = std::chrono::steady_clock::now() + long_enough;
    while (let_in < n && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(let_in, n);
  }
  // It still takes those that know the token.
  void expect_open() {
    const int before = let_in;
    EXPECT_TRUE(connect_to(at.where(), token, 1, long_enough));
    expect_let_in(before + 1);
  }
};

class transport : public ::testing::TestWithParam<const char*> {};

TEST_P(transport, peers_with_the_token_meet) {
  const session_token token = session_token::from_text(session_token::random().text());
  listener at(address::parse(GetParam()), token);
  file_descriptor fd;
  const address where = address::parse(at.where().text());
  std::thread other([&] { fd = connect_to(where, token, 0x0123456789abcdef, long_enough); });
  auto peer = at.accept(long_enough);
  other.join();
  ASSERT_TRUE(peer && fd);
  EXPECT_EQ(peer->number, 0x0123456789abcdefu);
  for (const int end : {fd.get(), peer->fd.get()}) {
    EXPECT_TRUE(::fcntl(end, F_GETFD) & FD_CLOEXEC);
    EXPECT_FALSE(::fcntl(end, F_GETFL) & O_NONBLOCK);
  }
  connection a(fd.release()), b(peer->fd.release());
  const std::string text = "rows";
  EXPECT_TRUE(a.send(message_kind::rows, 3, std::as_bytes(std::span(text))));
  const auto m = b.receive();
  ASSERT_TRUE(m);
  EXPECT_EQ(m->query, 3u);
  EXPECT_EQ(m->bytes.size(), text.size());
}

TEST_P(transport, other_tokens_are_refused_both_ways) {
  at_work listening(GetParam());
  EXPECT_THROW(connect_to(listening.at.where(), session_token::random(), 1, long_enough), query::cluster_error);
  EXPECT_EQ(listening.let_in, 0);
  listening.expect_open();
}

INSTANTIATE_TEST_SUITE_P(addresses, transport, ::testing::Values("unix:", "tcp:", "tcp:localhost:0"));

TEST(transport_peers, who_says_nothing_delays_no_other) {
  at_work listening;
  std::vector<stranger> silent;
  for (int i = 0; i < 20; ++i) silent.emplace_back(listening.at);
  const auto began = std::chrono::steady_clock::now();
  listening.expect_open();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 3s);
  for (stranger& s : silent) EXPECT_TRUE(s.sees_end(3 * listener::patience));
  listening.expect_open();
}

TEST(transport_peers, hundreds_of_silent_ones_end_by_themselves) {
  at_work listening;
  std::vector<stranger> silent;
  for (int i = 0; i < 300; ++i) silent.emplace_back(listening.at);
  listening.expect_open();
  EXPECT_EQ(listening.let_in, 1);
}

TEST(transport_peers, many_with_the_token_come_at_once) {
  at_work listening;
  std::vector<std::thread> all;
  std::atomic<int> met{0};
  for (int i = 0; i < 200; ++i)
    all.emplace_back([&, i] {
      if (connect_to(listening.at.where(), listening.token, static_cast<std::uint64_t>(i), long_enough)) ++met;
    });
  for (auto& t : all) t.join();
  EXPECT_EQ(met, 200);
}

TEST(transport_peers, messages_that_are_cut_altered_or_noise_end_their_connection_alone) {
  at_work listening;
  std::mt19937 random(21);
  const int rounds = 300;
  for (int i = 0; i < rounds; ++i) {
    stranger s(listening.at);
    s.read_greeting();
    connector_proof said;
    fill_random(said.of_connector);
    said.right = proof_of(listening.token, side::connects, said, s.greeting.of_listener);
    std::vector<unsigned char> bytes(sizeof said);
    std::memcpy(bytes.data(), &said, bytes.size());
    bool waits = false;
    if (i % 3 == 0) {  // cut
      bytes.resize(random() % bytes.size());
      waits = true;
    } else if (i % 3 == 1) {  // one bit is another
      bytes[random() % bytes.size()] ^= static_cast<unsigned char>(1u << random() % 8);
    } else {  // noise, and more of it than a proof has
      bytes.resize(random() % 5000 + 80);
      for (auto& b : bytes) b = static_cast<unsigned char>(random());
    }
    s.say(bytes.data(), bytes.size());
    if (waits) ::shutdown(s.fd.get(), SHUT_WR);
    EXPECT_TRUE(s.sees_end()) << i;
  }
  EXPECT_EQ(listening.let_in, 0);
  listening.expect_open();
}

TEST(transport_peers, proofs_cannot_be_used_again) {
  at_work listening;
  stranger first(listening.at);
  first.read_greeting();
  connector_proof said;
  said.right = proof_of(listening.token, side::connects, said, first.greeting.of_listener);
  first.say(&said, sizeof said);
  proof answer{};
  ASSERT_EQ(::recv(first.fd.get(), answer.data(), answer.size(), MSG_WAITALL), static_cast<ssize_t>(answer.size()));
  stranger second(listening.at);
  second.say(&said, sizeof said);
  EXPECT_TRUE(second.sees_end());
  // Nor does one that says back what the listener says.
  stranger third(listening.at);
  third.read_greeting();
  connector_proof mirror;
  mirror.of_connector = third.greeting.of_listener;
  mirror.right = answer;
  third.say(&mirror, sizeof mirror);
  EXPECT_TRUE(third.sees_end());
  EXPECT_EQ(listening.let_in, 1);
}

// What pretends to be the master: whatever it says, a container that connects to it gets an error and no connection.
TEST(transport_peers, false_listeners_are_refused) {
  const session_token token = session_token::random();
  std::mt19937 random(22);
  for (int i = 0; i < 60; ++i) {
    file_descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const address any = address::parse("unix:");
    ASSERT_EQ(::bind(fd.get(), any.data(), any.size()), 0);
    ASSERT_EQ(::listen(fd.get(), 1), 0);
    std::thread liar([&, kind = i % 4, seed = random()] {
      std::mt19937 noise(seed);
      file_descriptor peer(::accept4(fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      listener_greeting g;
      fill_random(g.of_listener);
      if (kind == 0) g.magic[noise() % 8] ^= 1;
      if (kind == 1) return (void)!::send(peer.get(), &g, noise() % sizeof g, MSG_NOSIGNAL);
      (void)!::send(peer.get(), &g, sizeof g, MSG_NOSIGNAL);
      connector_proof said;
      if (kind == 0 || ::recv(peer.get(), &said, sizeof said, MSG_WAITALL) != static_cast<ssize_t>(sizeof said)) return;
      // Its own proof sent back to it, or noise.
      if (kind == 2) return (void)!::send(peer.get(), said.right.data(), said.right.size(), MSG_NOSIGNAL);
      challenge c;
      fill_random(c);
      (void)!::send(peer.get(), c.data(), c.size(), MSG_NOSIGNAL);
    });
    EXPECT_THROW(connect_to(address::of_listener(fd.get()), token, 1, long_enough), query::cluster_error) << i;
    liar.join();
  }
}

TEST(transport_peers, waits_have_limits) {
  const session_token token = session_token::random();
  listener at(address::parse("tcp:"), token);  // which accepts nobody while connect_to waits
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THROW(connect_to(at.where(), token, 1, a_moment), query::cluster_error);
  EXPECT_FALSE(at.accept(a_moment));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  EXPECT_GE(std::chrono::steady_clock::now() - began, a_moment);
}

TEST(transport_peers, nobody_listens) {
  address where = address::parse("tcp:");
  {
    listener at(where, session_token::random());
    where = at.where();
  }
  EXPECT_THROW(connect_to(where, session_token::random(), 1, long_enough), query::cluster_error);
}

TEST(transport_address, is_a_number_or_a_name) {
  for (const char* good : {"unix:@query", "unix:/tmp/x/socket", "tcp:127.0.0.1:17", "tcp:[::1]:4000"})
    EXPECT_EQ(address::parse(good).text(), good);
  EXPECT_EQ(address::parse("tcp:localhost:5").text(), "tcp:127.0.0.1:5");
  EXPECT_EQ(address::parse("tcp:").text(), "tcp:127.0.0.1:0");
  for (const char* bad : {"", "tcp", "tcp:1.2.3.4", "tcp:1.2.3.4:", "tcp:1.2.3.4:70000", "tcp:somewhere:1", "tcp:1.2.3.4:5x", "unix:x",
                          "unix:@", "udp:1.2.3.4:5"})
    EXPECT_THROW(address::parse(bad), query::user_error) << bad;
  EXPECT_THROW(address::parse("unix:/" + std::string(200, 'x')), query::user_error);
}

TEST(transport_address, files_go_with_their_listener) {
  const query::tests::temp_folder folder("transport");
  const std::filesystem::path socket = std::filesystem::path(folder.name()) / "socket";
  {
    listener at(address::parse("unix:" + socket.string()), session_token::random());
    EXPECT_TRUE(std::filesystem::exists(socket));
  }
  EXPECT_FALSE(std::filesystem::exists(socket));
}

TEST(session_token, is_hexadecimal_and_another_each_time) {
  const session_token a = session_token::random(), b = session_token::random();
  EXPECT_NE(a.text(), b.text());
  EXPECT_EQ(session_token::from_text(a.text()).bytes(), a.bytes());
  for (const std::string& bad : {std::string(), a.text() + "00", a.text().substr(2), std::string(64, 'g')})
    EXPECT_THROW(session_token::from_text(bad), query::cluster_error);
}

}  // namespace
}  // namespace transport_test
