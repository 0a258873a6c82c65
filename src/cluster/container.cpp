#include "cluster/container.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

#include <query/detail/stop.hpp>
#include <query/session.hpp>

#include "cluster/backends/invitation.hpp"
#include "cluster/bytes.hpp"
#include "cluster/connection.hpp"
#include "cluster/messages.hpp"
#include "cluster/sent_errors.hpp"
#include "cluster/sent_pages.hpp"
#include "cluster/sent_plan.hpp"
#include "planner/trace_memo.hpp"
#include "runtime/exchange_side.hpp"
#include "runtime/executor.hpp"
#include "runtime/run_context.hpp"
#include "runtime/session_state.hpp"

namespace query::cluster {

namespace {

// A partition of a query. Its messages are worked off one after the other, on a thread of its own.
class partition_here {
 public:
  partition_here(std::uint64_t query, connection& master, runtime::session_state& session)
      : query_(query),
        master_(master),
        session_(session),
        context_{*session.scheduler, session.pool, cancel_} {
    context_.local = session.cpu.get();
    context_.temp = &session.temp;
  }

  void put(message m) {
    const std::lock_guard hold(lock_);
    waiting_.push_back(std::move(m));
    some_.notify_one();
  }
  void stop() {
    cancel_.cancel();
    put({message_kind::end_query, query_, {}});
  }

  void work() {
    const detail::stop_scope stops(cancel_.state());
    const planner::trace_memo::scope traced(traces_);
    for (;;) {
      message m;
      {
        std::unique_lock hold(lock_);
        some_.wait(hold, [&] { return !waiting_.empty(); });
        m = std::move(waiting_.front());
        waiting_.pop_front();
      }
      if (m.kind == message_kind::end_query) break;
      if (failed_) continue;  // who asked has been told
      try {
        handle(m);
      } catch (...) {
        byte_writer error;
        put_exception(error);
        failed_ = true;
        say(message_kind::failed, query_, error.bytes());
      }
    }
    context_.tables.clear();
    plan_ = {};
  }

 private:
  void handle(const message& m) {
    byte_reader from(m.bytes);
    switch (m.kind) {
      case message_kind::plan: return take_plan(from);
      case message_kind::rows: return take_rows(from);
      default: break;
    }
    if (!std::exchange(complete_, true)) complete(plan_, context_.verify);
    switch (m.kind) {
      case message_kind::run_vertex: {
        const planner::vertex& v = vertex(from);
        if (v.moves) return done(exchanges_->run(v));
        if (!context_.left_to_joins.contains(&v)) executor_->run_here(v);
        return done();
      }
      case message_kind::sample_vertex: {
        const planner::vertex& v = vertex(from);
        send_pages(exchanges_->sample(v, from.get<std::uint64_t>()), 0);
        return done(1);
      }
      case message_kind::send_vertex: return send_vertex(from);
      case message_kind::receive_vertex: return receive_vertex(from);
      case message_kind::forget_vertex: context_.tables.erase(&vertex(from)); return;
      case message_kind::verify_result: session_.cpu->verify(plan_.graph->result, plan_.graph->captures, context_); return done();
      case message_kind::fold_result: {
        detail::fold_state state;
        session_.cpu->fold(plan_.graph->result, plan_.graph->captures, from.get<detail::fold_kind>(), state, context_);
        say(message_kind::folded, query_, std::as_bytes(std::span(&state, 1)));
        return;
      }
      default: throw cluster_error("cluster: a message that no container knows");
    }
  }
  // A message that was cut would be the end of all that follow.
  void say(message_kind kind, std::uint64_t query, std::span<const std::byte> head, std::span<const std::byte> rest = {}) {
    if (!master_.send(kind, query, head, rest)) ::_exit(1);
  }
  void done(std::uint64_t n = 0) { say(message_kind::done, query_, std::as_bytes(std::span(&n, 1))); }

  planner::vertex& vertex(byte_reader& from) { return vertex_at(from.get<std::uint64_t>()); }
  planner::vertex& vertex_at(std::uint64_t i) {
    if (!plan_.graph || i >= plan_.graph->vertices.size()) throw cluster_error("cluster: a vertex is not there");
    return *plan_.graph->vertices[i];
  }

  void take_plan(byte_reader& from) {
    const program here = program::matching(read_modules(from));
    context_.verify = from.get<std::uint8_t>() != 0;
    std::vector<std::uint64_t> left_to_joins;
    for (std::size_t n = from.get_count(sizeof(std::uint64_t)); n; --n) left_to_joins.push_back(from.get<std::uint64_t>());
    plan_ = read_plan(from.get_raw(from.left()), here);
    complete_ = false;
    for (const std::uint64_t i : left_to_joins) context_.left_to_joins.insert(&vertex_at(i));
    executor_ = std::make_unique<runtime::executor>(*plan_.graph, session_, context_);
    exchanges_ = std::make_unique<runtime::exchange_side>(session_, *executor_, context_);
  }

