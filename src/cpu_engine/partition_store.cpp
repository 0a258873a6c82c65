#include "cpu_engine/partition_store.hpp"

#include <algorithm>
#include <utility>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/value_bytes.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t bands = 16;
constexpr std::size_t most_chunk_bytes = std::size_t{32} << 20;
constexpr std::size_t batch_share = 64;  // of the session's memory, for the batches of all threads that values are read into
constexpr std::size_t least_batch_bytes = std::size_t{256} << 10;
constexpr std::size_t memory_share = 8;  // of the session's memory, for the chunks of all threads

}  // namespace

// ---------------------------------------------------------------- layouts
static std::size_t rounded(std::size_t bytes) {
  constexpr std::size_t line = partition_store::line;
  return (bytes + line - 1) / line * line;
}
std::size_t partition_store::layout::block_bytes(std::size_t rows, std::size_t values) const {
  return fields_end(rows) + (as_bytes ? rounded(values) : 0);
}
std::size_t partition_store::layout::begin_of(std::size_t field, std::size_t rows) const {
  std::size_t at = 0;
  for (std::size_t f = 0; f < field; ++f) at += rounded(widths[f] * rows);
  return at;
}

// ---------------------------------------------------------------- the store
partition_store::partition_store(planner::column_schema columns, unsigned bits, std::size_t parts, bool numbered,
                                 runtime::run_context& context)
    : schema_(std::move(columns)),
      bits_(bits),
      of_band_(std::max<std::size_t>(1, (std::size_t{1} << bits) / bands)),
      numbered_(numbered),
      pool_(&context.pool),
      temp_(context.temp),
      threads_(static_cast<std::size_t>(std::max(1, context.scheduler.concurrency()))),
      writers_(threads_),
      evicts_for_(context.temp ? &context.pool : nullptr),
      told_(context.pieces),
      run_(context.profile),
      wrote_(run_ ? run_->now() : nullptr),
      parts_(parts),
      in_memory_(partitions() / of_band_),
      left_(partitions() / of_band_, of_band_) {
  for (const auto& c : schema_.columns)
    has_bytes_.push_back(evicts_for_ && context.pool.limit() && c.type && !c.type->trivial && has_bytes(*c.type));
  if (evicts_for_) evicts_for_->add(*this);
}

partition_store::~partition_store() {
  if (evicts_for_) evicts_for_->remove(*this);
}

std::uint64_t partition_store::rows_of(std::size_t partition) const {
  std::uint64_t n = 0;
  for (const auto& part : parts_)
    for (const auto& c : part) n += c->rows_of(partition);
  return n;
}

std::uint64_t partition_store::number_rows(std::vector<std::uint64_t>* before) {
  drop_spares();
  std::uint64_t n = 0;
  for (const auto& part : parts_) {
    if (before) before->push_back(n);
    for (const auto& c : part) {
      c->first = n;
      n += c->begins.back();
    }
  }
  return n;
}

void partition_store::add(std::size_t part, std::unique_ptr<chunk> c) {
  const std::lock_guard hold(lock_);
  if (part >= parts_.size()) parts_.resize(part + 1);
  parts_[part].push_back(std::move(c));
  const auto& pages = parts_[part].back()->pages;
  for (std::size_t b = 0; b < pages.size(); ++b)
    if (pages[b]->memory) in_memory_[b].push_back(pages[b].get());
}

partition_store::chunk_memory partition_store::take_spare() {
  const std::lock_guard hold(lock_);
  chunk_memory m;
  if (spares_.empty()) return m;
  m = std::move(spares_.back());
  spares_.pop_back();
  return m;
}
void partition_store::keep_spare(chunk_memory m) {
  const std::lock_guard hold(lock_);
  spares_.push_back(std::move(m));
}
std::size_t partition_store::drop_spares() {
  std::vector<chunk_memory> gone;
  {
    const std::lock_guard hold(lock_);
    gone.swap(spares_);
  }
  std::size_t bytes = 0;
  for (const chunk_memory& m : gone) {
    for (const runtime::buffer& b : m.fields) bytes += b.capacity();
    bytes += m.bytes.capacity() + m.bytes_end.capacity() + m.partition_of.capacity();
  }
  return bytes;
}

// A page that stays where it is meanwhile.
class partition_store::pinned {
 public:
  pinned(partition_store& s, page& g) : store_(&s), page_(&g) {
    const std::lock_guard hold(s.lock_);
    ++g.pins;
    memory_ = g.memory.as<const std::byte>();
  }
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;
  ~pinned() {
    std::unique_lock hold(store_->lock_);
    store_->unpin(*page_, hold);
  }
  const std::byte* memory() const { return memory_; }  // null: it is in the file

