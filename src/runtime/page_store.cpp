#include "runtime/page_store.hpp"

#include <utility>

namespace query::runtime {

class page_store::block {
 public:
  explicit block(std::shared_ptr<shared> s) : store(std::move(s)) {}

  const std::shared_ptr<shared> store;
  // With the store's lock:
  row_pages pages;                                         // those in the file alone have rows, and no bytes
  std::vector<std::optional<temp_file::place>> in_file;    // of each page
  std::size_t readers = 0;
  bool leaving = false;                                    // a thread writes it
  std::unique_ptr<temp_file> file;                         // made by the first page that leaves
  std::mutex loading;                                      // one reader at a time brings back what is missing; taken before the store's
};

page_store::page_store(buffer_pool* pool, temp_space* temp) : shared_(std::make_shared<shared>()) {
  shared_->pool = pool;
  shared_->temp = temp;
  shared_->may_leave = temp && pool->limit();
  if (shared_->may_leave) pool->add(*this);
}
page_store::~page_store() {
  if (shared_->may_leave) shared_->pool->remove(*this);
}

page_store::handle page_store::make(row_pages pages) {
  auto made = std::make_shared<block>(shared_);
  {
    const std::lock_guard hold(shared_->lock);
    auto& all = shared_->blocks;
    while (!all.empty() && all.front().expired()) all.pop_front();
    if (shared_->may_leave) all.push_back(made);
  }
  add(made, std::move(pages));
  return made;
}

void page_store::add(const handle& b, row_pages more) {
  const std::lock_guard hold(b->store->lock);
  b->in_file.resize(b->in_file.size() + more.size());
  for (row_page& p : more) b->pages.push_back(std::move(p));
}

std::shared_ptr<const row_pages> page_store::read(const handle& b) {
  shared& s = *b->store;
  const auto leave = [b](const row_pages*) {
    const std::lock_guard hold(b->store->lock);
    --b->readers;
  };
  {
    const std::lock_guard hold(s.lock);
    ++b->readers;
  }
  std::shared_ptr<const row_pages> all(&b->pages, leave);
  const std::lock_guard one(b->loading);
  for (std::size_t i = 0;; ++i) {
    temp_file::place from;
    {
      const std::lock_guard hold(s.lock);
      if (i == b->pages.size()) return all;
      if (b->pages[i].bytes || !b->in_file[i]) continue;
      from = *b->in_file[i];
    }
    buffer memory = s.pool->allocate(from.bytes);
    try {
      b->file->read(from, memory.data());
    } catch (...) {
      const std::lock_guard hold(s.lock);
      s.broken = std::current_exception();
      throw;
    }
    const std::lock_guard hold(s.lock);
    b->pages[i].bytes = std::move(memory);
  }
}

std::size_t page_store::evict(std::size_t bytes) {
  std::size_t freed = 0;
  while (freed < bytes) {
    handle next;
    {
      const std::lock_guard hold(shared_->lock);
      if (shared_->broken) std::rethrow_exception(shared_->broken);
      for (auto i = shared_->blocks.begin(); !next && i != shared_->blocks.end();) {
        const handle b = i->lock();
        if (!b) {
          i = shared_->blocks.erase(i);
          continue;
        }
        ++i;
        if (b->readers || b->leaving) continue;
        for (const row_page& p : b->pages)
          if (p.bytes) next = b;
      }
      if (!next) return freed;
      next->leaving = true;
    }
    freed += evict(*shared_, *next);
  }
  return freed;
}

// Pages may be added, and read, while they are written.
std::size_t page_store::evict(shared& s, block& b) {
  struct leaving {
    std::size_t number;
    const void* data;
    std::size_t bytes;
  };
  std::vector<leaving> leave;
  {
    const std::lock_guard hold(s.lock);
    for (std::size_t i = 0; i < b.pages.size(); ++i)
      if (b.pages[i].bytes && !b.in_file[i]) leave.push_back({i, b.pages[i].bytes.data(), b.pages[i].bytes.size()});
  }
  std::vector<temp_file::place> places;
  try {
    if (!b.file) b.file = std::make_unique<temp_file>(*s.temp);
    for (const leaving& l : leave) places.push_back(b.file->write(l.data, l.bytes));
  } catch (...) {
    const std::lock_guard hold(s.lock);
    b.leaving = false;
    s.broken = std::current_exception();  // whoever wants memory next is told the same
    throw;
  }
  std::vector<buffer> let_go;
  std::size_t freed = 0;
  const std::lock_guard hold(s.lock);
  b.leaving = false;
  for (std::size_t i = 0; i < leave.size(); ++i) b.in_file[leave[i].number] = places[i];
  if (b.readers) return 0;
  for (std::size_t i = 0; i < b.pages.size(); ++i)
    if (b.in_file[i] && b.pages[i].bytes) {
      freed += b.pages[i].bytes.capacity();
      let_go.push_back(std::move(b.pages[i].bytes));
    }
  return freed;
}

}  // namespace query::runtime
