#include "cluster/container/container.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <query/detail/stop.hpp>
#include <query/session.hpp>

#include "cluster/backends/invitation.hpp"
#include "cluster/blocks/block_puller.hpp"
#include "cluster/blocks/block_server.hpp"
#include "cluster/bytes.hpp"
#include "cluster/connection.hpp"
#include "cluster/container/divided_sources.hpp"
#include "cluster/container/partition_work.hpp"
#include "cluster/container/task_queue.hpp"
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

// Queries that have been ended and still have memory and files. The next one begins when these have gone, so that it has room.
class ending_queries {
 public:
  void add() {
    const std::lock_guard hold(lock_);
    ++n_;
  }
  void remove() {
    const std::lock_guard hold(lock_);
    --n_;
    gone_.notify_all();
  }
  void wait() {  // not for functions of the user's that do not end
    constexpr std::chrono::seconds patience{1};
    std::unique_lock hold(lock_);
    gone_.wait_for(hold, patience, [&] { return n_ == 0; });
  }

 private:
  std::mutex lock_;
  std::condition_variable gone_;
  int n_ = 0;
};

// A partition of a query. Its plan and rows, and then its tasks, are worked off on a thread of its own; what the query's master says, and
// the blocks that come, find it in between.
class partition_here {
 public:
  partition_here(std::uint64_t query, connection& master, runtime::session_state& session, peer_connections& connections,
                 block_server& server, kept_of_plans& kept)
      : query_(query),
        master_(master),
        session_(session),
        server_(server),
        kept_(kept),
        context_{*session.scheduler, session.pool, cancel_},
        pulls_(connections, session.pool, [this](block_puller::outcome o) { came(std::move(o)); }) {
    context_.local = session.cpu.get();
    context_.temp = &session.temp;
    cancel_.count_in(session.pool);
  }

  // What the master says, on the thread that hears it.
  void put(message m) {
    byte_reader from(m.bytes);
    switch (m.kind) {
      case message_kind::plan:
      case message_kind::rows: return leave_to_worker(std::move(m));
      case message_kind::peer: {
        const auto host = from.get<host_id>();
        std::string where = from.get_text();
        return pulls_.peer(host, std::move(where), from.get<std::uint64_t>());
      }
      case message_kind::task: {
        task t = read_task(from);
        {
          const std::lock_guard hold(lock_);
          vertices_[t.id.step] = t.vertex;
        }
        return handle(t);
      }
      case message_kind::redirect: {
        const auto r = from.get<task_block>();
        return handle(other_block{r.task, r.block});
      }
      case message_kind::drop: return handle(no_longer_read{from.get<step_id>()});
      case message_kind::give_up: return handle(given_up{from.get<step_id>()});
      default: throw cluster_error("cluster: a message that no container knows");
    }
  }
  void stop() {
    cancel_.cancel();
    const std::lock_guard hold(lock_);
    ending_ = true;
    some_.notify_one();
  }

  void run(ending_queries& earlier) {
    earlier.wait();
    const detail::stop_scope stops(cancel_.state());
    const planner::trace_memo::scope traced(traces_);
    while (const item next = next_item()) next();
    server_.close(query_);
    context_.tables.clear();
    plan_ = {};
  }

 private:
  using item = std::function<void()>;

  item next_item() {
    std::unique_lock hold(lock_);
    some_.wait(hold, [&] { return ending_ || !items_.empty(); });
    if (ending_) return {};
    item next = std::move(items_.front());
    items_.pop_front();
    return next;
  }
  void leave_to_worker(message m) {
    const std::lock_guard hold(lock_);
    items_.emplace_back([this, m = std::move(m)] { do_it(m); });
    some_.notify_one();
  }