 private:
  partition_store* store_;
  page* page_;
  const std::byte* memory_;
};

std::size_t partition_store::unpin(page& g, std::unique_lock<std::mutex>& hold) {
  runtime::buffer let_go;
  if (--g.pins == 0 && g.done) let_go.swap(g.memory);
  hold.unlock();
  return let_go.capacity();
}

std::vector<std::size_t> partition_store::rows_by_chunk(std::size_t partition) const {
  std::vector<std::size_t> rows;
  for (const auto& part : parts_)
    for (const auto& c : part) rows.push_back(c->rows_of(partition));
  return rows;
}

void partition_store::read(std::size_t partition, std::size_t first, std::size_t end, function_ref<void(const stored_rows&)> f) {
  drop_spares();
  std::size_t number = 0;
  const std::size_t band = partition / of_band_, of_page = partition % of_band_;
  runtime::buffer scratch;
  const detail::stop_point stop;
  for (std::size_t part = 0; part < parts_.size(); ++part)
    for (const auto& c : parts_[part]) {
      const std::size_t rows = c->rows_of(partition), at = number++;
      if (!rows || at < first || at >= end) continue;
      stop.check();
      page& g = *c->pages[band];
      const pinned held(*this, g);
      const std::byte* block = held.memory() ? held.memory() + g.begins[of_page] : nullptr;
      if (!block) {
        const std::size_t bytes = g.begins[of_page + 1] - g.begins[of_page];
        if (scratch.size() < bytes) scratch = pool_->allocate(bytes);
        file_->read(g.in_file[of_page], scratch.data());
        block = scratch.as<const std::byte>();
      }
      hand_out(*c, part, block, rows, f);
    }
}

void partition_store::hand_out(const chunk& c, std::size_t part, const std::byte* block, std::size_t rows,
                               function_ref<void(const stored_rows&)> f) const {
  std::vector<const std::byte*> fields;
  for (std::size_t i = 0; i < c.how.widths.size(); ++i) fields.push_back(block + c.how.begin_of(i, rows));
  std::vector<column> columns(schema_.columns.size());
  std::vector<rows_buffer> made;  // of bytes
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (c.how.columns[i].how == stored_column::as::bytes) made.emplace_back(schema_.columns[i].type, *pool_);
  const std::byte* bytes = block + c.how.fields_end(rows);
  // Values may be much larger than their objects: then batches are shorter.
  const std::size_t most_bytes = std::max(least_batch_bytes, pool_->limit() / batch_share / threads_);
  for (std::size_t from = 0, n = 0; from < rows; from += n) {
    n = std::min(column_batch_rows, rows - from);
    for (rows_buffer& values : made) {
      values.clear();
      values.type()->life.construct(values.extend(n), n);
      values.grow(n);
    }
    if (!made.empty()) {
      const std::byte* const end = bytes + most_bytes;
      std::size_t row = 0;
      for (; row < n && (row == 0 || bytes < end); ++row)
        for (rows_buffer& values : made) bytes = read_bytes(*values.type(), values.at(row), bytes);
      n = row;
      for (rows_buffer& values : made) values.heap().add(*values.type(), values.data(), n, *pool_);
    }
    std::size_t next_made = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const stored_column& s = c.how.columns[i];
      if (s.how == stored_column::as::nothing) continue;
      column& to = columns[i];
      to.offset = schema_.columns[i].offset;
      to.size = schema_.columns[i].type->size;
      if (s.how == stored_column::as::value || s.how == stored_column::as::bytes) {
        const bool value = s.how == stored_column::as::value;
        to.base = value ? fields[s.field] + from * to.size : static_cast<const std::byte*>(made[next_made++].data());
        to.stride = to.size;
        to.transient = true;
      } else {
        to.base = s.objects ? static_cast<const std::byte*>(c.objects[*s.objects].data()) : s.base;
        to.stride = s.stride;
        to.select = reinterpret_cast<const std::uint32_t*>(fields[s.field]) + from;
        to.transient = s.objects.has_value();  // they go with the store
      }
    }
    stored_rows r;
    r.rows = {columns, n};
    r.first = c.first;
    r.part = part;
    if (c.how.positions) r.positions = reinterpret_cast<const std::uint32_t*>(fields[*c.how.positions]) + from;
    f(r);
  }
}

bool partition_store::owns_values(std::size_t column) const {
  for (const auto& part : parts_)
    for (const auto& c : part)
      if (c->how.columns[column].how != stored_column::as::number || c->how.columns[column].objects) return true;
  return false;
}

