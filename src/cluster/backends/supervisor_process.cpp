#include "cluster/backends/supervisor_process.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include <query/errors.hpp>

#include "cluster/backends/spawned_process.hpp"
#include "cluster/backends/supervisor_text.hpp"

extern char** environ;

namespace query::cluster::backends {

namespace {

using clock = std::chrono::steady_clock;

constexpr int control_there = 0, program_there = 3;
constexpr std::size_t longest_line = std::size_t{1} << 16;

std::string python_with_ray(const std::string& cluster) {
  if (const char* named = std::getenv("QUERY_RAY_PYTHON"); named && *named) {
    if (::access(named, X_OK) == 0) return named;
    throw cluster_error("cluster: " + cluster + ": QUERY_RAY_PYTHON names no program: " + named);
  }
#ifdef QUERY_RAY_PYTHON_OF_BUILD
  if (::access(QUERY_RAY_PYTHON_OF_BUILD, X_OK) == 0) return QUERY_RAY_PYTHON_OF_BUILD;
#endif
  throw cluster_error("cluster: " + cluster +
                      ": no Python with Ray: run scripts/fetch_ray in the library's folder, or name one by QUERY_RAY_PYTHON");
}

transport::file_descriptor memory_file(const char* name, std::string_view text) {
  transport::file_descriptor fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw cluster_error(std::string("cluster: no file in memory: ") + std::strerror(errno));
  return fd;
}

}  // namespace

supervisor_process::supervisor_process(const std::string& cluster)
    : program_(memory_file("query_supervisor", supervisor_text())), errors_(memory_file("query_supervisor_errors", "")) {
  std::string python = python_with_ray(cluster);
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw cluster_error(std::string("cluster: no socket: ") + std::strerror(errno));
  socket_ = transport::file_descriptor(sockets[0]);
  const transport::file_descriptor theirs(sockets[1]);
  std::vector<std::string> environment;
  for (char** e = environ; *e; ++e)
    if (!std::string_view(*e).starts_with("LD_PRELOAD=")) environment.emplace_back(*e);
  environment.emplace_back("RAY_USAGE_STATS_ENABLED=0");
  process_ = spawn(python.c_str(), {python, "-u", "/proc/self/fd/" + std::to_string(program_there)}, std::move(environment),
                   {{theirs.get(), control_there}, {errors_.get(), 1}, {errors_.get(), 2}, {program_.get(), program_there}}, program_there);
  if (process_ < 0) throw cluster_error("cluster: " + cluster + ": " + python + " cannot be started: " + std::strerror(errno));
}

supervisor_process::~supervisor_process() {
  end();
  how_it_ended();
}

void supervisor_process::end() { ::shutdown(socket_.get(), SHUT_RDWR); }

void supervisor_process::say(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& f : fields) {
    line += f;
    line += '\0';
  }
  line += '\n';
  const std::lock_guard hold(saying_);
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t n = ::send(socket_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    sent += static_cast<std::size_t>(n);
  }
}

std::optional<std::vector<std::string>> supervisor_process::hear() {
  for (;;) {
    if (const std::size_t end = heard_.find('\n'); end != heard_.npos) {
      std::vector<std::string> fields;
      for (std::size_t at = 0; at < end;) {
        const std::size_t stop = std::min(heard_.find('\0', at), end);
        fields.push_back(heard_.substr(at, stop - at));
        at = stop + 1;
      }
      heard_.erase(0, end + 1);
      if (!fields.empty()) return fields;
      continue;
    }
    std::array<char, 4096> bytes;
    const ssize_t n = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || heard_.size() > longest_line) return std::nullopt;
    heard_.append(bytes.data(), static_cast<std::size_t>(n));
  }
}

// It takes down what it made when its socket ends, which may take Ray a while.
std::string supervisor_process::how_it_ended() {
  if (process_ < 0) return how_;
  constexpr std::chrono::seconds patience{15};
  const auto began = clock::now();
  int status = 0;
  while (::waitpid(process_, &status, WNOHANG) == 0) {
    if (clock::now() - began > patience) ::kill(process_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  process_ = -1;
  std::array<char, 1000> text;
  const off_t size = ::lseek(errors_.get(), 0, SEEK_END);
  const ssize_t n = ::pread(errors_.get(), text.data(), text.size(), std::max<off_t>(0, size - static_cast<off_t>(text.size())));
  how_ = WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status))
                             : "ended with status " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : status);
  if (n > 0 && status != 0) how_ += ": " + std::string(text.data(), static_cast<std::size_t>(n));
  return how_;
}

}  // namespace query::cluster::backends
