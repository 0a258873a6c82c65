#include "cpu_engine/column_results.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "cpu_engine/column_steps.hpp"
#include "cpu_engine/streamed_values.hpp"
#include "ir/column_value.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t chunk_rows = part_rows;
constexpr std::size_t most_column_bytes = std::size_t{4} << 20;  // of a field in a chunk
constexpr std::size_t heap_bytes = std::size_t{1} << 18;
constexpr std::size_t distance = 48;  // rows that a gather prefetches, because looking up pages takes long
constexpr std::uint64_t streamed_bytes = std::uint64_t{64} << 20;  // results of this size leave no room in the cache for anything else

// ---------------------------------------------------------------- chunks
// The characters of those strings of a chunk that are too long to be stored inside a query::text.
class text_pages {
 public:
  explicit text_pages(runtime::buffer_pool& pool) : pool_(&pool) {}
  const char* keep(std::string_view s) {
    if (s.size() > left_) {
      const std::size_t bytes = std::max(heap_bytes, s.size());
      pages_.push_back(pool_->allocate(bytes));
      at_ = pages_.back().as<char>();
      left_ = bytes;
    }
    char* const to = at_;
    std::memcpy(to, s.data(), s.size());
    at_ += s.size();
    left_ -= s.size();
    return to;
  }

 private:
  runtime::buffer_pool* pool_;
  std::vector<runtime::buffer> pages_;
  char* at_ = nullptr;
  std::size_t left_ = 0;
};

// at(i): where the string of row i lies.
template <bool Streamed, class At> void gather_texts(const At& at, std::size_t k, text* to, text_pages& pages) {
  const auto string = [&](std::size_t i) { return reinterpret_cast<const std::string*>(at(i)); };
  for (std::size_t i = 0; i < std::min(k, 2 * distance); ++i) __builtin_prefetch(string(i));
  for (std::size_t i = 0; i < k; ++i) {
    if (i + 2 * distance < k) __builtin_prefetch(string(i + 2 * distance));
    // Its characters: on the heap, or in another cache line of the string itself.
    if (i + distance < k) __builtin_prefetch(string(i + distance)->data());
    const std::string& s = *string(i);
    if (s.size() <= text::inline_size) put_short_text<Streamed>(s, to + i);
    else ::new (static_cast<void*>(to + i)) text(std::string_view(pages.keep(s), s.size()));
  }
}
template <bool Streamed> void gather_texts(const column& c, std::size_t k, text* to, text_pages& pages) {
  if (c.optional) return gather_texts<Streamed>([&](std::size_t i) { return value_at(c, i); }, k, to, pages);
  const auto* const base = static_cast<const std::byte*>(c.base);
  if (c.select)
    gather_texts<Streamed>([base, select = c.select, stride = c.stride](std::size_t i) { return base + select[i] * stride; }, k, to, pages);
  else gather_texts<Streamed>([base, stride = c.stride](std::size_t i) { return base + i * stride; }, k, to, pages);
}

// Strings that may be missing: fields of a side of a join that may have no row, or optionals.
template <bool Streamed> void gather_optional_texts(const column& c, std::size_t k, std::byte* to, text_pages& pages) {
  using value = std::optional<text>;
  using string = std::optional<std::string>;
  static const std::string none;
  static const string no_string;
  static const value either[2] = {std::nullopt, text()};
  static const std::ptrdiff_t within = reinterpret_cast<const std::byte*>(&*either[1]) - reinterpret_cast<const std::byte*>(&either[1]);
  const auto make = [&pages](const column from, const void* missing, std::size_t n, std::byte* some, const auto& string_at) {
    for (std::size_t i = 0; i < n; ++i, some += sizeof(value)) {
      if (i + distance < n) __builtin_prefetch(value_or(from, i + distance, missing));
      const std::string* const s = string_at(value_or(from, i, missing));
      std::memcpy(some, static_cast<const void*>(&either[s != &none]), sizeof(value));
      auto* const at = reinterpret_cast<text*>(some + within);
      if (s->size() <= text::inline_size) put_short_text<false>(*s, at);
      else ::new (static_cast<void*>(at)) text(std::string_view(pages.keep(*s), s->size()));
    }
  };
  const auto make_some = [&](std::size_t first, std::size_t n, std::byte* some) {
    const column from = part_of(c, first);
    if (from.wraps) return make(from, &none, n, some, [](const void* at) { return static_cast<const std::string*>(at); });
    make(from, &no_string, n, some, [](const void* at) {
      const string& s = *static_cast<const string*>(at);
      return s ? &*s : &none;
    });
  };
  if constexpr (Streamed) stream_made(to, k, sizeof(value), make_some);
  else make_some(0, k, to);
}

