#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/partition_store.hpp"
#include "cpu_engine/value_bytes.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t widest_value = 8;  // that is copied though it stays where it is
constexpr std::size_t least_chunk = 1 << 16, rows_a_block = 1 << 9;
constexpr std::size_t first_bytes = std::size_t{1} << 20;  // of a chunk
constexpr unsigned bits_of_part = 40;    // a row's number has its part above these
constexpr std::size_t share_of_objects = 8;  // of the session's memory: in use when values are kept as bytes from then on

// A cache line that will not be read soon. Written past the caches, as else each line is first read from memory.
void write_line(std::byte* to, const std::byte* from) {
#ifdef __SSE2__
  for (std::size_t i = 0; i < partition_store::line; i += sizeof(__m128i))
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
#else
  std::memcpy(to, from, partition_store::line);
#endif
}
// Before other threads read the lines.
void end_lines() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

// to[p] is where the next value of partition p goes: at first the beginning of a cache line. Values wait in `lines` until there is a line
// of them. (Balkesen, Teubner, Alonso, Özsu, Main-Memory Hash Joins on Multi-Core CPUs, ICDE 2013: software-managed buffers.)
template <std::size_t Width, class Value>
void scatter(const std::uint16_t* partition_of, std::size_t n, std::vector<std::byte*>& to, std::byte* lines, const Value& value) {
  constexpr std::size_t line = partition_store::line;
  static_assert(line % Width == 0);
  const auto filled = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) % line; };
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t p = partition_of[i];
    std::byte* const at = to[p];
    std::memcpy(lines + p * line + filled(at), value(i), Width);
    to[p] = at + Width;
    if (filled(at + Width) == 0) write_line(at + Width - line, lines + p * line);
  }
  for (std::size_t p = 0; p < to.size(); ++p)
    if (const std::size_t rest = filled(to[p])) std::memcpy(to[p] - rest, lines + p * line, rest);
}
template <std::size_t Width>
void scatter_values(const std::uint16_t* partition_of, std::size_t n, std::vector<std::byte*>& to, std::byte* lines,
                    const std::byte* from) {
  scatter<Width>(partition_of, n, to, lines, [from](std::size_t i) { return from + i * Width; });
}

// The values are not there for long, or are made of those that are, or lie behind numbers that mean more than a row.
bool must_be_copied(const column& c) { return c.transient || !c.as_stored(); }

}  // namespace

partition_writer::partition_writer(partition_store& to, std::size_t part) : to_(&to), part_(part), counts_(to.partitions(), 0) {}

void partition_writer::append(std::span<const column> columns, std::size_t n, const std::uint16_t* partitions, bool owned) {
  std::vector<column> some;
  for (std::size_t from = 0; from < n;) {
    some.clear();
    for (const column& c : columns) some.push_back(c.base ? part_of(c, from) : c);
    if (n_ && (n_ == capacity_ || objects_are_large() || !fits(some, n - from))) flush();
    if (!n_) {
      begin(some);
      if (!fits(some, n - from)) throw internal_error("query: rows do not fit a layout that was made for them");
    }
    std::size_t k = std::min(n - from, capacity_ - n_);
    make_room(n_ + k);
    if (how_.as_bytes && !(k = keep_bytes(some, k))) {
      flush();
      continue;
    }
    keep(some, k, partitions + from, owned);
    from += k;
  }
}