  // ------------------------------------------------------------ the queue, of any thread
  void handle(const queue_event& e) {
    {
      const std::lock_guard hold(lock_);
      if (!takes_events_) return early_.push_back(e);  // the plan is being read
    }
    handle_now(e);
  }
  void handle_now(const queue_event& e) {
    queue_actions actions;
    {
      const std::lock_guard hold(lock_);
      queue_.handle(e, actions);
      // In the queue's order, whichever thread brought the event: a table that goes must not be one that was made meanwhile.
      for (const queue_action& a : actions) {
        if (const auto* const w = std::get_if<work_on>(&a)) items_.emplace_back([this, w = *w] { do_it(w); });
        if (const auto* const f = std::get_if<forget_rows>(&a)) items_.emplace_back([this, f = *f] { work_->forget(f); });
      }
      some_.notify_one();
    }
    for (const queue_action& a : actions) {
      if (const auto* const p = std::get_if<pull>(&a)) act(*p);
      if (const auto* const d = std::get_if<discard>(&a)) work_->discard(d->task, d->what);
      if (const auto* const m = std::get_if<say_missing>(&a)) act(*m);
    }
  }
  void act(const pull& p) {
    if (p.what.at != me_) return pulls_.pull(p.task, p.what, work_->new_block());
    auto mine = work_->blocks()->find_held(p.what.step, p.what.attempt, p.what.bucket);
    if (!mine) return handle(not_pulled{p.task, p.what, true});
    work_->arrived(p.task, p.what, std::move(mine));
    handle(pulled{p.task, p.what});
  }
  void act(const say_missing& m) {
    const task_block missing{m.task, m.what, m.gone, m.milliseconds};
    say(message_kind::missing, std::as_bytes(std::span(&missing, 1)));
  }
  void came(block_puller::outcome o) {
    if (o.error) say_failed(o.task, in_name_of(o.task, o.error));
    if (!o.pages) return handle(not_pulled{o.task, o.wanted, o.gone, o.milliseconds});
    work_->arrived(o.task, o.wanted, std::move(o.pages));
    handle(pulled{o.task, o.wanted});
  }

  // With the verb whose rows were to come.
  std::exception_ptr in_name_of(const task_id& t, const std::exception_ptr& e) {
    std::uint64_t number = 0;
    {
      const std::lock_guard hold(lock_);
      number = vertices_[t.step];
    }
    try {
      executor_->in_name_of(vertex_at(number % plan_.graph->vertices.size()), [&] { std::rethrow_exception(e); });
    } catch (...) {
      return std::current_exception();
    }
    return e;
  }
  // A message that was cut would be the end of all that follow.
  void say(message_kind kind, std::span<const std::byte> head, std::span<const std::byte> rest = {}) {
    if (!master_.send(kind, query_, head, rest)) ::_exit(1);
  }
  void say_failed(const task_id& t, const std::exception_ptr& why) {
    byte_writer error;
    error.put(t);
    try {
      std::rethrow_exception(why);
    } catch (...) {
      put_exception(error);
    }
    say(message_kind::failed, error.bytes());
  }

  // ------------------------------------------------------------ the worker
  void do_it(const message& m) {
    if (broken_) return;
    try {
      byte_reader from(m.bytes);
      if (m.kind == message_kind::plan) take_plan(from);
      else take_rows(from);
    } catch (...) {
      broken_ = std::current_exception();
      say_failed({}, broken_);
    }
  }
  void do_it(const work_on& w) {
    const task& t = w.task;
    bool well = false;
    try {
      if (!std::exchange(complete_, true)) complete(plan_, context_.verify);
      const task_result r = work_->work(t);
      byte_writer done;
      write_result(done, t.id, r);
      say(message_kind::done, done.bytes());
      well = true;
    } catch (...) {
      say_failed(t.id, std::current_exception());
    }
    handle(worked{t.id, well});
  }

