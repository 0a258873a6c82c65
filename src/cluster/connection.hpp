// Messages between the master and one container, over a stream socket. Each belongs to a query.
//
//   connection to_container(fd);
//   to_container.send(message_kind::run_vertex, query, bytes);
//   while (auto m = to_container.receive()) handle(*m);       // nothing: the other side has ended
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace query::cluster {

enum class message_kind : std::uint32_t {
  // to a container
  hello, plan, rows, run_vertex, sample_vertex, send_vertex, receive_vertex, forget_vertex, fold_result, verify_result, end_query, are_you_there,
  // to the master
  done, failed, page, folded, here_i_am,
};

struct message {
  message_kind kind = message_kind::done;
  std::uint64_t query = 0;
  std::vector<std::byte> bytes;
};

class connection {
 public:
  explicit connection(int fd) : fd_(fd) {}
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // From any thread. False: the other side has ended, or took nothing for `limit_seconds`.
  bool send(message_kind kind, std::uint64_t query, std::span<const std::byte> head, std::span<const std::byte> rest = {});
  // One thread. Nothing: the other side has ended, or what came is no message.
  std::optional<message> receive();
  void close();  // wakes who receives

  static constexpr int limit_seconds = 60;

 private:
  bool write_all(std::span<const std::byte> bytes);
  const int fd_;
  std::mutex sending_;
};

}  // namespace query::cluster