// Strings of rows that lie far apart, as those of groups whose rows were partitioned: nearly each string of a batch is in another page, and
// other batches read the strings between them. Here, all batches read one window of rows after the other, so that the processor looks up
// each page once. (Manegold, Boncz, Nes, Kersten, Cache-Conscious Radix-Decluster Projections, VLDB 2004.)
class scattered_texts {
 public:
  struct some {
    column from;  // a selection in ascending order, which outlives the batch
    std::size_t n;
    text* to;
  };
  static bool are(const column& c, std::size_t n) {
    constexpr std::size_t least = 16, most = 512;  // rows apart, on average
    if (!c.select || c.optional || !n || c.select[n - 1] < c.select[0]) return false;
    const std::size_t apart = (c.select[n - 1] - c.select[0]) / n;
    return apart >= least && apart <= most && std::is_sorted(c.select, c.select + n);
  }

  void take(std::vector<some> more) { all_.insert(all_.end(), more.begin(), more.end()); }
  // Returns the memory of long texts.
  std::vector<text_pages> gather(runtime::run_context& context) const {
    std::map<std::pair<std::size_t, std::size_t>, std::vector<const some*>> windows;  // by the column's offset in the row, and number
    for (const some& s : all_)
      for (std::size_t w = s.from.select[0] / rows; w <= s.from.select[s.n - 1] / rows; ++w)
        windows[{s.from.offset, w}].push_back(&s);
    std::vector<std::pair<std::size_t, const std::vector<const some*>*>> tasks;  // the first row of a window, and who reads it
    for (const auto& [place, readers] : windows) tasks.emplace_back(place.second * rows, &readers);
    std::vector<text_pages> pages;
    for (std::size_t t = 0; t < tasks.size(); ++t) pages.emplace_back(context.pool);
    context.scheduler.for_each(
        tasks.size(),
        [&](std::size_t t) {
          for (const some* s : *tasks[t].second) {
            const std::uint32_t* const numbers = s->from.select;
            const auto at = [&](std::size_t row) {
              return static_cast<std::size_t>(std::lower_bound(numbers, numbers + s->n, row) - numbers);
            };
            const std::size_t first = at(tasks[t].first), end = at(tasks[t].first + rows);
            gather_texts<false>(part_of(s->from, first), end - first, s->to + first, pages[t]);
          }
        },
        context.cancel);
    return pages;
  }

 private:
  static constexpr std::size_t rows = std::size_t{1} << 15;  // of a window: a megabyte of strings
  std::vector<some> all_;
};

// One chunk that is being filled.
class chunk_memory {
 public:
  // streamed: stores go past the cache. scattered: takes strings that will be gathered later; null: the rows of batches do not live so
  // long.
  chunk_memory(const ir::type* row, std::size_t capacity, bool streamed, runtime::buffer_pool& pool,
               std::vector<scattered_texts::some>* scattered)
      : row_(row), capacity_(capacity), streamed_(streamed), texts_(pool), scattered_(scattered) {
    for (const ir::field& f : row->field_list)
      columns_.push_back(pool.allocate(runtime::buffer_pool::checked_bytes(capacity, ir::column_value_size(f.of))));
  }
  chunk_memory(const chunk_memory&) = delete;
  chunk_memory& operator=(const chunk_memory&) = delete;
  ~chunk_memory() {
    for (std::size_t f = 0; f < alive_; ++f)
      if (const ir::type* t = row_->field_list[f].of; !ir::gives_texts(t)) destroy_rows(t, columns_[f].data(), n_);
  }