// Lays out a chunk for columns like these.
void partition_writer::begin(std::span<const column> columns) {
  how_ = {};
  numberings_.clear();
  runtime::buffer_pool& pool = *to_->pool_;
  const bool roomy = pool.used() < pool.limit() / share_of_objects;
  how_.columns.resize(to_->schema_.columns.size());
  for (std::size_t i = 0; i < how_.columns.size(); ++i) {
    const ir::type* t = to_->schema_.columns[i].type;
    if (!t) continue;
    const column& c = columns[i];
    auto& s = how_.columns[i];
    if (t->trivial && t->align <= partition_store::line && (must_be_copied(c) || t->size <= widest_value)) {
      s.how = partition_store::stored_column::as::value;
      s.field = how_.widths.size();
      how_.widths.push_back(t->size);
      continue;
    }
    if (to_->has_bytes_[i] && must_be_copied(c) && !roomy) {
      s.how = partition_store::stored_column::as::bytes;
      ++how_.as_bytes;
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
  std::size_t row_bytes = sizeof(std::uint16_t), values_a_row = 0;
  for (const std::size_t w : how_.widths) row_bytes += w;
  for (std::size_t i = 0; i < how_.columns.size(); ++i) {
    if (how_.columns[i].objects) row_bytes += to_->schema_.columns[i].type->size;
    if (how_.columns[i].how == partition_store::stored_column::as::bytes) values_a_row += to_->schema_.columns[i].type->size;
  }
  row_bytes += values_a_row ? values_a_row + sizeof(std::uint64_t) : 0;
  capacity_ = std::clamp<std::size_t>(to_->partitions() * rows_a_block, least_chunk, partition_store::most_chunk);
  capacity_ = std::min(capacity_, partition_store::rows_a_chunk(row_bytes, to_->pool_->limit(), to_->writers_));
  if (!memory_.rows) memory_ = to_->take_spare();
  memory_.fields.resize(how_.widths.size());
  const std::size_t first = std::max({memory_.rows, first_bytes / row_bytes, std::size_t{1}});
  memory_.rows = 0;
  make_room(std::min(capacity_, first));
  objects_.clear();
  whole_.clear();
  for (std::size_t i = 0; i < how_.columns.size(); ++i) {
    if (how_.columns[i].objects) objects_.emplace_back(to_->schema_.columns[i].type, pool);
    if (how_.columns[i].how == partition_store::stored_column::as::bytes) whole_.emplace_back(to_->schema_.columns[i].type, pool);
  }
  bytes_n_ = 0;
  // Values may be much larger than their objects: then the chunk ends where their bytes would take more than these.
  most_bytes_ = capacity_ * values_a_row;
}

// There may be few rows, and these large: memory grows to that of a whole chunk.
void partition_writer::make_room(std::size_t rows) {
  if (rows <= memory_.rows) return;
  memory_.rows = std::min(capacity_, std::max(rows, 2 * memory_.rows));
  const auto grow = [&](runtime::buffer& to, std::size_t width) {
    if (to.size() >= memory_.rows * width) return;
    runtime::buffer larger = to_->pool_->allocate(memory_.rows * width);
    if (n_) std::memcpy(larger.data(), to.data(), n_ * width);
    to = std::move(larger);
  };
  for (std::size_t f = 0; f < memory_.fields.size(); ++f)
    if (how_.positions != f) grow(memory_.fields[f], how_.widths[f]);
  if (how_.as_bytes) grow(memory_.bytes_end, sizeof(std::uint64_t));
  grow(memory_.partition_of, sizeof(std::uint16_t));
}

// Then the chunk ends, and the next one may keep bytes.
bool partition_writer::objects_are_large() const {
  constexpr std::size_t memory_share = 32;  // of the session's memory, for the objects of all threads' chunks
  std::size_t bytes = 0;
  for (const rows_buffer& values : objects_) bytes += values.heap().bytes();
  return bytes && bytes > to_->pool_->limit() / memory_share / to_->threads_;
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
    if ((how_.columns[i].objects || how_.columns[i].how == partition_store::stored_column::as::bytes) && !must_be_copied(columns[i]))
      return false;
  return true;
}

// Returns how many of the rows have room for their values in the chunk: one at least, if it is empty.
std::size_t partition_writer::keep_bytes(std::span<const column> columns, std::size_t n) {
  std::vector<column> values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (how_.columns[i].how != partition_store::stored_column::as::bytes) continue;
    const ir::type* const t = to_->schema_.columns[i].type;
    column c = columns[i];
    if (!c.as_stored()) {
      rows_buffer& all = whole_[values.size()];
      all.clear();
      gather_column(c, t, n, all.extend(n), t->size, false);
      all.grow(n);
      c = {all.data(), t->size, 0, t->size, nullptr, true};
    }
    values.push_back(c);
  }
  auto* const ends = memory_.bytes_end.as<std::uint64_t>();
  for (std::size_t row = 0; row < n; ++row) {
    std::size_t bytes = 0;
    for (std::size_t v = 0; v < values.size(); ++v) bytes += bytes_of(*whole_[v].type(), value_at(values[v], row));
    if (const std::size_t all = bytes_n_ + bytes; all > memory_.bytes.size()) {
      if (all > most_bytes_ && n_ + row) return row;
      runtime::buffer larger = to_->pool_->allocate(std::max({all, std::min(2 * memory_.bytes.size(), most_bytes_), first_bytes / 4}));
      if (bytes_n_) std::memcpy(larger.data(), memory_.bytes.data(), bytes_n_);
      memory_.bytes = std::move(larger);
    }
    std::byte* to = memory_.bytes.as<std::byte>() + bytes_n_;
    for (std::size_t v = 0; v < values.size(); ++v) to = write_bytes(*whole_[v].type(), value_at(values[v], row), to);
    ends[n_ + row] = bytes_n_ += bytes;
  }
  return n;
}

void partition_writer::keep(std::span<const column> columns, std::size_t n, const std::uint16_t* partitions, bool owned) {
  for (const numbering& g : numberings_) {
    auto* const to = memory_.fields[g.field].as<std::uint32_t>() + n_;
    const auto from = static_cast<std::uint32_t>(g.from);
    for (std::size_t i = 0; i < n; ++i) to[i] = from + (g.select ? g.select[i] : static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& s = how_.columns[i];
    const ir::type* t = to_->schema_.columns[i].type;
    if (s.how == partition_store::stored_column::as::value) {
      gather_column(columns[i], t, n, memory_.fields[s.field].as<std::byte>() + n_ * t->size, t->size, false);
    } else if (s.objects) {
      rows_buffer& to = objects_[*s.objects];
      if (owned && columns[i].side_by_side(t->size) && t->life.move) {
        to.take_rows(const_cast<void*>(columns[i].base), n);
      } else if (owned && columns[i].as_stored() && t->life.move) {
        for (std::size_t row = 0; row < n; ++row) to.take_rows(const_cast<std::byte*>(value_at(columns[i], row)), 1);
      } else if (!t->trivial && !t->life.copy) {
        to.append_rows(columns[i].base, n);  // which says that they cannot be copied
      } else {
        gather_column(columns[i], t, n, to.extend(n), t->size, false);
        to.grow(n);
      }
    }
  }
  std::memcpy(memory_.partition_of.as<std::uint16_t>() + n_, partitions, n * sizeof(std::uint16_t));
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
  const auto* const partition_of = memory_.partition_of.as<std::uint16_t>();
  const auto* const ends = memory_.bytes_end.as<const std::uint64_t>();
  std::vector<std::size_t> bytes(how_.as_bytes ? partitions : 0);
  for (std::size_t i = 0; how_.as_bytes && i < n_; ++i) bytes[partition_of[i]] += ends[i] - (i ? ends[i - 1] : 0);
  for (std::size_t first = 0; first < partitions; first += of_band) {
    auto g = std::make_unique<partition_store::page>();
    // Whatever outlives the memory is allocated first, so that what is given back is not cut into pieces.
    g->begins.reserve(of_band + 1);
    g->in_file.reserve(of_band);
    g->begins.push_back(0);
    for (std::size_t p = first; p < first + of_band; ++p)
      g->begins.push_back(g->begins.back() + how_.block_bytes(counts_[p], how_.as_bytes ? bytes[p] : 0));
    g->memory = to_->pool_->allocate(g->begins.back());
    c->pages.push_back(std::move(g));
  }
  std::vector<std::byte*> to(partitions);
  const auto at_field = [&](std::size_t f) {  // one more than there are: the bytes behind them
    for (std::size_t p = 0; p < partitions; ++p) {
      const partition_store::page& g = *c->pages[p / of_band];
      to[p] = g.memory.as<std::byte>() + g.begins[p % of_band] + how_.begin_of(f, counts_[p]);
    }
  };
  struct alignas(partition_store::line) cache_line {
    std::byte bytes[partition_store::line];
  };
  std::vector<cache_line> of_partitions(partitions);
  auto* const lines = reinterpret_cast<std::byte*>(of_partitions.data());
  const detail::stop_point stop;
  for (std::size_t f = 0; f < how_.widths.size(); ++f) {
    stop.check();
    at_field(f);
    const auto* const from = memory_.fields[f].as<const std::byte>();
    const std::size_t w = how_.widths[f];
    if (how_.positions == f) {
      std::uint32_t position = 0;
      scatter<sizeof position>(partition_of, n_, to, lines, [&position](std::size_t i) {
        position = static_cast<std::uint32_t>(i);
        return &position;
      });
      continue;
    }
    switch (w) {
      case 1: scatter_values<1>(partition_of, n_, to, lines, from); break;
      case 2: scatter_values<2>(partition_of, n_, to, lines, from); break;
      case 4: scatter_values<4>(partition_of, n_, to, lines, from); break;
      case 8: scatter_values<8>(partition_of, n_, to, lines, from); break;
      case 16: scatter_values<16>(partition_of, n_, to, lines, from); break;
      default:
        for (std::size_t i = 0; i < n_; ++i) {
          std::byte*& at = to[partition_of[i]];
          std::memcpy(at, from + i * w, w);
          at += w;
        }
    }
  }
  end_lines();
  if (how_.as_bytes) {
    at_field(how_.widths.size());
    const auto* const from = memory_.bytes.as<const std::byte>();
    for (std::size_t i = 0; i < n_; ++i) {
      const std::uint64_t begin = i ? ends[i - 1] : 0;
      std::byte*& at = to[partition_of[i]];
      std::memcpy(at, from + begin, ends[i] - begin);
      at += ends[i] - begin;
    }
  }
  c->how = how_;
  c->objects = std::move(objects_);
  objects_.clear();
  before_ += n_;
  n_ = 0;
  bytes_n_ = 0;
  std::fill(counts_.begin(), counts_.end(), 0);
  to_->add(part_, std::move(c));
}

void partition_writer::finish() {
  flush();
  whole_.clear();
  if (memory_.rows) to_->keep_spare(std::exchange(memory_, {}));
}

}  // namespace query::cpu
