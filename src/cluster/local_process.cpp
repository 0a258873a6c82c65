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
  const std::string how = process_->how_it_ended();
  if (!ending_) lose(how);
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

void local_process::throw_lost() {
  const std::lock_guard hold(lock_);
  throw runtime::process_lost("cluster: " + name_ + " (" + process_->place() + ") was lost: " + why_lost_);
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
    process_->kill();
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