  std::size_t room() const { return capacity_ - n_; }
  detail::chunk_list::chunk chunk() const {
    detail::chunk_list::chunk c{n_, {}};
    for (const runtime::buffer& b : columns_) c.columns.push_back(b.data());
    return c;
  }

  // Rows [first, first + k) of a batch.
  void append(const planner::column_schema& schema, std::span<const column> columns, std::size_t first, std::size_t k) {
    std::size_t f = 0;
    try {
      for (; f < columns_.size(); ++f) append(row_->field_list[f], f, schema, columns, first, k);
    } catch (...) {
      for (std::size_t done = 0; done < f; ++done) {
        const ir::type* t = row_->field_list[done].of;
        if (!ir::gives_texts(t)) destroy_rows(t, columns_[done].as<std::byte>() + n_ * ir::column_value_size(t), k);
      }
      throw;
    }
    n_ += k;
    alive_ = columns_.size();
  }

 private:
  static column part_from(column c, std::size_t within, std::size_t first) {
    c.base = static_cast<const std::byte*>(c.base) + within;
    return part_of(c, first);
  }

  void append(const ir::field& f, std::size_t number, const planner::column_schema& schema, std::span<const column> columns,
              std::size_t first, std::size_t k) {
    std::byte* const to = columns_[number].as<std::byte>() + n_ * ir::column_value_size(f.of);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto& held = schema.columns[c];
      if (held.offset > f.offset || held.offset + held.type->size < f.offset + f.of->size) continue;
      const column from = part_from(columns[c], f.offset - held.offset, first);
      if (f.of->k == ir::kind::string) append_texts(from, k, reinterpret_cast<text*>(to));
      else if (ir::is_optional_string(f.of)) append_optional_texts(from, k, to);
      else if (!streamed_ || !stream_column(from, f.of, k, to)) gather_column(from, f.of, k, to, f.of->size, false);
      return;
    }
    if (f.of->k == ir::kind::string) {  // no column holds it, so it has no value
      std::uninitialized_value_construct_n(reinterpret_cast<text*>(to), k);
      return;
    }
    if (ir::is_optional_string(f.of)) {
      std::uninitialized_value_construct_n(reinterpret_cast<std::optional<text>*>(to), k);
      return;
    }
    // Its parts are in separate columns.
    if (f.of->life.construct) f.of->life.construct(to, k);
    try {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const auto& held = schema.columns[c];
        if (held.offset < f.offset || held.offset + held.type->size > f.offset + f.of->size) continue;
        gather_column(part_from(columns[c], 0, first), held.type, k, to + (held.offset - f.offset), f.of->size, true);
      }
    } catch (...) {
      destroy_rows(f.of, to, k);
      throw;
    }
  }
  void append_texts(const column& c, std::size_t k, text* to) {
    if (scattered_ && scattered_texts::are(c, k)) scattered_->push_back({c, k, to});
    else if (streamed_) gather_texts<true>(c, k, to, texts_);
    else gather_texts<false>(c, k, to, texts_);
  }

  void append_optional_texts(const column& c, std::size_t k, std::byte* to) {
    if (streamed_) gather_optional_texts<true>(c, k, to, texts_);
    else gather_optional_texts<false>(c, k, to, texts_);
  }

  const ir::type* row_;
  std::size_t capacity_, n_ = 0, alive_ = 0;
  bool streamed_;
  std::vector<runtime::buffer> columns_;
  text_pages texts_;
  std::vector<scattered_texts::some>* scattered_;
};

