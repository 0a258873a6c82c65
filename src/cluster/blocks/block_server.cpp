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
shared_pages block_server::find(std::uint64_t query, const block_name& b) {
  std::shared_ptr<const block_store> store;
  {
    const std::lock_guard hold(lock_);
    if (const auto found = stores_.find(query); found != stores_.end()) store = found->second;
  }
  return store ? store->find(b.step, b.attempt, b.bucket) : nullptr;
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
    }
    if (!came) continue;
    peer& p = peers_.emplace_back(came->fd.release());
    p.serves = std::thread([this, &p] { serve(p); });
  }
}

bool block_server::send_pages(peer& p, std::uint64_t query, const runtime::row_pages& pages) {
  for (const runtime::row_page& page : pages) {
    const page_header h{page.rows};
    if (!p.to.send(message_kind::page, query, std::as_bytes(std::span(&h, 1)), {page.bytes.as<const std::byte>(), page.bytes.size()}))
      return false;
  }
  return p.to.send(message_kind::block_end, query, {});
}

void block_server::serve(peer& p) {
  try {
    shared_pages read_there;  // by the peer, until its next message
    while (const auto m = p.to.receive()) {
      read_there.reset();
      if (m->kind == message_kind::block_read) continue;
      if (m->kind != message_kind::pull_block) break;
      const auto wanted = byte_reader(m->bytes).get<block_name>();
      shared_pages pages;
      std::string trouble;
      try {
        pages = find(m->query, wanted);
      } catch (const resource_error& e) {  // its file does not give it back, or memory has no room for it
        trouble = e.what();
      }
      bool taken = false;
      if (!trouble.empty()) {
        taken = p.to.send(message_kind::block_failed, m->query, std::as_bytes(std::span(trouble)));
      } else if (!pages) {
        taken = p.to.send(message_kind::block_gone, m->query, {});
      } else if (wanted.how == handed::by_place) {
        std::vector<page_place> places;
        for (const runtime::row_page& page : *pages)
          places.push_back({page.rows, reinterpret_cast<std::uint64_t>(page.bytes.data()), page.bytes.size()});
        read_there = pages;
        taken = p.to.send(message_kind::block_places, m->query, std::as_bytes(std::span(places)));
      } else {
        taken = send_pages(p, m->query, *pages);
      }
      if (!taken) break;
    }
  } catch (const std::exception&) {  // what came was no request
  }
  p.to.close();
  p.ended = true;
  wake_.give();  // its descriptor goes at once
}

}  // namespace query::cluster
