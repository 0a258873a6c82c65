#include "cluster/blocks/block_server.hpp"

#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cluster/bytes.hpp"

namespace query::cluster {

block_server::block_server(const transport::address& at, const transport::session_token& token) : listener_(at, token) {
  accepts_ = std::thread([this] { accept(); });
}

block_server::~block_server() {
  ending_ = true;
  wake_.give();
  accepts_.join();
  for (peer& p : peers_) p.to.close();
  for (peer& p : peers_) p.serves.join();
}

void block_server::open(std::uint64_t query, std::shared_ptr<const block_store> blocks) {
  const std::lock_guard hold(lock_);
  stores_[query] = std::move(blocks);
}
void block_server::close(std::uint64_t query) {
  std::shared_ptr<const block_store> gone;
  const std::lock_guard hold(lock_);
  if (const auto found = stores_.find(query); found != stores_.end()) {
    gone = std::move(found->second);
    stores_.erase(found);
  }
}

// The block that a peer asked for last.
struct block_server::wanted_pages {
  std::shared_ptr<const block_store> store;
  block_store::held_block block;  // null: it is not here
  std::size_t next = 0;
  bool by_place = false;
  std::vector<shared_page> read_there;  // by the peer, until its next message

  shared_page page() {
    shared_page p = runtime::page_store::read(block, next);
    ++next;
    return p;
  }
};

block_server::wanted_pages block_server::find(std::uint64_t query, const block_name& b) {
  wanted_pages w{nullptr, nullptr, b.first_page, b.how == handed::by_place, {}};
  {
    const std::lock_guard hold(lock_);
    if (const auto found = stores_.find(query); found != stores_.end()) w.store = found->second;
  }
  if (w.store) w.block = w.store->find_held(b.step, b.attempt, b.bucket);
  return w;
}

void block_server::accept() {
  while (!ending_) {
    auto came = listener_.accept(std::chrono::hours(1), &wake_);
    for (auto p = peers_.begin(); p != peers_.end();) {
      if (!p->ended) {
        ++p;
        continue;
      }
      p->serves.join();
      p = peers_.erase(p);
      --n_peers_;
    }
    if (!came) continue;
    peer& p = peers_.emplace_back(came->fd.release());
    ++n_peers_;
    p.serves = std::thread([this, &p] { serve(p); });
  }
}

// Over its socket a peer gets the rest of the block, by place as much as may stay in memory meanwhile. False: it has gone.
bool block_server::answer(peer& p, std::uint64_t query, wanted_pages& w) {
  std::vector<page_place> places;
  std::size_t bytes = 0;
  try {
    if (!w.block) return p.to.send(message_kind::block_gone, query, {});
    const std::size_t share = w.by_place ? w.store->share_of(n_peers_) : 0;
    while (const shared_page page = w.page()) {
      if (w.by_place) {
        if (!places.empty() && bytes + page->bytes.size() > share) {
          --w.next;
          break;
        }
        bytes += page->bytes.size();
        places.push_back({page->rows, reinterpret_cast<std::uint64_t>(page->bytes.data()), page->bytes.size()});
        w.read_there.push_back(page);
        continue;
      }
      const page_header h{page->rows};
      if (!p.to.send(message_kind::page, query, std::as_bytes(std::span(&h, 1)), {page->bytes.as<const std::byte>(), page->bytes.size()}))
        return false;
    }
  } catch (const resource_error& e) {  // a page's file does not give it back, or memory has no room for it
    const std::string trouble = e.what();
    w.read_there.clear();
    return p.to.send(message_kind::block_failed, query, std::as_bytes(std::span(trouble)));
  }
  if (places.empty()) return p.to.send(message_kind::block_end, query, {});
  return p.to.send(message_kind::block_places, query, std::as_bytes(std::span(places)));
}

void block_server::serve(peer& p) {
  try {
    wanted_pages wanted;
    while (const auto m = p.to.receive()) {
      wanted.read_there.clear();
      if (m->kind == message_kind::pull_block) wanted = find(m->query, byte_reader(m->bytes).get<block_name>());
      else if (m->kind != message_kind::block_read || !wanted.block) break;
      if (!answer(p, m->query, wanted)) break;
      if (wanted.read_there.empty()) wanted = {};  // that was all; its query may give it up
    }
  } catch (const std::exception&) {  // what came was no request
  }
  p.to.close();
  p.ended = true;
  wake_.give();  // its descriptor goes at once
}

}  // namespace query::cluster