  planner::vertex& vertex_at(std::uint64_t i) {
    if (!plan_.graph || i >= plan_.graph->vertices.size()) throw cluster_error("cluster: a vertex is not there");
    return *plan_.graph->vertices[i];
  }
  void take_plan(byte_reader& from) {
    const program here = program::matching(read_modules(from));
    me_ = from.get<host_id>();
    context_.verify = from.get<std::uint8_t>() != 0;
    cancel_.check_divisions(from.get<std::uint8_t>() != 0);
    const auto left_to_joins = read_list<std::uint64_t>(from), kept_as = read_list<std::uint64_t>(from),
               surely_cached = read_list<std::uint64_t>(from), gone = read_list<std::uint64_t>(from);
    context_.partition = me_.partition;
    plan_ = read_plan(from.get_raw(from.left()), here, kept_);
    {
      const std::lock_guard hold(kept_.lock);
      kept_.forget(gone);
      for (std::size_t i = 0; i + 1 < kept_as.size(); i += 2)
        if (const detail::logical* n = vertex_at(kept_as[i]).node) const_cast<detail::logical*>(n)->kept_as = kept_.name_of(kept_as[i + 1]);
    }
    session_.forget_dead();
    for (const std::uint64_t i : surely_cached) context_.surely_cached.insert(&vertex_at(i));
    ranges_ = divide_sources(*plan_.graph, me_.partition, divided::ranges);
    for (const std::uint64_t i : left_to_joins) context_.left_to_joins.insert(&vertex_at(i));
    executor_ = std::make_unique<runtime::executor>(*plan_.graph, session_, context_);
    auto made = std::make_unique<partition_work>(*plan_.graph, session_, context_, *executor_);
    server_.open(query_, made->blocks());
    work_ = std::move(made);
    // What came meanwhile is first.
    for (std::vector<queue_event> early;; early.clear()) {
      {
        const std::lock_guard hold(lock_);
        early.swap(early_);
        takes_events_ = early.empty();
      }
      if (early.empty()) return;
      for (const queue_event& e : early) handle_now(e);
    }
  }

  // Pages of one table after the other: of each part of each source, and of each captured collection.
  void take_rows(byte_reader& from) {
    const auto h = from.get<rows_header>();
    if (h.last == 0) {
      pages_.push_back(read_page(from, h.rows, session_.pool));
      return;
    }
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
  detail::table table_of_pages(const ir::type* row) {
    detail::table t = session_.cpu->rows_of(row, runtime::in_order({&pages_}), context_);
    pages_.clear();
    return t;
  }

  const std::uint64_t query_;
  connection& master_;
  runtime::session_state& session_;
  block_server& server_;
  kept_of_plans& kept_;
  runtime::cancel_flag cancel_;
  planner::trace_memo traces_;
  received_plan plan_;
  std::vector<runtime::row_range> ranges_;  // its parts of them
  runtime::run_context context_;
  std::unique_ptr<runtime::executor> executor_;
  host_id me_;
  std::vector<runtime::row_page> pages_;  // of the table that is coming
  bool complete_ = false;
  std::exception_ptr broken_;             // the plan, or rows, did not come

  std::mutex lock_;
  std::condition_variable some_;
  std::deque<item> items_;
  std::vector<queue_event> early_;
  task_queue queue_{task_queue::within(session_.pool.limit())};
  std::unique_ptr<partition_work> work_;
  bool ending_ = false, takes_events_ = false;
  std::unordered_map<step_id, std::uint64_t> vertices_;  // of tasks
  block_puller pulls_;  // the first to end
};

// Where others find this process: beside its socket to the master.
transport::address beside(int fd) {
  const transport::address here = transport::address::of_listener(fd);
  if (!here.is_tcp()) return transport::address::parse("unix:");
  const std::string text = here.text();
  return transport::address::parse(text.substr(0, text.rfind(':')) + ":0");
}

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
  struct served {  // as long as the process
    std::shared_ptr<runtime::session_state> session;
    transport::session_token token;
    block_server blocks;
    peer_connections connections;
    kept_of_plans kept;
    ending_queries ending;
    served(const hello& h, int fd)
        : session(std::make_shared<runtime::session_state>(h.options)),
          token(transport::session_token::from_text(h.token)),
          blocks(beside(fd), token),
          connections(token) {}
  };
  served* session = nullptr;
  std::unordered_map<std::uint64_t, std::shared_ptr<partition_here>> queries;
  while (auto m = master.receive()) {
    switch (m->kind) {
      case message_kind::hello:
        try {
          byte_reader from(m->bytes);
          session = new served(read_hello(from), fd);
          byte_writer where;
          where.put_text(session->blocks.where());
          master.send(message_kind::listens, 0, where.bytes());
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
          session->ending.add();
          q->second->stop();
          queries.erase(q);
        }
        break;
      default: {
        if (!session) end(1);
        auto& q = queries[m->query];
        if (!q) {
          q = std::make_shared<partition_here>(m->query, master, *session->session, session->connections, session->blocks,
                                               session->kept);
          std::thread([q, &ending = session->ending]() mutable {
            q->run(ending);
            q = nullptr;
            ending.remove();
          }).detach();
        }
        try {
          q->put(std::move(*m));
        } catch (const std::exception&) {  // no message of this program's
          end(1);
        }
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
