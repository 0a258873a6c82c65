#include "cluster/local_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/container.hpp"
#include "cluster/sent_errors.hpp"
#include "runtime/cluster.hpp"

extern char** environ;

namespace query::cluster {

using clock = std::chrono::steady_clock;

namespace {

constexpr int fd_there = 3;

clock::rep now() { return clock::now().time_since_epoch().count(); }
std::chrono::milliseconds since(clock::rep then) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock::duration(now() - then));
}

// Of this process, without what makes sessions of it masters.
std::vector<std::string> environment_there() {
  std::vector<std::string> all;
  for (char** e = environ; *e; ++e)
    if (!std::string_view(*e).starts_with("QUERY_CLUSTER=")) all.emplace_back(*e);
  all.push_back(std::string(container_variable) + "=" + std::to_string(fd_there));
  return all;
}

// This program in a process of its own: with the socket, the standard streams and no other descriptor; signals of a terminal do not reach
// it.
pid_t start(int socket) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, socket, fd_there);
  ::posix_spawn_file_actions_addclosefrom_np(&files, fd_there + 1);
  ::posix_spawnattr_init(&how);
  sigset_t none, standard;
  ::sigemptyset(&none);
  ::sigfillset(&standard);
  ::posix_spawnattr_setsigmask(&how, &none);
  ::posix_spawnattr_setsigdefault(&how, &standard);
  ::posix_spawnattr_setpgroup(&how, 0);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> environment = environment_there();
  std::vector<char*> variables;
  for (std::string& e : environment) variables.push_back(e.data());
  variables.push_back(nullptr);
  std::string name = program_invocation_name;
  char* arguments[] = {name.data(), nullptr};
  pid_t process = -1;
  const int error = ::posix_spawn(&process, "/proc/self/exe", &files, &how, arguments, variables.data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&how);
  if (error) throw cluster_error(std::string("cluster: a process of this program cannot be started: ") + std::strerror(error));
  return process;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with status " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : status);
}

}  // namespace

local_process::local_process(std::string name, const hello& first) : name_(std::move(name)) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw cluster_error(std::string("cluster: no socket: ") + std::strerror(errno));
  to_ = std::make_unique<connection>(sockets[0]);
  try {
    process_ = start(sockets[1]);
  } catch (...) {
    ::close(sockets[1]);
    throw;
  }
  ::close(sockets[1]);
  heard_ = now();
  byte_writer greeting;
  write_hello(greeting, first);
  to_->send(message_kind::hello, 0, greeting.bytes());  // where it has gone, the reader finds out
  reader_ = std::thread([this] { read(); });
}

local_process::~local_process() {
  ending_ = true;
  to_->close();
  reader_.join();  // which reaps it
}

void local_process::read() {
  while (auto m = to_->receive()) {
    heard_ = now();
    answered_ = true;
    if (m->kind == message_kind::here_i_am) continue;
    if (m->query == 0 && m->kind == message_kind::failed) {
      try {
        byte_reader from(m->bytes);
        rethrow(from, name_);
      } catch (const std::exception& e) {
        lose(e.what());
      }
      continue;
    }
    std::shared_ptr<mailbox> box;
    {
      const std::lock_guard hold(lock_);
      if (const auto found = boxes_.find(m->query); found != boxes_.end()) box = found->second;
    }
    if (!box) continue;  // its query has ended
    const std::lock_guard hold(box->lock_);
    box->messages_.push_back(std::move(*m));
    box->some_.notify_one();
  }
  // It ends when it sees that nobody is there; one that does not is ended.
  int status = 0;
  const auto began = clock::now();
  const auto reap = [&] {
    const std::lock_guard hold(lock_);
    return reaped_ = ::waitpid(process_, &status, WNOHANG) != 0;
  };
  while (!reap()) {
    if (clock::now() - began > std::chrono::seconds(2)) end();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (!ending_) lose(how_it_ended(status));
}

void local_process::lose(const std::string& why) {
  std::vector<std::shared_ptr<mailbox>> all;
  {
    const std::lock_guard hold(lock_);
    if (why_lost_.empty()) why_lost_ = why;
    lost_ = true;
    for (const auto& [query, box] : boxes_) all.push_back(box);
  }
  for (const auto& box : all) {
    const std::lock_guard hold(box->lock_);
    box->some_.notify_all();
  }
}

void local_process::end() {
  const std::lock_guard hold(lock_);
  if (!reaped_) ::kill(process_, SIGKILL);
}

void local_process::throw_lost() {
  const std::lock_guard hold(lock_);
  throw runtime::process_lost("cluster: " + name_ + " (" + std::to_string(process_) + ") was lost: " + why_lost_);
}

std::shared_ptr<local_process::mailbox> local_process::open(std::uint64_t query) {
  auto box = std::make_shared<mailbox>();
  const std::lock_guard hold(lock_);
  boxes_[query] = box;
  return box;
}
void local_process::close(std::uint64_t query) {
  {
    const std::lock_guard hold(lock_);
    boxes_.erase(query);
  }
  if (!lost_ && !to_->send(message_kind::end_query, query, {}, {}, connection::for_a_second)) to_->close();
}

void local_process::send(message_kind kind, std::uint64_t query, const runtime::cancel_flag& cancel, std::span<const std::byte> head,
                         std::span<const std::byte> rest) {
  // Its reader takes everything at once, whatever its queries do.
  const auto goes_on = [&](int waited) {
    cancel.check();
    return !lost_ && std::chrono::milliseconds(waited) < (answered_ ? patience : patience_at_start);
  };
  if (!lost_ && !to_->send(kind, query, head, rest, goes_on)) {
    lose("it takes no message");
    to_->close();
  }
  if (lost_) throw_lost();
}

void local_process::wait_for_word() {
  if (since(heard_) < silence) return;
  const clock::rep asked = asked_;
  if (asked <= heard_) {
    const clock::rep before = now();
    if (to_->send(message_kind::are_you_there, 0, {}, {}, connection::for_a_second)) asked_ = before;
    else to_->close();
  } else if (since(asked) > (answered_ ? patience : patience_at_start)) {
    lose("no word from it for " + std::to_string(since(asked).count()) + " ms");
    to_->close();
    end();
  }
}

message local_process::mailbox::wait(local_process& from, const runtime::cancel_flag& cancel) {
  for (;;) {
    {
      std::unique_lock hold(lock_);
      some_.wait_for(hold, std::chrono::milliseconds(20), [&] { return !messages_.empty() || from.lost(); });
      if (!messages_.empty()) {
        message m = std::move(messages_.front());
        messages_.pop_front();
        return m;
      }
    }
    if (from.lost()) from.throw_lost();
    cancel.check();
    from.wait_for_word();
  }
}

}  // namespace query::cluster
