// "ray:10.0.0.1:6379": containers on the nodes of a Ray cluster. A Python of ours (supervisor.py) asks Ray for them; they connect to a
// listener here. Source: docs/cluster.md.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cluster/backends/backend.hpp"
#include "cluster/backends/invitation.hpp"
#include "cluster/backends/supervisor_process.hpp"
#include "cluster/program.hpp"
#include "cluster/transport/listener.hpp"

namespace query::cluster::backends {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// Shared objects that belong to a machine: the C library and NVIDIA's driver, with its compiler.
bool is_of_machine(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  constexpr std::array names{"linux-vdso.", "linux-gate.", "ld-linux", "libc.", "libm.", "libpthread.", "libdl.", "librt.", "libresolv.",
                             "libutil.", "libnss_", "libanl.", "libcuda.", "libnvidia-", "libnvrtc"};
  return path.find('/') == path.npos || std::ranges::any_of(names, [&](std::string_view n) { return file.starts_with(n); });
}

// The executable as it runs, though its file may be gone, its name, and its shared objects.
std::vector<std::string> shipped_program() {
  std::vector<std::string> all{"program", "/proc/" + std::to_string(::getpid()) + "/exe", program_invocation_short_name};
  const auto modules = program().names();
  for (std::size_t i = 1; i < modules.size(); ++i)
    if (!is_of_machine(modules[i].path)) all.push_back(modules[i].path);
  return all;
}

// The containers of a session, as far as this process knows. Any thread may use it.
class containers_state {
 public:
  struct run {
    transport::file_descriptor socket;
    std::string place, how;
    bool ended = false;
  };

  template <class F> void change(const F& f) {
    const std::lock_guard hold(lock_);
    f(*this);
    some_.notify_all();
  }
  // False: it did not come within the limit.
  template <class F> bool wait(std::chrono::milliseconds limit, const F& come) {
    std::unique_lock hold(lock_);
    return some_.wait_for(hold, limit, [&] { return come(*this); });
  }

  std::map<std::uint64_t, run> runs;    // by number_of_run
  int containers = -1;                  // -1: not known yet
  std::string host, failed;             // failed: why nothing can be started any more
  bool one_machine = false;

 private:
  std::mutex lock_;
  std::condition_variable some_;
};

class ray_container final : public container_process {
 public:
  ray_container(std::shared_ptr<containers_state> all, std::shared_ptr<supervisor_process> supervisor, std::uint64_t id)
      : all_(std::move(all)), supervisor_(std::move(supervisor)), id_(id) {}
  ~ray_container() override {
    kill();
    all_->change([&](containers_state& s) { s.runs.erase(id_); });
  }
  transport::file_descriptor take_socket() override {
    transport::file_descriptor fd;
    all_->change([&](containers_state& s) { fd = std::move(s.runs[id_].socket); });
    return fd;
  }
  std::string place() const override {
    std::string text;
    all_->change([&](containers_state& s) { text = s.runs[id_].place; });
    return text;
  }
  std::string how_it_ended() override {
    std::string how = "its connection ended";
    const auto ended = [&](containers_state& s) {
      const containers_state::run& r = s.runs[id_];
      if (r.ended) how = r.how;
      return r.ended || !s.failed.empty();
    };
    // A query that waits for the container's rows learns of the end at once. The reason may come later, for example if the host is gone.
    if (!all_->wait(100ms, ended)) kill();
    return how;
  }
  void kill() override {
    const auto number = static_cast<std::uint32_t>(id_), run = static_cast<std::uint32_t>(id_ >> 32);
    supervisor_->say({"kill", std::to_string(number), std::to_string(run)});
  }

 private:
  const std::shared_ptr<containers_state> all_;
  const std::shared_ptr<supervisor_process> supervisor_;
  const std::uint64_t id_;
};

class ray_backend final : public backend {
 public:
  ray_backend(std::string address, const session_options& options)
      : address_(std::move(address)), supervisor_(std::make_shared<supervisor_process>("ray:" + address_)) {
    supervisor_->say({"begin", address_, std::to_string(options.threads)});
    reader_ = std::thread([this] { read(); });
    const auto there = [](containers_state& s) { return s.containers >= 0 || !s.failed.empty(); };
    std::string why = "no word from Ray";
    if (all_->wait(a_minute, there)) why = all_->failed;
    try {
      if (!why.empty()) throw cluster_error("cluster: ray:" + address_ + ": " + why);
      runs_.resize(static_cast<std::size_t>(all_->containers));
      const char* const named = std::getenv("QUERY_CLUSTER_HOST");
      std::string host = named && *named ? named : all_->host;
      if (host.find(':') != host.npos && !host.starts_with('[')) host = "[" + host + "]";
      listener_.emplace(transport::address::parse("tcp:" + host + ":0"), token_);
    } catch (...) {
      end();
      throw;
    }
    accepting_ = std::thread([this] { accept(); });
    supervisor_->say(shipped_program());
    supervisor_->say({"listen", listener_->where().text(), token_.text()});
  }
  ~ray_backend() override { end(); }