  // Pages of one table after the other: of each part of each source, and of each captured collection.
  void take_rows(byte_reader& from) {
    const auto h = from.get<rows_header>();
    if (h.last == 0) return keep(from, h.rows);
    const bool captured = h.of == rows_of::capture;
    if (h.number >= (captured ? plan_.captured.size() : plan_.sources.size())) throw cluster_error("cluster: rows for nobody");
    if (captured) {
      detail::capture& c = *plan_.captured[h.number];
      auto table = std::make_shared<detail::table>(table_of_pages(c.element));
      c.data = table->rows;
      c.size = table->n;
      c.owner = std::move(table);
    } else {
      received_source& source = plan_.sources[h.number];
      const auto parts = source.parts();
      if (h.part >= parts.size()) throw cluster_error("cluster: a column that the source has not");
      source.receive(h.part, table_of_pages(parts[h.part]));
    }
  }
  void keep(byte_reader& from, std::uint64_t rows) { pages_.push_back(read_page(from, rows, session_.pool)); }
  std::vector<const runtime::row_page*> inbox() const { return runtime::in_order({&pages_}); }
  detail::table table_of_pages(const ir::type* row) {
    detail::table t = session_.cpu->rows_of(row, inbox(), context_);
    pages_.clear();
    return t;
  }
  void receive_vertex(byte_reader& from) {
    const auto h = from.get<rows_header>();
    if (h.last == 0) return keep(from, h.rows);
    exchanges_->receive(vertex(from), inbox());
    pages_.clear();
    done();
  }

  void send_pages(const runtime::row_pages& pages, std::uint64_t receiver) {
    for (const runtime::row_page& p : pages) {
      const page_header h{receiver, p.rows};
      say(message_kind::page, query_, std::as_bytes(std::span(&h, 1)), {p.bytes.as<const std::byte>(), p.bytes.size()});
    }
  }
  // To all receivers, or, once more, to one of them.
  void send_vertex(byte_reader& from) {
    const planner::vertex& v = vertex(from);
    const auto receivers = from.get<std::uint64_t>(), only = from.get<std::uint64_t>();
    if (receivers > static_cast<std::uint64_t>(plan_.graph->partitions)) throw cluster_error("cluster: partitions that are not there");
    runtime::row_pages begins;
    for (std::size_t n = from.get_count(2 * sizeof(std::uint64_t)); n; --n) {
      const auto rows = from.get<std::uint64_t>();
      byte_reader page(from.get_raw(from.get_count(1)));
      begins.push_back(read_page(page, rows, session_.pool));
    }
    const std::vector<runtime::row_pages> sent = exchanges_->send(v, receivers, begins);
    for (std::size_t r = 0; r < sent.size(); ++r)
      if (only == runtime::remote_partition::all || sent.size() == 1 || r == only) send_pages(sent[r], r);
    done(sent.size());
  }

  const std::uint64_t query_;
  connection& master_;
  runtime::session_state& session_;
  runtime::cancel_flag cancel_;
  planner::trace_memo traces_;
  received_plan plan_;
  runtime::run_context context_;
  std::unique_ptr<runtime::executor> executor_;
  std::unique_ptr<runtime::exchange_side> exchanges_;
  std::vector<runtime::row_page> pages_;  // of the table that is coming
  bool complete_ = false, failed_ = false;

  std::mutex lock_;
  std::condition_variable some_;
  std::deque<message> waiting_;
};

std::atomic<bool> entered{false};

}  // namespace

bool can_be_container() { return entered; }

void run_container(int fd) {
  std::signal(SIGPIPE, SIG_IGN);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);  // a process that a function starts must not keep the master from seeing that this one has ended
  runtime::begin_slots_above(std::uint64_t{1} << 62);
  auto& master = *new connection(fd);  // threads that still work use it: the process ends around them
  const auto end = [](int status) {
    std::fflush(nullptr);
    ::_exit(status);
  };
  std::unordered_map<std::uint64_t, std::shared_ptr<partition_here>> queries;
  std::shared_ptr<runtime::session_state> session;
  while (auto m = master.receive()) {
    switch (m->kind) {
      case message_kind::hello:
        try {
          byte_reader from(m->bytes);
          const hello h = read_hello(from);
          session = std::make_shared<runtime::session_state>(h.options);
          master.send(message_kind::here_i_am, 0, {});
        } catch (...) {
          byte_writer error;
          put_exception(error);
          master.send(message_kind::failed, 0, error.bytes());
          end(1);
        }
        break;
      case message_kind::are_you_there: master.send(message_kind::here_i_am, 0, {}); break;
      case message_kind::end_query:
        if (const auto q = queries.find(m->query); q != queries.end()) {
          q->second->stop();
          queries.erase(q);
        }
        break;
      default: {
        if (!session) end(1);
        auto& q = queries[m->query];
        if (!q) {
          q = std::make_shared<partition_here>(m->query, master, *session);
          std::thread([q] { q->work(); }).detach();
        }
        q->put(std::move(*m));
      }
    }
  }
  end(0);
  std::abort();
}

}  // namespace query::cluster

namespace query {

void container_main() {
  cluster::entered = true;
  const char* const text = std::getenv(cluster::container_variable);
  if (!text) return;
  constexpr std::string_view invited = "invited:";
  const std::string how = text;
  ::unsetenv(cluster::container_variable);  // nor are processes that user functions start
  if (how.starts_with(invited)) cluster::run_container(cluster::backends::follow_invitation(std::string_view(how).substr(invited.size())));
  int fd = -1;
  const char* const end = how.data() + how.size();
  const auto [ptr, error] = std::from_chars(how.data(), end, fd);
  if (error != std::errc() || ptr != end || fd < 3) ::_exit(2);
  cluster::run_container(fd);
}

}  // namespace query
