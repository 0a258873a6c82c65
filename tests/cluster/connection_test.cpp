// Messages over a socket, and what comes that is none.
#include "cluster/connection.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "cluster/bytes.hpp"
#include "cluster/messages.hpp"
#include "cluster/program.hpp"
#include "cluster/sent_plan.hpp"

namespace connection_test {
namespace {

using namespace query::cluster;

struct ends {
  int fd[2];
  ends() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0); }
};

TEST(connection, hands_over_messages_of_any_size) {
  ends e;
  connection a(e.fd[0]), b(e.fd[1]);
  std::vector<std::byte> large(std::size_t{50} << 20);
  for (std::size_t i = 0; i < large.size(); i += 997) large[i] = static_cast<std::byte>(i);
  std::thread sender([&] {
    EXPECT_TRUE(a.send(message_kind::task, 7, {}));
    EXPECT_TRUE(a.send(message_kind::rows, 8, std::span(large).first(100), std::span(large).subspan(100)));
  });
  auto m = b.receive();
  ASSERT_TRUE(m);
  EXPECT_EQ(m->kind, message_kind::task);
  EXPECT_EQ(m->query, 7u);
  EXPECT_TRUE(m->bytes.empty());
  m = b.receive();
  sender.join();
  ASSERT_TRUE(m);
  EXPECT_EQ(m->bytes, large);
  a.close();
  EXPECT_FALSE(b.receive());
  EXPECT_FALSE(a.send(message_kind::done, 1, {}));
}

TEST(connection, ends_at_what_is_no_message) {
  std::mt19937 random(11);
  for (int i = 0; i < 200; ++i) {
    ends e;
    connection b(e.fd[1]);
    std::vector<unsigned char> noise(random() % 200);
    for (auto& c : noise) c = static_cast<unsigned char>(random());
    if (!noise.empty()) {
      EXPECT_EQ(::write(e.fd[0], noise.data(), noise.size()), static_cast<ssize_t>(noise.size()));
    }
    ::close(e.fd[0]);
    EXPECT_FALSE(b.receive());
  }
}

TEST(connection, takes_no_memory_for_a_length_alone) {
  ends e;
  connection a(e.fd[0]), b(e.fd[1]);
  const std::vector<std::byte> none;
  ASSERT_TRUE(a.send(message_kind::plan, 1, none));
  const auto first = b.receive();
  ASSERT_TRUE(first);
  // The same header with another length: a petabyte.
  struct {
    std::uint32_t magic = 0x31435151, kind = 1;
    std::uint64_t query = 1, bytes = std::uint64_t{1} << 50;
  } const header;
  ASSERT_EQ(::write(e.fd[0], &header, sizeof header), static_cast<ssize_t>(sizeof header));
  a.close();
  EXPECT_FALSE(b.receive());
}

// Whatever bytes a plan is said to be, reading them gives an error or a plan, and no more memory than they name.
TEST(connection, plans_of_noise_are_errors) {
  const program here;
  std::mt19937 random(12);
  int errors = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> noise(random() % 300);
    for (auto& c : noise) c = static_cast<std::byte>(random() % (i % 2 ? 256 : 3));
    try {
      kept_of_plans kept;
      read_plan(noise, here, kept);
    } catch (const std::exception&) {
      ++errors;
    }
    byte_reader from(noise);
    try {
      read_hello(from);
    } catch (const query::cluster_error&) {
    }
  }
  EXPECT_GT(errors, 1000);
}

}  // namespace
}  // namespace connection_test
