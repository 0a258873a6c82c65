#include "data/arrow_table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <string>

#include <query/errors.hpp>

#include "data/arrow_values.hpp"
#include "data/leaf_columns.hpp"

namespace query::data {

namespace {

// Codes come from elsewhere, and what reads them trusts them.
[[noreturn]] void refuse_code(const std::string& field, std::size_t row, std::int64_t code, std::size_t entries) {
  throw user_error("query: from_arrow: field '" + field + "': row " + std::to_string(row) + " has code " + std::to_string(code) +
                   ", and the dictionary has " + std::to_string(entries) + " entries");
}

constexpr std::size_t rows_a_task = 1 << 14;

}  // namespace

// Values of a field, side by side; some of them alive, by tasks.
struct arrow_table::converted {
  converted(const ir::type* t, std::size_t rows)
      : type(t), n(rows), align(std::max<std::size_t>(t->align, 64)), alive((rows + rows_a_task - 1) / rows_a_task),
        values(static_cast<std::byte*>(::operator new(checked_bytes(rows, t->size), std::align_val_t{align}))) {}
  converted(const converted&) = delete;
  converted& operator=(const converted&) = delete;
  ~converted() {
    if (!type->trivial)
      for (std::size_t task = 0; task < alive.size(); ++task)
        if (alive[task]) type->life.destroy(at(task), rows_of(task));
    ::operator delete(values, std::align_val_t{align});
  }
  static std::size_t checked_bytes(std::size_t rows, std::size_t size) {
    if (size && rows > ~std::size_t{0} / 2 / size) throw std::bad_alloc();
    return std::max<std::size_t>(rows * size, 1);
  }
  void construct(std::size_t task) {
    if (type->life.construct) type->life.construct(at(task), rows_of(task));
    alive[task] = 1;
  }
  std::byte* at(std::size_t task) const { return values + task * rows_a_task * type->size; }
  std::size_t rows_of(std::size_t task) const { return std::min(rows_a_task, n - task * rows_a_task); }

  const ir::type* type;
  std::size_t n, align;
  std::vector<unsigned char> alive;  // one a task: they run at once
  std::byte* values;
};

// The entries of all batches' dictionaries, and a null where the field takes nulls. Equal dictionaries of neighbours are one.
struct arrow_table::coded {
  coded(const ir::type* t, std::size_t n) : entries(t, n) {}
  converted entries;
  std::unique_ptr<std::uint32_t[]> made;  // null: the producer's are used
  text_codes codes;
};

arrow_table::batch arrow_table::take(ArrowArray& from) {
  const auto release = [](ArrowArray* a) {
    if (a->release) a->release(a);
    delete a;
  };
  batch b(new ArrowArray(from), release);
  from.release = nullptr;
  return b;
}

arrow_table::arrow_table(const ir::type* row, const ArrowSchema& schema, std::vector<batch> batches) : row_(row) {
  if (!schema.format || std::string_view(schema.format) != "+s" || schema.dictionary)
    throw arrow_mismatch("the Arrow data of " + std::string(row->name) + " rows must be a struct with a column for each field; it is " +
                         arrow_name(schema));
  columns_.layout = arrow_layout::structure;
  columns_.type = row;
  match_fields(row, schema, "", columns_);
  for (batch& b : batches) {
    if (b->length == 0) continue;
    batches_.push_back(std::move(b));
    check_batch(batches_.size() - 1);
    begins_.push_back(begins_.back() + static_cast<std::size_t>(batches_.back()->length));
  }

  const std::size_t fields = row->field_list.size(), n = begins_.back();
  there_.resize(fields, n == 0);
  codes_ = std::vector<std::atomic<const text_codes*>>(fields);
  values_ = std::vector<std::atomic<const std::byte*>>(fields);
  for (std::size_t f = 0; f < fields; ++f) looked_at_.push_back(n == 0 || !has_dictionary(f));
  auto first = std::make_unique<bases>(fields);
  std::size_t widest = 0;
  for (std::size_t f = 0; f < fields && n; ++f) {
    const ArrowArray& all = *batches_.front();
    if (batches_.size() == 1) (*first)[f] = values_in_place(columns_.children[f], *all.children[columns_.columns[f]], all.offset);
    there_[f] = (*first)[f] != nullptr;
    if (!there_[f]) widest = std::max(widest, row->field_list[f].of->size);
  }
  given_.reserve(fields + 1);
  if (widest) {
    zero_bytes_ = converted::checked_bytes(n, widest);
    zeros_ = ::mmap(nullptr, zero_bytes_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (zeros_ == MAP_FAILED) throw std::bad_alloc();
    for (const void*& base : *first)
      if (!base) base = zeros_;
  }
  all_there_ = widest == 0;
  given_.push_back(std::move(first));
  now_ = given_.back().get();
}

arrow_table::~arrow_table() {
  if (zero_bytes_) ::munmap(zeros_, zero_bytes_);
}

void arrow_table::check_batch(std::size_t b) const {
  const ArrowArray& a = *batches_[b];
  check_shape(columns_, a, a.length);
  auto wrong = find_wrong_null(columns_, a, 0, a.length);
  if (!wrong) return;
  const std::string at = std::to_string(begins_.back() + static_cast<std::size_t>(wrong->row));
  if (wrong->of == &columns_) throw arrow_mismatch("row " + at + " is null as a whole");
  const arrow_values& of = *wrong->of;
  throw arrow_mismatch("field '" + of.field + "' is " + type_name(of.type) + ", the Arrow column, " + of.arrow_name +
                       ", has a null in row " + at + "; make the field a std::optional");
}

void arrow_table::view(detail::row_block& to) const {
  to.n = begins_.back();
  to.columns = now_.load(std::memory_order_acquire)->data();
}

void arrow_table::convert(std::size_t field, std::size_t from, std::size_t n, std::byte* to) const {
  const std::size_t size = row_->field_list[field].of->size;
  auto b = static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), from) - begins_.begin()) - 1;
  for (; n; ++b) {
    const ArrowArray& a = *batches_[b];
    const std::size_t k = std::min(n, begins_[b + 1] - from);
    convert_values(columns_.children[field], *a.children[columns_.columns[field]], a.offset + static_cast<std::int64_t>(from - begins_[b]),
                   static_cast<std::int64_t>(k), to, size);
    from += k;
    n -= k;
    to += k * size;
  }
}

