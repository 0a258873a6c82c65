// Pages that wait for their reader: in the session's memory while there is room, else in temporary files.
//
// The pages of one block leave memory together, those that came first before others, but those that somebody reads. A file holds one block
// and goes with it. Pages that come back stay in the file too, so that they leave again without being written.
//
//   page_store store(session.pool, &session.temp);
//   const page_store::handle block = store.make();
//   page_store::add(block, pages);                     // once more, as they are made
//   for (std::size_t i = 0; const auto page = page_store::read(block, i); ++i)   // in memory as long as `page` lives
#pragma once

#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/buffer_pool.hpp"
#include "runtime/row_pages.hpp"
#include "runtime/temp_file.hpp"

namespace query::runtime {

// Thread-safe. Handles may outlive the store: their blocks stay where they are then.
class page_store final : pool_evictor {
 public:
  class block;
  using handle = std::shared_ptr<block>;

  page_store() : page_store(nullptr, nullptr) {}  // nothing leaves memory
  page_store(buffer_pool& pool, temp_space* temp) : page_store(&pool, temp) {}
  ~page_store() override;
  page_store(const page_store&) = delete;
  page_store& operator=(const page_store&) = delete;

  handle make(row_pages pages = {});
  static void add(const handle& b, row_pages more);
  // The block's page of this number; null: there are no more. Throws resource_error where memory has no room, or the file does not give
  // back what was written.
  static std::shared_ptr<const row_page> read(const handle& b, std::size_t number);
  // Nobody will read this page again. What nobody has dropped goes with the block.
  static void drop(const handle& b, std::size_t number);
  // The bytes of pages that each of n readers may hold at once; all together hold about a sixteenth of the memory. At least a page.
  std::size_t share_of(std::size_t n) const;

 private:
  page_store(buffer_pool* pool, temp_space* temp);
  struct shared {
    std::mutex lock;
    std::list<std::weak_ptr<block>> blocks;  // in the order in which they leave memory
    std::exception_ptr broken;               // what was wrong with a file
    buffer_pool* pool;
    temp_space* temp;
    bool may_leave = false;
  };
  std::size_t evict(std::size_t bytes) override;
  static std::size_t evict(shared& s, block& b);

  std::shared_ptr<shared> shared_;
};

}  // namespace query::runtime
