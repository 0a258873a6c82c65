#include "data/arrow_table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <string>

#include "data/arrow_values.hpp"
#include "data/leaf_columns.hpp"

namespace query::data {

namespace {

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
  std::byte* at(std::size_t task) const { return values + task * rows_a_task * type->size; }
  std::size_t rows_of(std::size_t task) const { return std::min(rows_a_task, n - task * rows_a_task); }

  const ir::type* type;
  std::size_t n, align;
  std::vector<unsigned char> alive;  // one a task: they run at once
  std::byte* values;
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

void arrow_table::prepare(const std::vector<bool>& wanted, arrow_parallel parallel) const {
  if (all_there_.load(std::memory_order_acquire)) return;
  const std::lock_guard hold(lock_);
  std::vector<std::size_t> fields;
  for (std::size_t f = 0; f < there_.size(); ++f)
    if (!there_[f] && (wanted.empty() || wanted[f])) fields.push_back(f);
  if (fields.empty()) return;

  std::vector<std::unique_ptr<converted>> made;
  for (const std::size_t f : fields) made.push_back(std::make_unique<converted>(row_->field_list[f].of, begins_.back()));
  const std::size_t tasks = made.front()->alive.size();
  parallel(fields.size() * tasks, [&](std::size_t i) {
    converted& column = *made[i / tasks];
    const std::size_t task = i % tasks, n = column.rows_of(task);
    if (column.type->life.construct) column.type->life.construct(column.at(task), n);
    column.alive[task] = 1;
    convert(fields[i / tasks], task * rows_a_task, n, column.at(task));
  });

  auto next = std::make_unique<bases>(*given_.back());
  for (std::size_t i = 0; i < fields.size(); ++i) (*next)[fields[i]] = made[i]->values;
  kept_.reserve(kept_.size() + made.size());
  for (auto& m : made) kept_.push_back(std::move(m));
  given_.push_back(std::move(next));
  for (const std::size_t f : fields) there_[f] = true;
  now_.store(given_.back().get(), std::memory_order_release);
  all_there_.store(std::find(there_.begin(), there_.end(), false) == there_.end(), std::memory_order_release);
}

}  // namespace query::data