void arrow_table::prepare(const std::vector<bool>& wanted, reads how, arrow_parallel parallel) const {
  if (all_there_.load(std::memory_order_acquire)) return;
  const std::lock_guard hold(lock_);
  std::vector<std::size_t> fields;
  for (std::size_t f = 0; f < there_.size(); ++f) {
    if (!wanted.empty() && !wanted[f]) continue;
    if (how == reads::codes && !looked_at_[f]) {
      if (auto made = take_codes(f, parallel)) {
        coded_.push_back(std::move(made));
        codes_[f].store(&coded_.back()->codes, std::memory_order_release);
      }
      looked_at_[f] = true;
    }
    const bool reads_codes = how == reads::codes && codes_of(f);
    if (!there_[f] && !reads_codes) fields.push_back(f);
  }
  if (!fields.empty()) convert_values_of(fields, parallel);
}

void arrow_table::convert_values_of(const std::vector<std::size_t>& fields, arrow_parallel parallel) const {
  std::vector<std::unique_ptr<converted>> made;
  for (const std::size_t f : fields) made.push_back(std::make_unique<converted>(row_->field_list[f].of, begins_.back()));
  const std::size_t tasks = made.front()->alive.size();
  parallel(fields.size() * tasks, [&](std::size_t i) {
    converted& column = *made[i / tasks];
    const std::size_t task = i % tasks;
    column.construct(task);
    convert(fields[i / tasks], task * rows_a_task, column.rows_of(task), column.at(task));
  });

  auto next = std::make_unique<bases>(*given_.back());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    (*next)[fields[i]] = made[i]->values;
    values_[fields[i]].store(made[i]->values, std::memory_order_release);
  }
  kept_.reserve(kept_.size() + made.size());
  for (auto& m : made) kept_.push_back(std::move(m));
  given_.push_back(std::move(next));
  for (const std::size_t f : fields) there_[f] = true;
  now_.store(given_.back().get(), std::memory_order_release);
  const auto done = [&](const std::vector<bool>& all) { return std::find(all.begin(), all.end(), false) == all.end(); };
  all_there_.store(done(there_) && done(looked_at_), std::memory_order_release);
}

// ---------------------------------------------------------------- codes
bool arrow_table::has_dictionary(std::size_t field) const {
  const arrow_values& v = columns_.children[field];
  if (v.layout != arrow_layout::dictionary || v.type->k != ir::kind::string) return false;
  const arrow_layout of = v.children[0].layout;
  return of == arrow_layout::text || of == arrow_layout::large_text || of == arrow_layout::text_view;
}

