#include "cluster/local_process.hpp"

#include <utility>
#include <vector>

#include "cluster/sent_errors.hpp"
#include "runtime/cluster.hpp"

namespace query::cluster {

using clock = std::chrono::steady_clock;

namespace {

clock::rep now() { return clock::now().time_since_epoch().count(); }
std::chrono::milliseconds since(clock::rep then) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock::duration(now() - then));
}

}  // namespace

local_process::local_process(std::string name, std::unique_ptr<backends::container_process> process, const hello& first)
    : name_(std::move(name)), process_(std::move(process)), to_(std::make_unique<connection>(process_->take_socket().release())) {
  heard_ = now();
  byte_writer greeting;
  write_hello(greeting, first);
  to_->send(message_kind::hello, 0, greeting.bytes());  // where it has gone, the reader finds out
  reader_ = std::thread([this] { read(); });
}

local_process::~local_process() {
  ending_ = true;
  to_->close();
  reader_.join();
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
    if (m->kind == message_kind::listens) {
      byte_reader from(m->bytes);
      const std::lock_guard hold(lock_);
      listens_at_ = from.get_text();
      says_where_.notify_all();
      continue;
    }
    opened to;
    {
      const std::lock_guard hold(lock_);
      if (const auto found = queries_.find(m->query); found != queries_.end()) to = found->second;
    }
    if (to.who) to.who->heard(to.as, std::move(*m));  // else its query has ended
  }
  const std::string how = process_->how_it_ended();
  if (!ending_) lose(how);
}

void local_process::lose(const std::string& why) {
  std::vector<opened> all;
  std::string first;
  {
    const std::lock_guard hold(lock_);
    if (why_lost_.empty()) why_lost_ = "cluster: " + name_ + " (" + process_->place() + ") was lost: " + why;
    first = why_lost_;
    lost_ = true;
    for (const auto& [query, to] : queries_) all.push_back(to);
    says_where_.notify_all();
  }
  for (const opened& to : all) to.who->lost(to.as, first);
}

void local_process::throw_lost() {
  const std::lock_guard hold(lock_);
  throw runtime::process_lost(why_lost_);
}

void local_process::open(std::uint64_t query, std::shared_ptr<listener> who, const host_id& as) {
  const std::lock_guard hold(lock_);
  queries_[query] = {std::move(who), as};
}
void local_process::close(std::uint64_t query) {
  {
    const std::lock_guard hold(lock_);
    queries_.erase(query);
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
    process_->kill();
  }
  if (lost_) throw_lost();
}

void local_process::look_after() {
  if (lost_ || since(heard_) < silence) return;
  const clock::rep asked = asked_;
  if (asked <= heard_) {
    const clock::rep before = now();
    if (to_->send(message_kind::are_you_there, 0, {}, {}, connection::for_a_second)) asked_ = before;
    else to_->close();
  } else if (since(asked) > (answered_ ? patience : patience_at_start)) {
    lose("no word from it for " + std::to_string(since(asked).count()) + " ms");
    to_->close();
    process_->kill();
  }
}

std::string local_process::listens_at(const runtime::cancel_flag& cancel) {
  for (;;) {
    {
      std::unique_lock hold(lock_);
      says_where_.wait_for(hold, std::chrono::milliseconds(20), [&] { return lost_ || !listens_at_.empty(); });
      if (!lost_ && !listens_at_.empty()) return listens_at_;
    }
    if (lost_) throw_lost();
    cancel.check();
    look_after();
  }
}

}  // namespace query::cluster
