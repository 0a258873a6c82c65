// "local:4": child processes, each with a socket pair, which needs no proof.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <query/errors.hpp>

#include "cluster/backends/backend.hpp"
#include "cluster/backends/spawned_process.hpp"
#include "cluster/container/container.hpp"

extern char** environ;

namespace query::cluster::backends {

namespace {

constexpr int fd_there = 3;

// Of this process, without what makes sessions of it masters.
std::vector<std::string> environment_there() {
  std::vector<std::string> all;
  for (char** e = environ; *e; ++e)
    if (!std::string_view(*e).starts_with("QUERY_CLUSTER=")) all.emplace_back(*e);
  all.push_back(std::string(container_variable).append("=").append(std::to_string(fd_there)));
  return all;
}

// This program in a process of its own: with the socket and the standard streams.
pid_t start_process(int socket) {
  const pid_t process = spawn("/proc/self/exe", {program_invocation_name}, environment_there(), {{socket, fd_there}}, fd_there);
  if (process < 0) throw cluster_error(std::string("cluster: a process of this program cannot be started: ") + std::strerror(errno));
  return process;
}

class child_process final : public container_process {
 public:
  child_process() {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
      throw cluster_error(std::string("cluster: no socket: ") + std::strerror(errno));
    socket_ = transport::file_descriptor(sockets[0]);
    const transport::file_descriptor theirs(sockets[1]);
    process_ = start_process(theirs.get());
  }
  ~child_process() override {
    socket_ = {};
    child_process::how_it_ended();
  }

  transport::file_descriptor take_socket() override { return std::move(socket_); }
  std::string place() const override { return std::to_string(process_); }

  // It ends when it sees that nobody is there; one that does not is ended.
  std::string how_it_ended() override {
    constexpr std::chrono::seconds patience{2};
    const auto began = std::chrono::steady_clock::now();
    while (!reap()) {
      if (std::chrono::steady_clock::now() - began > patience) kill();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const std::lock_guard hold(lock_);
    if (WIFSIGNALED(status_)) return "ended by signal " + std::to_string(WTERMSIG(status_));
    return "ended with status " + std::to_string(WIFEXITED(status_) ? WEXITSTATUS(status_) : status_);
  }
  void kill() override {
    const std::lock_guard hold(lock_);
    if (!reaped_) ::kill(process_, SIGKILL);
  }

 private:
  bool reap() {
    const std::lock_guard hold(lock_);
    return reaped_ = reaped_ || ::waitpid(process_, &status_, WNOHANG) != 0;
  }

  transport::file_descriptor socket_;
  pid_t process_ = -1;
  std::mutex lock_;
  int status_ = 0;
  bool reaped_ = false;  // its number may be another's
};

class local_backend final : public backend {
 public:
  explicit local_backend(int containers) : containers_(containers) {}
  std::string name() const override { return "local:" + std::to_string(containers_ + 1); }
  int containers() const override { return containers_; }
  bool shares_machine() const override { return true; }
  std::string beside() const override { return "unix:"; }
  std::unique_ptr<container_process> start(std::size_t, const runtime::cancel_flag&) override { return std::make_unique<child_process>(); }

 private:
  const int containers_;
};

}  // namespace

std::unique_ptr<backend> local_processes(int containers) { return std::make_unique<local_backend>(containers); }

}  // namespace query::cluster::backends