std::unique_ptr<arrow_table::coded> arrow_table::take_codes(std::size_t field, arrow_parallel parallel) const {
  constexpr std::size_t rows_an_entry = 2, few_entries = 1 << 12;
  const arrow_values& v = columns_.children[field];
  const std::size_t rows = begins_.back();
  const std::size_t most = std::max(rows / rows_an_entry, few_entries);
  std::vector<std::size_t> firsts;  // its first entry, for each batch
  std::size_t n = 0;
  for (std::size_t b = 0; b < batches_.size(); ++b) {
    const bool same = b && same_dictionary(v, column_of(field, b - 1), column_of(field, b));
    if (!same) n += static_cast<std::size_t>(column_of(field, b).dictionary->length);
    firsts.push_back(same ? firsts.back() : n - static_cast<std::size_t>(column_of(field, b).dictionary->length));
    if (n > most || n >= ~std::uint32_t{0}) return nullptr;
  }
  const std::size_t all = n + (v.optional ? 1 : 0);

  auto made = std::make_unique<coded>(v.whole(), all);
  converted& entries = made->entries;
  arrow_values entry = v.children[0];
  entry.optional = v.optional;
  parallel(entries.alive.size(), [&](std::size_t task) {
    entries.construct(task);
    const std::size_t first = task * rows_a_task, end = std::min(first + entries.rows_of(task), n);
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      // Another dictionary may begin there, too, where the one before it is empty.
      if (b && firsts[b] == firsts[b - 1] && column_of(field, b - 1).dictionary->length) continue;
      const ArrowArray& of = *column_of(field, b).dictionary;
      const std::size_t from = std::max(first, firsts[b]), to = std::min(end, firsts[b] + static_cast<std::size_t>(of.length));
      if (from < to)
        convert_values(entry, of, static_cast<std::int64_t>(from - firsts[b]), static_cast<std::int64_t>(to - from),
                       entries.values + from * entries.type->size, entries.type->size);
    }
  });

  made->codes = {v.whole(), entries.values, all, nullptr};
  const ArrowArray& only = column_of(field, 0);
  const bool aligned = reinterpret_cast<std::uintptr_t>(only.buffers[1]) % alignof(std::uint32_t) == 0;
  if (batches_.size() == 1 && v.width == sizeof(std::uint32_t) && aligned && !may_have_null_codes(only)) {
    const auto* const codes = static_cast<const std::uint32_t*>(only.buffers[1]) + batches_.front()->offset + only.offset;
    parallel((rows + rows_a_task - 1) / rows_a_task, [&](std::size_t task) {
      const std::size_t first = task * rows_a_task, end = std::min(first + rows_a_task, rows);
      if (const auto wrong = std::find_if(codes + first, codes + end, [&](std::uint32_t c) { return c >= n; }); wrong != codes + end)
        refuse_code(v.field, static_cast<std::size_t>(wrong - codes), static_cast<std::int32_t>(*wrong), n);
    });
    made->codes.codes = codes;
    return made;
  }
  made->made = std::make_unique_for_overwrite<std::uint32_t[]>(rows);
  made->codes.codes = made->made.get();
  parallel((rows + rows_a_task - 1) / rows_a_task, [&](std::size_t task) {
    std::size_t row = task * rows_a_task;
    const std::size_t end = std::min(row + rows_a_task, rows);
    auto b = static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), row) - begins_.begin()) - 1;
    for (; row < end; ++b) {
      const ArrowArray& a = column_of(field, b);
      const bool nulls = v.optional && may_have_null_codes(a);
      for (const std::size_t to = std::min(end, begins_[b + 1]); row < to; ++row) {
        const std::int64_t at = batches_[b]->offset + static_cast<std::int64_t>(row - begins_[b]);
        const bool null = nulls && is_null_code(v, a, at);
        const std::int64_t code = null ? 0 : dictionary_code(v, a, at);
        if (!null && (code < 0 || code >= a.dictionary->length))
          refuse_code(v.field, row, code, static_cast<std::size_t>(a.dictionary->length));
        made->made[row] = static_cast<std::uint32_t>(null ? n : firsts[b] + static_cast<std::size_t>(code));
      }
    }
  });
  return made;
}

std::size_t arrow_table::row_at(std::size_t field, const void* base) const {
  const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  const bool in_zeros = zeros_ && address(zeros_) <= address(base) && address(base) <= address(zeros_) + zero_bytes_;
  const void* const from = in_zeros ? zeros_ : values_[field].load(std::memory_order_acquire);
  return (address(base) - address(from)) / row_->field_list[field].of->size;
}

}  // namespace query::data
