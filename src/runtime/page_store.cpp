#include "runtime/page_store.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

namespace query::runtime {

class page_store::block {
 public:
  explicit block(std::shared_ptr<shared> s) : store(std::move(s)) {}

  struct kept {
    row_page page;  // in the file alone: with rows, and no bytes
    std::optional<temp_file::place> in_file{};
    std::size_t readers = 0;
    bool may_go() const { return page.bytes && readers == 0; }
  };
  const std::shared_ptr<shared> store;
  // With the store's lock:
  std::deque<kept> pages;
  bool leaving = false;             // a thread writes it
  std::unique_ptr<temp_file> file;  // made by the first page that leaves
  std::mutex loading;               // one reader at a time brings back what is missing; taken before the store's
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
  for (row_page& p : more) b->pages.push_back({std::move(p)});
}

std::size_t page_store::share_of(std::size_t n) const {
  constexpr std::size_t share = 16, most = std::size_t{16} << 20;  // more would take long to come back from a file
  if (!shared_->may_leave) return std::numeric_limits<std::size_t>::max();
  return std::clamp(shared_->pool->limit() / share / std::max(n, std::size_t{1}), page_bytes, most);
}

std::shared_ptr<const row_page> page_store::read(const handle& b, std::size_t number) {
  shared& s = *b->store;
  block::kept* k = nullptr;
  {
    const std::lock_guard hold(s.lock);
    if (number >= b->pages.size()) return nullptr;
    k = &b->pages[number];
    ++k->readers;
  }
  const auto leave = [b, k](const row_page*) {
    const std::lock_guard hold(b->store->lock);
    --k->readers;
  };
  std::shared_ptr<const row_page> page(&k->page, leave);
  const auto missing = [&] {
    const std::lock_guard hold(s.lock);
    return k->page.bytes || !k->in_file ? std::nullopt : k->in_file;
  };
  if (!missing()) return page;
  const std::lock_guard one(b->loading);
  const auto from = missing();
  if (!from) return page;
  buffer memory = s.pool->allocate(from->bytes);
  try {
    b->file->read(*from, memory.data());
  } catch (...) {
    const std::lock_guard hold(s.lock);
    s.broken = std::current_exception();
    throw;
  }
  const std::lock_guard hold(s.lock);
  k->page.bytes = std::move(memory);
  return page;
}

void page_store::drop(const handle& b, std::size_t number) {
  buffer gone;
  const std::lock_guard hold(b->store->lock);
  block::kept& k = b->pages[number];
  if (k.readers || b->leaving) return;
  gone = std::move(k.page.bytes);
  k.in_file.reset();
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
        if (b->leaving) continue;
        if (std::any_of(b->pages.begin(), b->pages.end(), [](const block::kept& k) { return k.may_go(); })) next = b;
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
      if (const block::kept& k = b.pages[i]; k.may_go() && !k.in_file) leave.push_back({i, k.page.bytes.data(), k.page.bytes.size()});
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
  for (std::size_t i = 0; i < leave.size(); ++i) b.pages[leave[i].number].in_file = places[i];
  for (block::kept& k : b.pages)
    if (k.in_file && k.may_go()) {
      freed += k.page.bytes.capacity();
      let_go.push_back(std::move(k.page.bytes));
    }
  return freed;
}

}  // namespace query::runtime
