#include "engine_double/process_engine.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/interpreter.hpp"
#include "ir/serialise.hpp"

namespace engine_double {

using namespace query;
using detail::verb;

namespace {

// ---------------------------------------------------------------- messages: a length, then the bytes
struct channel_closed {};

// The engine's end of the socket. A worker that is silent for a minute is gone: it is a fork of a process with threads, and under
// sanitizers one of those can hold the allocator's lock at that instant.
struct patience {
  const runtime::cancel_flag* cancel;
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
};
constexpr const patience* for_ever = nullptr;  // the worker's end: it ends with its engine

void await(int fd, short event, const patience* p) {
  for (pollfd ready{fd, event, 0}; ::poll(&ready, 1, 50) == 0;) {
    if (!p) continue;
    if (p->cancel) p->cancel->check();
    if (std::chrono::steady_clock::now() > p->until) throw channel_closed{};
  }
}
void write_all(int fd, const void* data, std::size_t n, const patience* how_long) {
  const char* p = static_cast<const char*>(data);
  while (n) {
    await(fd, POLLOUT, how_long);
    const ssize_t k = ::send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (k < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (k <= 0) throw channel_closed{};
    p += k;
    n -= static_cast<std::size_t>(k);
  }
}
void read_all(int fd, void* data, std::size_t n, const patience* how_long) {
  char* p = static_cast<char*>(data);
  while (n) {
    await(fd, POLLIN, how_long);
    const ssize_t k = ::recv(fd, p, n, 0);
    if (k <= 0) throw channel_closed{};
    p += k;
    n -= static_cast<std::size_t>(k);
  }
}
void send_message(int fd, const std::vector<std::byte>& m, const patience* how_long) {
  const std::uint64_t n = m.size();
  write_all(fd, &n, sizeof n, how_long);
  write_all(fd, m.data(), m.size(), how_long);
}
std::vector<std::byte> receive_message(int fd, const patience* how_long) {
  std::uint64_t n = 0;
  read_all(fd, &n, sizeof n, how_long);
  if (n > (1ull << 32)) throw channel_closed{};
  std::vector<std::byte> m(n);
  read_all(fd, m.data(), m.size(), how_long);
  return m;
}

enum class tag : std::uint8_t { step_where = 1, step_select, run, rows, end, user_error };
std::vector<std::byte> message(tag t, std::span<const std::byte> body = {}) {
  std::vector<std::byte> m(1 + body.size());
  m[0] = static_cast<std::byte>(t);
  if (!body.empty()) std::memcpy(m.data() + 1, body.data(), body.size());
  return m;
}

// ---------------------------------------------------------------- the worker: expressions and bytes, nothing else
struct step {
  bool filter;
  std::size_t in, out;
  interpreter::program program;
};

struct worker {
  int fd;
  int crash_every;
  int vertices = 0;
  std::vector<step> steps;
  ir::type_registry types;
  std::size_t row_size = 0;

  void serve() {
    while (true) {
      const std::vector<std::byte> m = receive_message(fd, for_ever);
      switch (static_cast<tag>(m[0])) {
        case tag::run:
          steps.clear();
          std::memcpy(&row_size, &m[1], sizeof row_size);
          ++vertices;
          break;
        case tag::step_where:
        case tag::step_select: {
          ir::arena nodes;
          const ir::node* root = ir::deserialise(std::span(m).subspan(1), nodes, types);
          const bool filter = static_cast<tag>(m[0]) == tag::step_where;
          const std::size_t in = steps.empty() ? row_size : steps.back().out;
          steps.push_back({filter, in, filter ? in : root->type->size, interpreter::program(root)});
          break;
        }
        case tag::rows:
          if (crash_every && vertices % crash_every == 0) ::_exit(7);
          run(std::span(m).subspan(1));
          break;
        case tag::end: send_message(fd, message(tag::end), for_ever); break;
        default: return;
      }
    }
  }
  void run(std::span<const std::byte> bytes) {
    std::vector<std::byte> rows(bytes.begin(), bytes.end());
    interpreter::scratch scratch;
    try {
      for (const step& s : steps) {
        const std::size_t n = rows.size() / s.in;
        const interpreter::binding row{rows.data(), s.in, {}};
        if (s.filter) {
          const auto keep = std::make_unique<bool[]>(n);
          s.program.filter({&row, 1}, {}, n, keep.get(), scratch);
          std::size_t k = 0;
          for (std::size_t i = 0; i < n; ++i)
            if (keep[i]) std::memmove(&rows[k++ * s.in], &rows[i * s.in], s.in);
          rows.resize(k * s.in);
        } else {
          std::vector<std::byte> out(n * s.out);
          if (n) s.program.run({&row, 1}, {}, n, out.data(), scratch);
          rows = std::move(out);
        }
        if (rows.empty()) break;
      }
      send_message(fd, message(tag::rows, rows), for_ever);
    } catch (const std::exception& e) {
      send_message(fd, message(tag::user_error, std::as_bytes(std::span(e.what(), std::strlen(e.what())))), for_ever);
    }
  }
};

}  // namespace

process_engine::process_engine(faults f) : faults_(f) {
  const std::lock_guard hold(lock_);
  ensure_worker();
}
process_engine::~process_engine() {
  const std::lock_guard hold(lock_);
  stop_worker();
}

void process_engine::ensure_worker() {
  if (socket_ >= 0) return;
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) throw resource_error("process engine: no socket pair");
  const int pid = ::fork();
  if (pid < 0) throw resource_error("process engine: cannot fork");
  if (pid == 0) {
    ::close(pair[0]);
    try {
      worker w{pair[1], faults_.crash_every, 0, {}, {}, 0};
      w.serve();
    } catch (...) {
    }
    ::_exit(0);
  }
  ::close(pair[1]);
  socket_ = pair[0];
  worker_ = pid;
}
void process_engine::stop_worker() noexcept {
  if (socket_ < 0) return;
  ::close(socket_);
  ::kill(worker_, SIGKILL);
  ::waitpid(worker_, nullptr, 0);
  socket_ = worker_ = -1;
}

runtime::verdict process_engine::accepts(const planner::vertex& v) const {
  if (v.node && (v.node->has_own_equality() || v.node->has_own_order())) return {false, "the user's own comparison of keys stays here"};
  if (v.node || v.folds) return {false, "only row-wise work runs there"};
  if (v.inputs.size() != 1 || !v.captures.empty()) return {false, "captured collections stay here"};
  const planner::branch& b = v.inputs.front();
  if (!b.prefilters.empty()) return {false, "pushed-down predicates stay here"};
  if (b.stages.empty()) return {false, "nothing to compute"};
  for (const planner::stage& s : b.stages) {
    if (s.join && s.join->has_own_equality()) return {false, "the user's own comparison of keys stays here"};
    if (s.what != planner::stage::kind::rowwise) return {false, "joins stay here"};
    if (!s.in->trivial || !s.out->trivial) return {false, "rows own memory"};
    for (const detail::logical* n : s.nodes) {
      if (n->what == verb::select_many) return {false, "select_many is opaque"};
      const ir::traced t = n->functions.front().trace();
      if (!t) return {false, "opaque function: " + t.reason};
    }
  }
  return {true, "all functions traced"};
}

// Runs on a thread of its own; what it throws comes out of wait().
class remote_vertex final : public runtime::running_vertex {
 public:
  remote_vertex(process_engine& e, const planner::vertex& v, runtime::input_port& in, runtime::output_port& out,
                runtime::run_context& context)
      : engine_(&e), vertex_(&v), in_(&in), out_(&out), cancel_(&context.cancel), thread_([this] { run(); }) {}
  ~remote_vertex() override {
    if (thread_.joinable()) thread_.join();
  }
  void wait() override {
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run() noexcept {
    try {
      const std::lock_guard hold(engine_->lock_);
      try {
        engine_->ensure_worker();
        exchange();
      } catch (const channel_closed&) {
        engine_->stop_worker();
        throw cluster_error("process engine: the worker is gone");
      } catch (...) {
        engine_->stop_worker();  // it may still be sending
        throw;
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  void exchange() {
    if (engine_->faults_.always) throw cluster_error("process engine: out of order");
    const int fd = engine_->socket_;
    const auto send = [&](const std::vector<std::byte>& m) {
      const patience p{cancel_};
      send_message(fd, m, &p);
    };
    const auto receive = [&] {
      const patience p{cancel_};
      return receive_message(fd, &p);
    };
    const planner::branch& b = vertex_->inputs.front();
    const std::size_t in_size = in_->row()->size, out_size = b.row->size;
    send(message(tag::run, std::as_bytes(std::span(&in_size, 1))));
    for (const planner::stage& s : b.stages)
      for (const detail::logical* n : s.nodes)
        send(message(n->what == verb::where ? tag::step_where : tag::step_select, ir::serialise(n->functions.front().trace().root)));
    out_->tell(runtime::signal::begin_stream);
    runtime::block block;
    while (in_->next(block)) {
      cancel_->check();
      send(message(tag::rows, {static_cast<const std::byte*>(block.rows.rows), block.rows.n * in_size}));
      std::this_thread::sleep_for(std::chrono::milliseconds(engine_->faults_.delay_ms));
      const std::vector<std::byte> answer = receive();
      if (static_cast<tag>(answer[0]) == tag::user_error)
        throw user_error(std::string(reinterpret_cast<const char*>(&answer[1]), answer.size() - 1));
      auto rows = std::make_shared<std::vector<std::byte>>(answer.begin() + 1, answer.end());
      runtime::block result;
      result.rows.rows = rows->data();
      result.rows.n = rows->size() / out_size;
      result.owner = rows;
      out_->push(std::move(result));
    }
    send(message(tag::end));
    receive();
    out_->tell(runtime::signal::end_stream);
    ++engine_->completed_;
  }

  process_engine* engine_;
  const planner::vertex* vertex_;
  runtime::input_port* in_;
  runtime::output_port* out_;
  runtime::cancel_flag* cancel_;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses the members above
};

std::unique_ptr<runtime::running_vertex> process_engine::start(const planner::vertex& v, std::span<runtime::input_port* const> inputs,
                                                               runtime::output_port& output, runtime::run_context& context) {
  ++started_;
  return std::make_unique<remote_vertex>(*this, v, *inputs.front(), output, context);
}

}  // namespace engine_double