// Rows of one part, in chunks.
class chunk_sink final : public column_sink {
 public:
  // stays: the rows that batches select, and the selections, outlive the batches.
  chunk_sink(const planner::column_schema& schema, const ir::type* row, std::uint64_t expected, bool stays, runtime::buffer_pool& pool)
      : schema_(&schema),
        row_(row),
        capacity_(static_cast<std::size_t>(std::clamp<std::uint64_t>(expected, column_batch_rows, chunk_rows))),
        stays_(stays),
        streamed_(expected > streamed_bytes / row->size),
        pool_(&pool) {
    for (const ir::field& f : row->field_list)
      capacity_ = std::clamp<std::size_t>(most_column_bytes / std::max<std::size_t>(f.of->size, 1), 1, capacity_);
  }
  void push(const column_batch& b) override {
    for (std::size_t from = 0; from < b.n;) {
      if (chunks_.empty() || chunks_.back()->room() == 0) add_chunk();
      const std::size_t k = std::min(chunks_.back()->room(), b.n - from);
      chunks_.back()->append(*schema_, b.columns, from, k);
      from += k;
    }
    if (streamed_) end_of_stream();
  }
  std::vector<std::unique_ptr<chunk_memory>> take() { return std::move(chunks_); }
  std::vector<scattered_texts::some> take_scattered() { return std::move(scattered_); }

 private:
  void add_chunk() {
    chunks_.push_back(std::make_unique<chunk_memory>(row_, capacity_, streamed_, *pool_, stays_ ? &scattered_ : nullptr));
  }

  const planner::column_schema* schema_;
  const ir::type* row_;
  std::size_t capacity_;
  bool stays_, streamed_;
  runtime::buffer_pool* pool_;
  std::vector<scattered_texts::some> scattered_;
  std::vector<std::unique_ptr<chunk_memory>> chunks_;
};

// Records of a branch that gives no columns, seen as one column of whole rows.
class records_as_columns final : public detail::batch_sink {
 public:
  records_as_columns(const ir::type* row, column_sink& to) : row_(row), to_(&to) {}
  void push(const detail::row_block& b) override {
    for (std::size_t from = 0; from < b.n; from += column_batch_rows) {
      const column all{static_cast<const std::byte*>(b.rows) + from * row_->size, row_->size, 0, row_->size};
      to_->push({{&all, 1}, std::min(column_batch_rows, b.n - from)});
    }
  }

 private:
  const ir::type* row_;
  column_sink* to_;
};

// Runs all parts; sink(part) makes the receiver of each, keep(index, sink) takes what it has received.
template <class Sink, class Make> std::map<std::size_t, std::unique_ptr<Sink>> run_parts(pipeline& p, Make make) {
  std::mutex lock;
  std::map<std::size_t, std::unique_ptr<Sink>> all;
  p.run_all([&](const pipeline::part& part) {
    auto sink = make();
    if (p.columns()) {
      part.run_columns(*sink);
    } else {
      records_as_columns rows(p.row(), *sink);
      part.run(rows);
    }
    const std::lock_guard hold(lock);
    all.emplace(part.index, std::move(sink));
  });
  return all;
}

