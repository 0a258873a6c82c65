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

block_puller::block_puller(peer_connections& connections, runtime::buffer_pool& pool, std::function<void(outcome)> ended)
    : connections_(connections), pool_(pool), ended_(std::move(ended)) {}

block_puller::~block_puller() {
  {
    const std::lock_guard hold(lock_);
    ending_ = true;
    for (const auto& c : in_use_) c->close();
  }
  some_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void block_puller::peer(const host_id& host, std::string where, std::uint64_t query) {
  const std::lock_guard hold(lock_);
  peers_[key(host)] = {std::move(where), query};
}

void block_puller::pull(const task_id& task, const block& wanted, block_store::held_block into) {
  const std::lock_guard hold(lock_);
  requests_.push_back({task, wanted, std::move(into), peers_[key(wanted.at)]});
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
    request r = std::move(requests_.front());
    requests_.pop_front();
    hold.unlock();
    outcome o = pulled(r);
    r = {};  // a block that did not come is not kept until the next one
    hold.lock();
    if (ending_) return;
    hold.unlock();
    ended_(std::move(o));
    hold.lock();
  }
}

// False: the connection is of no use any more. An answer is the block that the master was told of, or none.
bool block_puller::pull_from(connection& to, const request& r, outcome& o) {
  pid_t peer = r.wanted.size.bytes >= least_by_place ? readable_peer(to) : 0;
  block_name name{r.wanted.step, r.wanted.attempt, r.wanted.bucket};
  const auto ask = [&] {
    name.how = peer ? handed::by_place : handed::over_socket;
    return to.send(message_kind::pull_block, r.from.query, std::as_bytes(std::span(&name, 1)));
  };
  block_size came;
  // None: more than the block has, which takes no memory; or a page of nothing, of which there might be any number.
  const auto next_page = [&](std::uint64_t rows, std::uint64_t bytes) -> std::optional<runtime::row_page> {
    const block_size& all = r.wanted.size;
    if (!rows || !bytes || rows > all.rows - came.rows || bytes > all.bytes - came.bytes) return std::nullopt;
    return runtime::row_page{pool_.allocate(bytes), rows};
  };
  const auto take = [&](runtime::row_page page) {
    add(came, page, checksum_of(page));
    ++name.first_page;
    runtime::row_pages one;
    one.push_back(std::move(page));
    runtime::page_store::add(r.into, std::move(one));
  };
  if (!ask()) return false;
  while (const auto m = to.receive_head()) {
    if (m->query != r.from.query) return false;
    if (m->kind == message_kind::block_gone) return o.gone = m->bytes == 0;
    if (m->kind == message_kind::block_end) {
      if (came == r.wanted.size) o.pages = r.into;
      return m->bytes == 0;
    }
    if (m->kind == message_kind::block_failed) {
      const auto why = m->bytes <= longest_reason ? to.receive_rest(*m) : std::nullopt;
      if (!why) return false;
      o.error = std::make_exception_ptr(resource_error(std::string(reinterpret_cast<const char*>(why->bytes.data()), why->bytes.size())));
      return true;
    }
    if (m->kind == message_kind::block_places && peer) {
      if (m->bytes / sizeof(page_place) > r.wanted.size.rows) return false;
      const auto places = to.receive_rest(*m);
      if (!places || places->bytes.empty()) return false;
      for (byte_reader from(places->bytes); peer && from.left();) {
        const auto place = from.get<page_place>();
        std::optional<runtime::row_page> page;
        if (!ending_) page = next_page(place.rows, place.bytes);
        if (!page) return false;
        if (read_peer(peer, place.address, page->bytes.span<std::byte>()) == peer_read::whole) take(std::move(*page));
        else peer = 0;
      }
      // The rest comes over the socket where a place could not be read.
      if (peer ? !to.send(message_kind::block_read, r.from.query, {}) : !ask()) return false;
      continue;
    }
    page_header h;
    if (m->kind != message_kind::page || m->bytes < sizeof h || !to.receive_bytes(std::as_writable_bytes(std::span(&h, 1)))) return false;
    auto page = next_page(h.rows, m->bytes - sizeof h);
    if (!page || !to.receive_bytes(page->bytes.span<std::byte>())) return false;
    take(std::move(*page));
  }
  return false;
}

block_puller::outcome block_puller::pulled(const request& r) {
  const auto began = std::chrono::steady_clock::now();
  outcome o{r.task, r.wanted, nullptr, false, nullptr};
  std::shared_ptr<connection> from = r.from.where.empty() ? nullptr : connections_.take(r.from.where, ending_);
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
    if (whole && !ending_) connections_.give_back(r.from.where, std::move(from));
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
