// The blocks that one partition of a query holds for others, until its master says that nobody needs them. Those that nobody reads go to
// temporary files where memory has no room (runtime/page_store.hpp), and come back when they are pulled. Of any thread.
//
//   store.keep(step, attempt, pages);                      // a bucket for each receiver, or one for all
//   auto block = store.find_held(step, attempt, bucket);   // null: not here, or not of that attempt
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/master/tasks.hpp"
#include "runtime/checksum.hpp"
#include "runtime/page_store.hpp"
#include "runtime/row_pages.hpp"

namespace query::cluster {

using shared_page = std::shared_ptr<const runtime::row_page>;

inline std::uint64_t checksum_of(const runtime::row_page& p) { return runtime::checksum(p.bytes.as<const char>(), p.bytes.size()); }
// Of a block, page by page.
inline void add(block_size& to, const runtime::row_page& next, std::uint64_t checksum) {
  to.rows += next.rows;
  to.repeatable &= next.repeatable;
  to.bytes += next.bytes.size();
  to.checksum = to.checksum * 31 + checksum;
}
inline block_size size_of(const runtime::row_pages& pages) {
  block_size all;
  for (const runtime::row_page& p : pages) add(all, p, checksum_of(p));
  return all;
}

class block_store {
 public:
  using held_block = runtime::page_store::handle;

  // pages: where those of the blocks are.
  explicit block_store(std::shared_ptr<runtime::page_store> pages = std::make_shared<runtime::page_store>()) : pages_(std::move(pages)) {}

  void keep(step_id step, std::uint32_t attempt, std::vector<runtime::row_pages> buckets) {
    std::vector<held_block> made;
    for (runtime::row_pages& b : buckets) made.push_back(pages_->make(std::move(b)));
    keep(step, attempt, std::move(made));
  }
  void keep(step_id step, std::uint32_t attempt, std::vector<held_block> buckets) {
    held made{attempt, std::move(buckets)};
    const std::lock_guard hold(lock_);
    std::swap(all_[step], made);
  }
  held_block find_held(step_id step, std::uint32_t attempt, std::uint32_t bucket) const {
    const std::lock_guard hold(lock_);
    const auto found = all_.find(step);
    if (found == all_.end() || found->second.attempt != attempt || bucket >= found->second.buckets.size()) return nullptr;
    return found->second.buckets[bucket];
  }
  // The same, and it is here no longer: for its only receiver, which cannot be lost.
  held_block take_held(step_id step, std::uint32_t attempt, std::uint32_t bucket) {
    const std::lock_guard hold(lock_);
    const auto found = all_.find(step);
    if (found == all_.end() || found->second.attempt != attempt || bucket >= found->second.buckets.size()) return nullptr;
    return std::move(found->second.buckets[bucket]);
  }
  // The bytes of pages that each of n readers may hold at once.
  std::size_t share_of(std::size_t n) const { return pages_->share_of(n); }
  void forget(step_id step) {
    held gone;
    const std::lock_guard hold(lock_);
    if (const auto found = all_.find(step); found != all_.end()) {
      std::swap(gone, found->second);
      all_.erase(found);
    }
  }

 private:
  struct held {
    std::uint32_t attempt = 0;
    std::vector<held_block> buckets;
  };
  const std::shared_ptr<runtime::page_store> pages_;
  mutable std::mutex lock_;
  std::unordered_map<step_id, held> all_;
};

}  // namespace query::cluster
