// Messages between two processes of a session, over a stream socket. Each belongs to a query.
//
//   connection to_container(fd);
//   to_container.send(message_kind::task, query, bytes);
//   while (auto m = to_container.receive()) handle(*m);       // nothing: the other side has ended
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <query/detail/function_ref.hpp>

namespace query::cluster {

enum class message_kind : std::uint32_t {
  // to a container
  hello, plan, rows, peer, task, redirect, drop, give_up, end_query, are_you_there,
  // to the master
  listens, done, failed, missing, here_i_am,
  // between those who pull blocks and those who hold them
  pull_block, page, block_end, block_gone, block_places, block_read, block_failed,
};

struct message {
  message_kind kind = message_kind::done;
  std::uint64_t query = 0;
  std::vector<std::byte> bytes;
};

// How a message begins: its bytes are still to be received.
struct message_head {
  message_kind kind = message_kind::done;
  std::uint64_t query = 0, bytes = 0;
};

class connection {
 public:
  explicit connection(int fd) : fd_(fd) {}
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  static constexpr auto for_a_minute = [](int waited) { return waited < 60'000; };
  static constexpr auto for_a_second = [](int waited) { return waited < 1'000; };

  // From any thread. False: the other side has ended, or goes_on(milliseconds that it took nothing), which is asked meanwhile, said no;
  // what that throws comes through. Where a part of the message has gone, nothing can be sent any more.
  bool send(message_kind kind, std::uint64_t query, std::span<const std::byte> head, std::span<const std::byte> rest = {},
            function_ref<bool(int)> goes_on = for_a_minute);
  // One thread. Nothing: the other side has ended, or what came is no message.
  std::optional<message> receive();
  // The same in two steps, for who knows where the bytes are wanted: all of them, in one call or several. False: the other side has ended.
  std::optional<message_head> receive_head();
  bool receive_bytes(std::span<std::byte> to);
  std::optional<message> receive_rest(const message_head& h);
  void close();  // wakes who receives
  bool is_idle() const;  // nothing has come, and the other side has not ended
  pid_t peer_process() const;  // of this machine, over a Unix socket; else 0
  void limit_silence(std::chrono::seconds most);  // receive() gives nothing after that

 private:
  bool write_all(std::span<iovec> parts, function_ref<bool(int)> goes_on, bool& begun);
  const int fd_;
  std::atomic<bool> cut_{false};  // a message went in part
  std::mutex sending_;
};

}  // namespace query::cluster