  std::string name() const override { return "ray:" + address_; }
  std::string beside() const override {
    const std::string where = listener_->where().text();
    return where.substr(0, where.rfind(':')) + ":0";
  }
  int containers() const override { return all_->containers; }
  bool shares_machine() const override { return all_->one_machine; }

  std::unique_ptr<container_process> start(std::size_t number, const runtime::cancel_flag& cancel) override {
    std::uint64_t id = 0;
    {
      const std::lock_guard hold(asking_);
      // All are asked for with the first: they start side by side.
      for (std::size_t i = 0; i < runs_.size(); ++i)
        if (!runs_[i].asked && (i == number || !runs_[i].run)) ask(i);
      id = number_of_run(static_cast<std::uint32_t>(number), runs_[number].run);
    }
    const auto come = [&](containers_state& s) { return s.runs[id].socket || s.runs[id].ended || !s.failed.empty(); };
    bool in_time = false;
    // A cancelled query leaves the container to the next one.
    for (const auto end = clock::now() + 2 * a_minute; !(in_time = all_->wait(50ms, come)) && clock::now() < end;) cancel.check();
    {
      const std::lock_guard hold(asking_);
      runs_[number].asked = false;
    }
    auto made = std::make_unique<ray_container>(all_, supervisor_, id);
    std::string why = in_time ? "" : "it did not come";
    all_->change([&](containers_state& s) {
      const containers_state::run& r = s.runs[id];
      if (!r.socket && why.empty()) why = s.failed.empty() ? r.how : s.failed;
    });
    if (!why.empty()) throw cluster_error("cluster: " + name() + ": a container cannot be started: " + why);
    return made;
  }

 private:
  static constexpr std::chrono::milliseconds a_minute{60'000};
  struct run_count {
    std::uint32_t run = 0;
    bool asked = false;  // for one that nobody has taken yet
  };

  void ask(std::size_t number) {
    ++runs_[number].run;
    runs_[number].asked = true;
    supervisor_->say({"start", std::to_string(number), std::to_string(runs_[number].run)});
  }

  void read() {
    while (const auto said = supervisor_->hear()) {
      const std::vector<std::string>& f = *said;
      const auto number = [&](std::size_t i) {
        std::uint32_t n = 0;
        if (i < f.size()) std::from_chars(f[i].data(), f[i].data() + f[i].size(), n);
        return n;
      };
      all_->change([&](containers_state& s) {
        if (f[0] == "ready" && f.size() == 4) {
          s.containers = static_cast<int>(number(1));
          s.host = f[2];
          s.one_machine = f[3] == "1";
        } else if (f[0] == "failed" && f.size() == 2) {
          s.failed = f[1];
        } else if ((f[0] == "started" || f[0] == "ended") && f.size() == 4) {
          const auto found = s.runs.try_emplace(number_of_run(number(1), number(2))).first;
          (f[0] == "started" ? found->second.place : found->second.how) = f[3];
          if (f[0] == "ended") found->second.ended = true;
        }
      });
    }
    const std::string why = "its supervisor " + supervisor_->how_it_ended();
    all_->change([&](containers_state& s) {
      if (s.failed.empty()) s.failed = why;
    });
  }
  void accept() {
    while (!ending_)
      if (auto peer = listener_->accept(200ms))
        all_->change([&](containers_state& s) {
          const auto run = static_cast<std::uint32_t>(peer->number >> 32), number = static_cast<std::uint32_t>(peer->number);
          // What comes late, when another is to take its place, finds its connection closed.
          const auto known = s.runs.find(peer->number);
          if (number < static_cast<std::uint32_t>(s.containers) && run && (known == s.runs.end() || !known->second.ended))
            s.runs[peer->number].socket = std::move(peer->fd);
        });
  }
  void end() {
    ending_ = true;
    supervisor_->end();
    if (reader_.joinable()) reader_.join();
    if (accepting_.joinable()) accepting_.join();
  }

  const std::string address_;
  const transport::session_token token_ = transport::session_token::random();
  const std::shared_ptr<containers_state> all_ = std::make_shared<containers_state>();
  const std::shared_ptr<supervisor_process> supervisor_;
  std::optional<transport::listener> listener_;
  std::mutex asking_;
  std::vector<run_count> runs_;
  std::atomic<bool> ending_{false};
  std::thread reader_, accepting_;
};

}  // namespace

std::unique_ptr<backend> ray_cluster(std::string_view address, const session_options& options) {
  return std::make_unique<ray_backend>(std::string(address), options);
}

}  // namespace query::cluster::backends