// ---------------------------------------------------------------- records
// Batches that outlive the pipeline's tasks: their selections and the values that were computed are copied, the rest stays where it is.
class kept_batches final : public column_sink {
 public:
  kept_batches(const planner::column_schema& schema, runtime::buffer_pool& pool) : schema_(&schema), pool_(&pool) {}
  void push(const column_batch& b) override {
    if (pieces_.empty() || selected_ + b.columns.size() * b.n > pieces_.back().size() / sizeof(std::uint32_t)) {
      pieces_.push_back(pool_->allocate_array<std::uint32_t>(std::max<std::size_t>(selections_a_piece, b.columns.size() * b.n)));
      selected_ = 0;
    }
    const std::size_t first = columns_.size();
    for (std::size_t c = 0; c < b.columns.size(); ++c) {
      column now = b.columns[c];
      if (now.transient) {
        const ir::type* t = schema_->columns[c].type;
        rows_buffer& values = computed_.emplace_back(t, *pool_);
        gather_column(now, t, b.n, values.extend(b.n), t->size, false);
        values.grow(b.n);
        now = {values.data(), t->size, now.offset, t->size};
      } else if (now.select) {
        now.select = kept(b, c, first);
      }
      columns_.push_back(now);
    }
    sizes_.push_back(b.n);
    rows_ += b.n;
  }
  std::size_t rows() const { return rows_; }
  void assign(void* rows, std::size_t row_size, const runtime::cancel_flag& cancel) const {
    auto* to = static_cast<std::byte*>(rows);
    const std::size_t width = schema_->columns.size();
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      cancel.check();
      assemble_rows(*schema_, {std::span(columns_).subspan(i * width, width), sizes_[i]}, to, row_size);
      to += sizes_[i] * row_size;
    }
  }

 private:
  static constexpr std::size_t selections_a_piece = std::size_t{1} << 16;

  // Columns of one table have one selection.
  const std::uint32_t* kept(const column_batch& b, std::size_t c, std::size_t first) {
    for (std::size_t before = 0; before < c; ++before)
      if (!b.columns[before].transient && b.columns[before].select == b.columns[c].select) return columns_[first + before].select;
    auto* const to = pieces_.back().as<std::uint32_t>() + selected_;
    std::memcpy(to, b.columns[c].select, b.n * sizeof *to);
    selected_ += b.n;
    return to;
  }

  const planner::column_schema* schema_;
  runtime::buffer_pool* pool_;
  std::vector<column> columns_;
  std::vector<std::size_t> sizes_;
  std::vector<runtime::buffer> pieces_;  // selections
  std::size_t selected_ = 0;             // of the last piece
  std::vector<rows_buffer> computed_;
  std::size_t rows_ = 0;
};

}  // namespace

detail::chunk_list collect_columns(const planner::branch& b, const std::vector<planner::binding>& captures, runtime::run_context& context) {
  auto p = std::make_unique<pipeline>(b, captures, context, false, true);
  const planner::column_schema records = planner::column_schema::of_rows(p->row());
  const planner::column_schema& schema = p->columns() ? *p->columns() : records;
  const std::uint64_t expected = p->source_rows().value_or(0);
  const bool stays = p->list_as_it_is() != nullptr;
  auto parts = run_parts<chunk_sink>(*p, [&] { return std::make_unique<chunk_sink>(schema, p->row(), expected, stays, context.pool); });
  detail::chunk_list all;
  struct result_memory {
    std::vector<std::unique_ptr<chunk_memory>> chunks;
    std::vector<text_pages> texts;
  };
  auto kept = std::make_shared<result_memory>();
  scattered_texts scattered;
  for (auto& [index, sink] : parts) {
    scattered.take(sink->take_scattered());
    for (auto& c : sink->take()) {
      all.chunks.push_back(c->chunk());
      all.rows += all.chunks.back().n;
      kept->chunks.push_back(std::move(c));
    }
  }
  kept->texts = scattered.gather(context);
  all.owner = std::move(kept);
  return all;
}

bool assign_records(const planner::branch& b, const std::vector<planner::binding>& captures, function_ref<void*(std::uint64_t)> room,
                    runtime::run_context& context) {
  const bool columns = b.stages.empty() ? b.table && b.table->gives_columns : b.stages.back().how == planner::form::columns;
  if (!columns) return false;
  pipeline p(b, captures, context, false, true);
  // Neither pieces of a stream nor tables that are made as they are read outlive their window.
  if (!p.columns() || !p.source_rows() || p.made_as_read()) return false;
  const auto parts = run_parts<kept_batches>(p, [&] { return std::make_unique<kept_batches>(*p.columns(), context.pool); });
  struct place {
    const kept_batches* rows;
    std::uint64_t first;
  };
  std::vector<place> places;
  std::uint64_t n = 0;
  for (const auto& [index, rows] : parts) {
    places.push_back({rows.get(), n});
    n += rows->rows();
  }
  auto* const records = static_cast<std::byte*>(room(n));
  context.scheduler.for_each(
      places.size(),
      [&](std::size_t i) {
        places[i].rows->assign(records + places[i].first * p.row()->size, p.row()->size, context.cancel);
      },
      context.cancel);
  return true;
}

}  // namespace query::cpu
