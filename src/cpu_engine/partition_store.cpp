#include "cpu_engine/partition_store.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <query/errors.hpp>

namespace query::cpu {

namespace {

constexpr std::size_t bands = 16;
constexpr std::size_t widest_value = 8;  // that is copied though it stays where it is
constexpr std::size_t line = 64;         // blocks and their fields begin at multiples of it
constexpr std::size_t least_chunk = 1 << 16, most_chunk = 1 << 18, rows_a_block = 1 << 9;
constexpr std::size_t first_bytes = std::size_t{1} << 20, most_chunk_bytes = std::size_t{32} << 20;  // of a chunk
constexpr std::size_t memory_share = 16;  // of the session's memory, for the chunks of all threads
constexpr unsigned bits_of_part = 40;    // a row's number has its part above these

constexpr std::size_t rounded(std::size_t bytes) { return (bytes + line - 1) / line * line; }

// to[p] is where the next value of partition p goes.
template <class Copy>
void scatter(const std::uint16_t* partition_of, std::size_t n, std::byte** to, std::size_t width, const Copy& copy) {
  for (std::size_t i = 0; i < n; ++i) {
    std::byte*& at = to[partition_of[i]];
    copy(at, i);
    at += width;
  }
}
template <std::size_t Width> void scatter_values(const std::uint16_t* partition_of, std::size_t n, std::byte** to, const std::byte* from) {
  scatter(partition_of, n, to, Width, [from](std::byte* at, std::size_t i) { std::memcpy(at, from + i * Width, Width); });
}

// The values are not there for long, or are made of those that are, or lie behind numbers that mean more than a row.
bool must_be_copied(const column& c) { return c.transient || c.optional || c.wraps; }

}  // namespace

// ---------------------------------------------------------------- layouts
std::size_t partition_store::layout::begin_of(std::size_t field, std::size_t rows) const {
  std::size_t at = 0;
  for (std::size_t f = 0; f < field; ++f) at += rounded(widths[f] * rows);
  return at;
}
std::size_t partition_store::layout::block_bytes(std::size_t rows) const { return begin_of(widths.size(), rows); }

// ---------------------------------------------------------------- the store
partition_store::partition_store(planner::column_schema columns, unsigned bits, std::size_t parts, bool numbered,
                                 runtime::run_context& context)
    : schema_(std::move(columns)),
      bits_(bits),
      of_band_(std::max<std::size_t>(1, (std::size_t{1} << bits) / bands)),
      numbered_(numbered),
      context_(&context),
      evicts_for_(context.temp ? &context.pool : nullptr),
      told_(context.pieces),
      parts_(parts),
      in_memory_(partitions() / of_band_),
      left_(partitions() / of_band_, of_band_) {
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

std::uint64_t partition_store::number_rows() {
  std::uint64_t n = 0;
  for (const auto& part : parts_)
    for (const auto& c : part) {
      c->first = n;
      n += c->begins.back();
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
  std::size_t number = 0;
  const std::size_t band = partition / of_band_, of_page = partition % of_band_;
  runtime::buffer scratch;
  for (const auto& part : parts_)
    for (const auto& c : part) {
      const std::size_t rows = c->rows_of(partition), at = number++;
      if (!rows || at < first || at >= end) continue;
      context_->cancel.check();
      page& g = *c->pages[band];
      const pinned held(*this, g);
      const std::byte* block = held.memory() ? held.memory() + g.begins[of_page] : nullptr;
      if (!block) {
        const std::size_t bytes = g.begins[of_page + 1] - g.begins[of_page];
        if (scratch.size() < bytes) scratch = context_->pool.allocate(bytes);
        file_->read(g.in_file[of_page], scratch.data());
        block = scratch.as<const std::byte>();
      }
      hand_out(*c, block, rows, f);
    }
}

void partition_store::hand_out(const chunk& c, const std::byte* block, std::size_t rows, function_ref<void(const stored_rows&)> f) const {
  std::vector<const std::byte*> fields;
  for (std::size_t i = 0; i < c.how.widths.size(); ++i) fields.push_back(block + c.how.begin_of(i, rows));
  std::vector<column> columns(schema_.columns.size());
  for (std::size_t from = 0; from < rows; from += column_batch_rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const stored_column& s = c.how.columns[i];
      if (s.how == stored_column::as::nothing) continue;
      column& to = columns[i];
      to.offset = schema_.columns[i].offset;
      to.size = schema_.columns[i].type->size;
      if (s.how == stored_column::as::value) {
        to.base = fields[s.field] + from * to.size;
        to.stride = to.size;
        to.transient = true;
      } else {
        to.base = s.objects ? static_cast<const std::byte*>(c.objects[*s.objects].data()) : s.base;
        to.transient = s.objects.has_value();
        to.stride = s.stride;
        to.select = reinterpret_cast<const std::uint32_t*>(fields[s.field]) + from;
        to.transient = s.objects.has_value();  // they go with the store
      }
    }
    stored_rows r;
    r.rows = {columns, std::min(column_batch_rows, rows - from)};
    r.first = c.first;
    if (c.how.positions) r.positions = reinterpret_cast<const std::uint32_t*>(fields[*c.how.positions]) + from;
    f(r);
  }
}

bool partition_store::owns_values(std::size_t column) const {
  for (const auto& part : parts_)
    for (const auto& c : part)
      if (c->how.columns[column].objects) return true;
  return false;
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
  return freed;
}

void partition_store::write(page& g) {
  if (!file_) file_.emplace(*context_->temp);
  std::vector<runtime::temp_file::place> places;
  for (std::size_t i = 0; i + 1 < g.begins.size(); ++i) {
    const std::size_t bytes = g.begins[i + 1] - g.begins[i];
    places.push_back(bytes ? file_->write(g.memory.as<std::byte>() + g.begins[i], bytes) : runtime::temp_file::place{});
  }
  told_->to_files += g.begins.back();
  const std::lock_guard hold(lock_);
  g.in_file.assign(places.begin(), places.end());
}

// ---------------------------------------------------------------- writers
// Each thread holds its chunk twice while it lays it out. The length of chunks does not change what is read.
std::size_t partition_store::rows_a_chunk(std::size_t row_bytes, const runtime::run_context& context) {
  const std::size_t limit = context.pool.limit(), threads = static_cast<std::size_t>(std::max(1, context.scheduler.concurrency()));
  const std::size_t most_bytes = limit ? std::min(most_chunk_bytes, limit / memory_share / threads) : most_chunk_bytes;
  // A batch at least, unless rows are so wide that the memory for chunks does not hold that.
  const std::size_t least = limit ? std::clamp<std::size_t>(limit / memory_share / row_bytes, 1, column_batch_rows) : column_batch_rows;
  const std::size_t rows = std::max(least, std::min(most_chunk, most_bytes / row_bytes));
  return std::max<std::size_t>(1, std::min(rows, most_chunk_bytes / row_bytes));
}

partition_writer::partition_writer(partition_store& to, std::size_t part) : to_(&to), part_(part), counts_(to.partitions(), 0) {}

void partition_writer::append(std::span<const column> columns, std::size_t n, const std::uint16_t* partitions, bool owned) {
  std::vector<column> some;
  for (std::size_t from = 0; from < n;) {
    some.clear();
    for (const column& c : columns) some.push_back(c.base ? part_of(c, from) : c);
    if (n_ && (n_ == capacity_ || !fits(some, n - from))) flush();
    if (!n_) {
      begin(some);
      if (!fits(some, n - from)) throw internal_error("query: rows do not fit a layout that was made for them");
    }
    const std::size_t k = std::min(n - from, capacity_ - n_);
    make_room(n_ + k);
    keep(some, k, partitions + from, owned);
    from += k;
  }
}

// Lays out a chunk for columns like these.
void partition_writer::begin(std::span<const column> columns) {
  how_ = {};
  numberings_.clear();
  how_.columns.resize(to_->schema_.columns.size());
  for (std::size_t i = 0; i < how_.columns.size(); ++i) {
    const ir::type* t = to_->schema_.columns[i].type;
    if (!t) continue;
    const column& c = columns[i];
    auto& s = how_.columns[i];
    if (t->trivial && t->align <= line && (must_be_copied(c) || t->size <= widest_value)) {
      s.how = partition_store::stored_column::as::value;
      s.field = how_.widths.size();
      how_.widths.push_back(t->size);
      continue;
    }
    s.how = partition_store::stored_column::as::number;
    s.stride = must_be_copied(c) ? t->size : c.stride;
    if (must_be_copied(c)) {
      s.objects = how_.objects++;
      continue;  // their numbers are the positions
    }
    s.base = static_cast<const std::byte*>(c.base);
    std::size_t g = 0;
    while (g < numberings_.size() && numberings_[g].select != c.select) ++g;
    if (g == numberings_.size()) {
      numberings_.push_back({how_.widths.size(), c.select, 0});
      how_.widths.push_back(sizeof(std::uint32_t));
    }
    s.field = numberings_[g].field;
  }
  if (to_->numbered_ || how_.objects) {
    how_.positions = how_.widths.size();
    how_.widths.push_back(sizeof(std::uint32_t));
    for (auto& s : how_.columns)
      if (s.objects) s.field = *how_.positions;
  }
  std::size_t row_bytes = sizeof(std::uint16_t);
  for (const std::size_t w : how_.widths) row_bytes += w;
  for (std::size_t i = 0; i < how_.columns.size(); ++i)
    if (how_.columns[i].objects) row_bytes += to_->schema_.columns[i].type->size;
  runtime::buffer_pool& pool = to_->context_->pool;
  capacity_ = std::clamp<std::size_t>(to_->partitions() * rows_a_block, least_chunk, most_chunk);
  capacity_ = std::min(capacity_, partition_store::rows_a_chunk(row_bytes, *to_->context_));
  fields_.resize(how_.widths.size());
  const std::size_t first = std::max({room_, first_bytes / row_bytes, std::size_t{1}});
  room_ = 0;
  make_room(std::min(capacity_, first));
  objects_.clear();
  for (std::size_t i = 0; i < how_.columns.size(); ++i)
    if (how_.columns[i].objects) objects_.emplace_back(to_->schema_.columns[i].type, pool);
}

// There may be few rows, and these large: memory grows to that of a whole chunk.
void partition_writer::make_room(std::size_t rows) {
  if (rows <= room_) return;
  room_ = std::min(capacity_, std::max(rows, 2 * room_));
  const auto grow = [&](runtime::buffer& to, std::size_t width) {
    if (to.size() >= room_ * width) return;
    runtime::buffer larger = to_->context_->pool.allocate(room_ * width);
    if (n_) std::memcpy(larger.data(), to.data(), n_ * width);
    to = std::move(larger);
  };
  for (std::size_t f = 0; f < fields_.size(); ++f)
    if (how_.positions != f) grow(fields_[f], how_.widths[f]);
  grow(partition_of_, sizeof(std::uint16_t));
}

// Can the chunk that was begun take rows like these? Finds the numbers that they have in it.
bool partition_writer::fits(std::span<const column> columns, std::size_t n) {
  for (numbering& g : numberings_) {
    bool first = true;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto& s = how_.columns[i];
      if (s.how != partition_store::stored_column::as::number || s.objects || s.field != g.field) continue;
      const column& c = columns[i];
      const std::ptrdiff_t bytes = static_cast<const std::byte*>(c.base) - s.base;
      if (must_be_copied(c) || c.stride != s.stride || bytes < 0 || static_cast<std::size_t>(bytes) % s.stride) return false;
      const std::uint64_t from = static_cast<std::size_t>(bytes) / s.stride;
      if (first) {
        g.select = c.select;
        g.from = from;
        first = false;
      } else if (g.select != c.select || g.from != from) {
        return false;
      }
    }
    if (g.from == 0) continue;
    const std::uint64_t last = g.select ? *std::max_element(g.select, g.select + n) : n - 1;
    if (g.from + last >= std::numeric_limits<std::uint32_t>::max()) return false;  // the largest number says that a row is missing
  }
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (how_.columns[i].objects && !must_be_copied(columns[i])) return false;
  return true;
}

void partition_writer::keep(std::span<const column> columns, std::size_t n, const std::uint16_t* partitions, bool owned) {
  for (const numbering& g : numberings_) {
    auto* const to = fields_[g.field].as<std::uint32_t>() + n_;
    const auto from = static_cast<std::uint32_t>(g.from);
    for (std::size_t i = 0; i < n; ++i) to[i] = from + (g.select ? g.select[i] : static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& s = how_.columns[i];
    const ir::type* t = to_->schema_.columns[i].type;
    if (s.how == partition_store::stored_column::as::value) {
      gather_column(columns[i], t, n, fields_[s.field].as<std::byte>() + n_ * t->size, t->size, false);
    } else if (s.objects) {
      rows_buffer& to = objects_[*s.objects];
      if (owned && !columns[i].optional && !columns[i].select && columns[i].stride == t->size && t->life.move) {
        to.take_rows(const_cast<void*>(columns[i].base), n);
      } else if (owned && !columns[i].optional && t->life.move) {
        for (std::size_t row = 0; row < n; ++row) to.take_rows(const_cast<std::byte*>(value_at(columns[i], row)), 1);
      } else if (!t->trivial && !t->life.copy) {
        to.append_rows(columns[i].base, n);  // which says that they cannot be copied
      } else {
        gather_column(columns[i], t, n, to.extend(n), t->size, false);
        to.grow(n);
      }
    }
  }
  std::memcpy(partition_of_.as<std::uint16_t>() + n_, partitions, n * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < n; ++i) ++counts_[partitions[i]];
  n_ += n;
}

void partition_writer::flush() {
  if (!n_) return;
  auto c = std::make_unique<partition_store::chunk>();
  c->first = (std::uint64_t{part_} << bits_of_part) + before_;
  const std::size_t partitions = to_->partitions(), of_band = to_->of_band_;
  c->begins.reserve(partitions + 1);
  c->begins.push_back(0);
  for (std::size_t p = 0; p < partitions; ++p) c->begins.push_back(c->begins.back() + counts_[p]);
  for (std::size_t first = 0; first < partitions; first += of_band) {
    auto g = std::make_unique<partition_store::page>();
    // Whatever outlives the memory is allocated first, so that what is given back is not cut into pieces.
    g->begins.reserve(of_band + 1);
    g->in_file.reserve(of_band);
    g->begins.push_back(0);
    for (std::size_t p = first; p < first + of_band; ++p) g->begins.push_back(g->begins.back() + how_.block_bytes(counts_[p]));
    g->memory = to_->context_->pool.allocate(g->begins.back());
    c->pages.push_back(std::move(g));
  }
  std::vector<std::byte*> to(partitions);
  const auto* const partition_of = partition_of_.as<std::uint16_t>();
  for (std::size_t f = 0; f < how_.widths.size(); ++f) {
    to_->context_->cancel.check();
    for (std::size_t p = 0; p < partitions; ++p) {
      const partition_store::page& g = *c->pages[p / of_band];
      to[p] = g.memory.as<std::byte>() + g.begins[p % of_band] + how_.begin_of(f, counts_[p]);
    }
    const auto* const from = fields_[f].as<const std::byte>();
    const std::size_t w = how_.widths[f];
    if (how_.positions == f) {
      scatter(partition_of, n_, to.data(), w, [](std::byte* at, std::size_t i) {
        const auto position = static_cast<std::uint32_t>(i);
        std::memcpy(at, &position, sizeof position);
      });
      continue;
    }
    switch (w) {
      case 1: scatter_values<1>(partition_of, n_, to.data(), from); break;
      case 2: scatter_values<2>(partition_of, n_, to.data(), from); break;
      case 4: scatter_values<4>(partition_of, n_, to.data(), from); break;
      case 8: scatter_values<8>(partition_of, n_, to.data(), from); break;
      default: scatter(partition_of, n_, to.data(), w, [from, w](std::byte* at, std::size_t i) { std::memcpy(at, from + i * w, w); });
    }
  }
  c->how = how_;
  c->objects = std::move(objects_);
  objects_.clear();
  before_ += n_;
  n_ = 0;
  std::fill(counts_.begin(), counts_.end(), 0);
  to_->add(part_, std::move(c));
}

void partition_writer::finish() {
  flush();
  fields_.clear();
  partition_of_.reset();
  room_ = 0;
}

}  // namespace query::cpu
