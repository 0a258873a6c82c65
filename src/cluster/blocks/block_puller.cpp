#include "cluster/blocks/block_puller.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include <query/errors.hpp>

#include "cluster/blocks/block_server.hpp"
#include "cluster/bytes.hpp"
#include "cluster/sent_pages.hpp"
#include "cluster/transport/listener.hpp"

namespace query::cluster {

namespace {
constexpr std::chrono::seconds patience_to_connect{3};
constexpr std::chrono::seconds patience_to_read{5};  // a peer that is frozen is lost before that, and its block is elsewhere then
constexpr std::chrono::milliseconds before_next_try{200};
}  // namespace

block_puller::block_puller(std::uint64_t query, const transport::session_token& token, runtime::buffer_pool& pool,
                           std::function<void(outcome)> ended)
    : query_(query), token_(token), pool_(pool), ended_(std::move(ended)) {}

block_puller::~block_puller() {
  {
    const std::lock_guard hold(lock_);
    ending_ = true;
    for (const auto& c : in_use_) c->close();
  }
  some_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void block_puller::peer(const host_id& host, std::string where) {
  const std::lock_guard hold(lock_);
  peers_[key(host)] = std::move(where);
}

void block_puller::pull(const task_id& task, const block& wanted) {
  const std::lock_guard hold(lock_);
  requests_.push_back({task, wanted, peers_[key(wanted.at)]});
  if (idle_ < requests_.size() && threads_.size() < most_at_once) threads_.emplace_back([this] { work(); });
  some_.notify_one();
}

void block_puller::work() {
  std::unique_lock hold(lock_);
  for (;;) {
    ++idle_;
    some_.wait(hold, [&] { return ending_ || !requests_.empty(); });
    --idle_;
    if (ending_) return;
    const request r = std::move(requests_.front());
    requests_.pop_front();
    hold.unlock();
    outcome o = pulled(r);
    hold.lock();
    if (ending_) return;
    hold.unlock();
    ended_(std::move(o));
    hold.lock();
  }
}

// One that was used before, or a new one; null: nobody listens there.
std::shared_ptr<connection> block_puller::connected(const std::string& where) {
  std::shared_ptr<connection> made;
  {
    const std::lock_guard hold(lock_);
    if (const auto free = connections_.find(where); free != connections_.end()) {
      made = std::move(free->second);
      connections_.erase(free);
    }
  }
  if (!made) {
    try {
      transport::file_descriptor fd = transport::connect_to(transport::address::parse(where), token_, 0, patience_to_connect, &ending_);
      made = std::make_shared<connection>(fd.release());
      made->limit_silence(patience_to_read);
    } catch (const std::exception&) {
      return nullptr;
    }
  }
  const std::lock_guard hold(lock_);
  if (ending_) return nullptr;
  in_use_.push_back(made);
  return made;
}

block_puller::outcome block_puller::pulled(const request& r) {
  outcome o{r.task, r.wanted, nullptr, false, nullptr};
  const std::shared_ptr<connection> from = r.from.empty() ? nullptr : connected(r.from);
  bool whole = false;
  try {
    const block_name name{r.wanted.step, r.wanted.attempt, r.wanted.bucket};
    auto pages = std::make_shared<runtime::row_pages>();
    std::uint64_t bytes = 0;
    if (from && from->send(message_kind::pull_block, query_, std::as_bytes(std::span(&name, 1)))) {
      while (const auto m = from->receive()) {
        if (m->query != query_) break;
        if (m->kind == message_kind::block_gone) {
          whole = o.gone = true;
          break;
        }
        if (m->kind == message_kind::block_end) {
          whole = true;
          // What came is what the master was told of: another block, or a damaged one, is none.
          if (size_of(*pages) == r.wanted.size) o.pages = std::move(pages);
          break;
        }
        byte_reader page(m->bytes);
        if (m->kind != message_kind::page) break;
        const auto h = page.get<page_header>();
        bytes += page.left();
        if (bytes > r.wanted.size.bytes) break;
        pages->push_back(read_page(page, h.rows, pool_));
        const runtime::buffer& b = pages->back().bytes;
        if (runtime::checksum(b.as<const char>(), b.size()) != h.checksum) break;
      }
    }
  } catch (const cluster_error&) {  // no message of ours
  } catch (...) {
    o.error = std::current_exception();
  }
  {
    const std::lock_guard hold(lock_);
    std::erase(in_use_, from);
    if (whole && !ending_) connections_.emplace(r.from, from);
  }
  if (!o.pages && !o.gone && !o.error) {
    std::unique_lock hold(lock_);
    some_.wait_for(hold, before_next_try, [&] { return ending_.load(); });
  }
  return o;
}

}  // namespace query::cluster
