#include "cluster/blocks/block_puller.hpp"

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <query/errors.hpp>

#include "cluster/blocks/block_server.hpp"
#include "cluster/blocks/peer_memory.hpp"
#include "cluster/bytes.hpp"

namespace query::cluster {

namespace {
constexpr std::chrono::milliseconds before_next_try{200};
constexpr std::uint64_t longest_reason = 64 << 10;  // bytes of an error's text
constexpr std::uint64_t least_by_place = 64 << 10;  // bytes: fewer come with the answer
}  // namespace

block_puller::block_puller(std::uint64_t query, peer_connections& connections, runtime::buffer_pool& pool,
                           std::function<void(outcome)> ended)
    : query_(query), connections_(connections), pool_(pool), ended_(std::move(ended)) {}

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

// False: the connection is of no use any more. An answer is the block that the master was told of, or none.
bool block_puller::pull_from(connection& to, const request& r, outcome& o, bool by_place) {
  const pid_t peer = by_place && r.wanted.size.bytes >= least_by_place ? readable_peer(to) : 0;
  const block_name name{r.wanted.step, r.wanted.attempt, r.wanted.bucket, peer ? handed::by_place : handed::over_socket};
  if (!to.send(message_kind::pull_block, query_, std::as_bytes(std::span(&name, 1)))) return false;
  auto pages = std::make_shared<runtime::row_pages>();
  block_size came;
  // Bytes beyond the size of the block take no memory.
  const auto next_page = [&](std::uint64_t rows, std::uint64_t bytes) -> runtime::row_page* {
    if (bytes > r.wanted.size.bytes - came.bytes) return nullptr;
    return &pages->emplace_back(runtime::row_page{pool_.allocate(bytes), rows});
  };
  const auto end = [&] {
    if (came == r.wanted.size) o.pages = std::move(pages);
    return true;
  };
  while (const auto m = to.receive_head()) {
    if (m->query != query_) return false;
    if (m->kind == message_kind::block_gone) return o.gone = m->bytes == 0;
    if (m->kind == message_kind::block_end) return m->bytes == 0 && end();
    if (m->kind == message_kind::block_failed) {
      const auto why = m->bytes <= longest_reason ? to.receive_rest(*m) : std::nullopt;
      if (!why) return false;
      o.error = std::make_exception_ptr(resource_error(std::string(reinterpret_cast<const char*>(why->bytes.data()), why->bytes.size())));
      return true;
    }
    if (m->kind == message_kind::block_places && peer) {
      const auto places = to.receive_rest(*m);
      if (!places) return false;
      for (byte_reader from(places->bytes); from.left();) {
        const auto place = from.get<page_place>();
        runtime::row_page* const page = ending_ ? nullptr : next_page(place.rows, place.bytes);
        if (!page) return false;
        if (read_peer(peer, place.address, page->bytes.span<std::byte>()) != peer_read::whole) return pull_from(to, r, o, false);
        add(came, *page, checksum_of(*page));
      }
      return to.send(message_kind::block_read, query_, {}) && end();
    }
    page_header h;
    if (m->kind != message_kind::page || m->bytes < sizeof h || !to.receive_bytes(std::as_writable_bytes(std::span(&h, 1)))) return false;
    runtime::row_page* const page = next_page(h.rows, m->bytes - sizeof h);
    if (!page || !to.receive_bytes(page->bytes.span<std::byte>())) return false;
    add(came, *page, checksum_of(*page));
  }
  return false;
}

block_puller::outcome block_puller::pulled(const request& r) {
  const auto began = std::chrono::steady_clock::now();
  outcome o{r.task, r.wanted, nullptr, false, nullptr};
  std::shared_ptr<connection> from = r.from.empty() ? nullptr : connections_.take(r.from, ending_);
  if (from) {
    bool whole = false;
    {
      const std::lock_guard hold(lock_);
      if (ending_) return o;
      in_use_.push_back(from);
    }
    try {
      whole = pull_from(*from, r, o);
    } catch (const cluster_error&) {  // no message of ours
    } catch (...) {
      o.error = std::current_exception();
    }
    const std::lock_guard hold(lock_);
    std::erase(in_use_, from);
    if (whole && !ending_) connections_.give_back(r.from, std::move(from));
  }
  if (!o.pages && !o.gone && !o.error) {
    std::unique_lock hold(lock_);
    some_.wait_for(hold, before_next_try, [&] { return ending_.load(); });
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    o.milliseconds = static_cast<std::uint32_t>(took.count());
  }
  return o;
}

}  // namespace query::cluster