std::uint64_t partition_store::value_bytes(std::size_t partition) const {
  std::uint64_t bytes = 0;
  for (const auto& part : parts_)
    for (const auto& c : part) {
      if (!c->how.as_bytes) continue;
      const auto& begins = c->pages[partition / of_band_]->begins;
      const std::size_t at = partition % of_band_;
      bytes += begins[at + 1] - begins[at] - c->how.fields_end(c->rows_of(partition));
    }
  return bytes;
}

std::uint64_t partition_store::heap_bytes(std::size_t partition) const {
  std::uint64_t bytes = value_bytes(partition);
  for (const auto& part : parts_)
    for (const auto& c : part)
      for (const rows_buffer& values : c->objects)
        if (values.size()) bytes += values.heap().bytes() / values.size() * c->rows_of(partition);
  return bytes;
}

void partition_store::release(std::size_t partition) {
  const std::size_t band = partition / of_band_;
  std::vector<runtime::buffer> let_go;
  const std::lock_guard hold(lock_);
  if (--left_[band] != 0) return;
  in_memory_[band].clear();
  for (const auto& part : parts_)
    for (const auto& c : part) {
      page& g = *c->pages[band];
      g.done = true;
      if (g.pins == 0) let_go.push_back(std::move(g.memory));
    }
}

// ---------------------------------------------------------------- eviction
// Takes a page of the partitions that are read last.
partition_store::page* partition_store::next_to_evict() {
  for (std::size_t b = in_memory_.size(); b-- > 0;) {
    auto& pages = in_memory_[b];
    for (std::size_t i = pages.size(); i-- > 0;) {
      page* g = pages[i];
      if (g->pins) continue;
      pages.erase(pages.begin() + static_cast<std::ptrdiff_t>(i));
      return g;
    }
  }
  return nullptr;
}

std::size_t partition_store::evict(std::size_t bytes) {
  std::size_t freed = 0;
  while (freed < bytes) {
    std::unique_lock hold(lock_);
    if (broken_) std::rethrow_exception(broken_);
    page* const g = next_to_evict();
    if (!g) break;
    ++g->pins;
    hold.unlock();
    try {
      write(*g);
    } catch (...) {
      hold.lock();
      broken_ = std::current_exception();  // whoever wants memory next is told the same
      unpin(*g, hold);
      throw;
    }
    hold.lock();
    g->done = true;  // for its memory; a reader that has it pinned lets go of it
    freed += unpin(*g, hold);
  }
  return freed ? freed : drop_spares();
}

void partition_store::write(page& g) {
  {
    const std::lock_guard hold(lock_);
    if (!file_) file_.emplace(*temp_);
  }
  const std::vector<runtime::temp_file::place> places = file_->write(g.memory.data(), g.begins);
  told_->to_files += g.begins.back();
  if (wrote_)
    for (const runtime::temp_file::place& p : places) wrote_->spilled += p.stored;
  const std::lock_guard hold(lock_);
  g.in_file.assign(places.begin(), places.end());
}

// ---------------------------------------------------------------- writers
// Each thread holds its chunk twice while it lays it out. The length of chunks does not change what is read.
std::size_t partition_store::rows_a_chunk(std::size_t row_bytes, const runtime::run_context& context) {
  return rows_a_chunk(row_bytes, context.pool.limit(), static_cast<std::size_t>(std::max(1, context.scheduler.concurrency())));
}
std::size_t partition_store::limit_writers() {
  constexpr std::size_t rows_a_block = 64;  // fewer are mostly padding, places and system calls
  if (!pool_->limit()) return writers_;
  std::size_t row_bytes = sizeof(std::uint16_t) + (numbered_ ? sizeof(std::uint32_t) : 0);
  for (const auto& c : schema_.columns)
    if (c.type) row_bytes += std::min<std::size_t>(c.type->size, sizeof(std::uint64_t));
  return writers_ = std::clamp<std::size_t>(pool_->limit() / memory_share / row_bytes / (partitions() * rows_a_block), 1, threads_);
}
std::size_t partition_store::rows_a_chunk(std::size_t row_bytes, std::size_t limit, std::size_t threads) {
  const std::size_t most_bytes = limit ? std::min(most_chunk_bytes, limit / memory_share / threads) : most_chunk_bytes;
  // A batch at least, unless rows are so wide that the memory for chunks does not hold that.
  const std::size_t least = limit ? std::clamp<std::size_t>(limit / memory_share / row_bytes, 1, column_batch_rows) : column_batch_rows;
  const std::size_t rows = std::max(least, std::min(most_chunk, most_bytes / row_bytes));
  return std::max<std::size_t>(1, std::min(rows, most_chunk_bytes / row_bytes));
}

}  // namespace query::cpu
