#include "cpu_engine/join_sides.hpp"

#include <algorithm>
#include <limits>

#include <query/cpu/segment_form.hpp>
#include <query/errors.hpp>

#include "cpu_engine/key_column.hpp"
#include "cpu_engine/key_hash.hpp"

namespace query::cpu {

// ---------------------------------------------------------------- forms
side_form::side_form(const detail::user_function& f, bool interpreted, const planner::column_schema* from, std::vector<column> place)
    : row(f.row), key(f.result), records(!from), in_place(std::move(place)) {
  if (from) {
    values.emplace(f, *from);
    if (!numbers()) columns = *from;
    else columns.columns.push_back({0, ir::describe<std::uint32_t>()});
    if (numbers() && key->trivial && key->align <= partition_store::line) columns.columns.push_back({0, key});
    return;
  }
  calls.emplace(f, interpreted, false);
  key_at = part_of_row(f);
  columns.columns.push_back({0, row});
  if (!key_at && key->trivial) columns.columns.push_back({0, key});  // others would stay in memory: they are computed again
}

std::size_t side_form::stored_bytes() const {
  std::size_t bytes = sizeof(std::uint32_t);
  for (const auto& c : columns.columns) bytes += c.type->size;
  return bytes;
}

void side_form::select(const std::uint32_t* rows, std::vector<column>& to) const {
  to = in_place;
  for (column& c : to) c.select = rows;
}

const void* side_keys::of(const column_batch& b) {
  if (form_->numbers_and_keys()) return b.columns[1].base;
  if (form_->numbers()) {
    form_->select(side_form::numbers_of(b), columns_);
    return form_->values->adjacent(columns_, b.n, memory_, scratch_);
  }
  if (form_->values) return form_->values->adjacent(b.columns, b.n, memory_, scratch_);
  if (!form_->key_at && !form_->key->trivial) {
    memory_.clear();
    form_->calls->map(b.columns[0].base, b.columns[0].select, b.n, memory_.extend(b.n), scratch_);
    memory_.grow(b.n);
    return memory_.data();
  }
  column c = form_->key_at ? b.columns[0] : b.columns[1];
  c.base = static_cast<const std::byte*>(c.base) + form_->key_at.value_or(0);
  if (c.side_by_side(form_->key->size)) return c.base;
  memory_.clear();
  gather_column(c, form_->key, b.n, memory_.extend(b.n), form_->key->size, false);
  memory_.grow(b.n);
  return memory_.data();
}

// ---------------------------------------------------------------- putting apart
class parted_side::sink final : public detail::batch_sink, public column_sink {
 public:
  sink(parted_side& of, std::size_t part, bool resident)
      : of_(&of), writer_(of.store_, part), keys_(of.form_->key, *of.pool_), resident_(resident) {}

  void push(const detail::row_block& b) override {
    const side_form& f = *of_->form_;
    const std::size_t size = f.row->size;
    for (std::size_t from = 0; from < b.n; from += batch_rows) {
      const std::size_t n = std::min(batch_rows, b.n - from);
      const auto* const rows = static_cast<const std::byte*>(b.rows) + from * size;
      column columns[2] = {{rows, size, 0, size, nullptr, !resident_}, {}};
      key_part key{f.key, 0, rows + f.key_at.value_or(0), size};
      if (!f.key_at) {
        keys_.clear();
        f.calls->map(rows, nullptr, n, keys_.extend(n), scratch_);
        keys_.grow(n);
        key = side_by_side(*f.key, keys_.data());
        columns[1] = {keys_.data(), f.key->size, 0, f.key->size, nullptr, true};
      }
      append({columns, f.columns.columns.size()}, key, n, b.owned);
    }
  }
  void push(const column_batch& b) override {
    const side_form& f = *of_->form_;
    const void* const keys = f.values->adjacent(b.columns, b.n, keys_, scratch_);
    if (!f.numbers()) return append(b.columns, side_by_side(*f.key, keys), b.n, false);
    const column& c = b.columns[0];
    const std::ptrdiff_t ahead = static_cast<const std::byte*>(c.base) - static_cast<const std::byte*>(f.in_place[0].base);
    const auto first = static_cast<std::uint32_t>(static_cast<std::size_t>(ahead) / c.stride);
    for (std::size_t i = 0; i < b.n; ++i) numbers_[i] = first + (c.select ? c.select[i] : static_cast<std::uint32_t>(i));
    const column columns[2] = {{numbers_, sizeof numbers_[0], 0, sizeof numbers_[0], nullptr, true},
                               {keys, f.key->size, 0, f.key->size, nullptr, true}};
    append({columns, f.columns.columns.size()}, side_by_side(*f.key, keys), b.n, false);
  }
  void finish() { writer_.finish(); }

 private:
  void append(std::span<const column> columns, const key_part& key, std::size_t n, bool owned) {
    hash_keys(*of_->form_->key, {&key, 1}, 0, n, hashes_, of_->equality_);
    for (std::size_t i = 0; i < n; ++i) partitions_[i] = static_cast<std::uint16_t>(hashes_[i] >> (64 - of_->bits_));
    writer_.append(columns, n, partitions_, owned);
  }

  parted_side* of_;
  partition_writer writer_;
  rows_buffer keys_;
  interpreter::scratch scratch_;
  bool resident_;
  std::uint64_t hashes_[batch_rows];
  std::uint32_t numbers_[batch_rows];
  std::uint16_t partitions_[batch_rows];
};

void parted_side::take(join_input& in, const vertex_tasks& tasks) {
  const std::size_t before = in.first.size();
  tasks.for_each(before, [&](std::size_t i) {
    detail::row_block b;
    b.rows = const_cast<void*>(in.first[i].data());
    b.n = in.first[i].size();
    b.owned = in.first[i].movable() != nullptr;
    sink to(*this, i, false);
    to.push(b);
    to.finish();
    in.first[i] = piece(detail::table{});
  });
  in.first.clear();
  if (!in.rest) return;
  const std::size_t done = in.rest->next_part();
  // A part ends its writer's chunk: short ones would have blocks of a few rows.
  if (const auto rows = in.rest->source_rows(); rows && !done && !in.rest->made_as_read()) {
    const std::size_t chunks = *rows / partition_store::rows_a_chunk(form_->stored_bytes(), tasks.context());
    in.rest->limit_parts(std::max(chunks, 4 * static_cast<std::size_t>(std::max(1, tasks.context().scheduler.concurrency()))));
  }
  const bool resident = in.rest->in_place();
  in.rest->run_all([&](const pipeline::part& part) {
    sink to(*this, before + part.index - done, resident);
    if (form_->records) part.run(to);
    else part.run_columns(to);
    to.finish();
  });
}

// ---------------------------------------------------------------- blocks
build_block::build_block(const side_form& form, const key_equality& equality, bool numbered, bool presence, runtime::run_context& context)
    : form_(&form),
      equality_(equality),
      numbered_(numbered),
      presence_(presence),
      context_(&context),
      keys_of_(form, context.pool),
      rows_(form.row, context.pool),
      keys_(form.key, context.pool) {}

std::size_t build_block::row_bytes(const side_form& form, bool numbered) {
  std::size_t bytes = form.key->size + (numbered ? sizeof(std::uint64_t) : 0);
  if (form.records) return bytes + (form.row->trivial ? form.row->size : sizeof(void*));
  for (const auto& c : form.columns.columns) bytes += c.type->trivial ? c.type->size : sizeof(std::uint32_t);
  return bytes;
}

void build_block::read(partition_store& store, std::size_t partition, std::uint64_t first, std::uint64_t n) {
  const auto count = static_cast<std::size_t>(n);
  table_.reset();
  rows_.clear();
  keys_.clear();
  held_.clear();
  n_ = 0;
  full_ = false;
  keys_.reserve(std::max<std::size_t>(count, 1));
  if (numbered_ && positions_.size() < count * sizeof(std::uint64_t)) positions_ = context_->pool.allocate_array<std::uint64_t>(count);
  if (!form_->records) {
    for (std::size_t c = 0; c < form_->columns.columns.size(); ++c) {
      const ir::type* t = form_->columns.columns[c].type;
      held& h = held_.emplace_back(held{rows_buffer(t, context_->pool), !t->trivial && !store.owns_values(c), {}, nullptr, 0, {}});
      if (h.by_number) h.numbers = context_->pool.allocate_array<std::uint32_t>(count);
      else h.values.reserve(std::max<std::size_t>(count, 1));
    }
  } else if (form_->row->trivial) {
    rows_.reserve(std::max<std::size_t>(count, 1));
  } else {
    if (at_.size() < count * sizeof(void*)) at_ = context_->pool.allocate_array<const void*>(count);
    if (store.value_bytes(partition)) rows_.reserve(std::max<std::size_t>(count, 1));
  }
  std::size_t chunk = 0, begin = 0, end = 0;
  std::uint64_t before = 0, skip = 0;  // rows of the partition in chunks before; of the first chunk, those that are not wanted
  for (const std::size_t rows : store.rows_by_chunk(partition)) {
    if (before <= first) {
      begin = chunk;
      skip = first - before;
    }
    if (before < first + n) end = chunk + 1;
    before += rows;
    ++chunk;
  }
  if (n)
    store.read(partition, begin, end, [&](const stored_rows& r) {
      const auto from = static_cast<std::size_t>(std::min<std::uint64_t>(skip, r.rows.n));
      skip -= from;
      if (!full_) add(r, from, std::min(r.rows.n - from, count - n_));
    });
  if (n && !n_) throw internal_error("query: a block of a join's partition has no rows");
  table_.emplace(form_->key, keys_.data(), n_, join_options{.custom = equality_}, alone_, context_->pool, context_->cancel);
}

void build_block::add(const stored_rows& r, std::size_t from, std::size_t k) {
  if (!k) return;
  columns_.clear();
  for (const column& c : r.rows.columns) columns_.push_back(from ? part_of(c, from) : c);
  if (!form_->records && !keep_columns(columns_, k)) {
    full_ = true;
    return;
  }
  keys_.append_rows(keys_of_.of({columns_, k}), k);  // before rows are moved
  if (form_->records && form_->row->trivial) {
    gather_column(columns_[0], form_->row, k, rows_.extend(k), form_->row->size, false);
    rows_.grow(k);
  } else if (form_->records) {
    const void** const at = at_.as<const void*>() + n_;
    const bool goes = columns_[0].transient && !columns_[0].select;  // with this call; rows_ has room
    for (std::size_t i = 0; i < k; ++i) {
      at[i] = value_at(columns_[0], i);
      if (!goes) continue;
      rows_.take_rows(const_cast<void*>(at[i]), 1);
      at[i] = rows_.at(rows_.size() - 1);
    }
  }
  if (numbered_)
    for (std::size_t i = 0; i < k; ++i) positions_.as<std::uint64_t>()[n_ + i] = r.first + r.positions[from + i];
  n_ += k;
}

bool build_block::keep_columns(std::span<const column> columns, std::size_t k) {
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (held_[c].by_number && !rebase(held_[c], columns[c], k)) return false;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    held& h = held_[c];
    if (!h.by_number) {
      const ir::type* t = h.values.type();
      gather_column(columns[c], t, k, h.values.extend(k), t->size, false);
      h.values.grow(k);
      continue;
    }
    const auto* const base = static_cast<const std::byte*>(columns[c].base);
    const auto ahead = static_cast<std::uint32_t>(static_cast<std::size_t>(base - h.base) / h.stride);
    auto* const to = h.numbers.as<std::uint32_t>() + n_;
    for (std::size_t i = 0; i < k; ++i) to[i] = ahead + (columns[c].select ? columns[c].select[i] : static_cast<std::uint32_t>(i));
  }
  return true;
}

// Chunks count from bases of their own. Makes h count from one that has no larger address; false where numbers would get too large.
bool build_block::rebase(held& h, const column& c, std::size_t k) const {
  const auto* const base = static_cast<const std::byte*>(c.base);
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max() - 1;
  const auto last = [](const std::uint32_t* numbers, std::size_t n) -> std::uint64_t {
    return n ? *std::max_element(numbers, numbers + n) : 0;
  };
  if (!n_) {
    h.base = base;
    h.stride = c.stride;
  }
  if (c.stride != h.stride) return false;
  const std::size_t apart = static_cast<std::size_t>(base < h.base ? h.base - base : base - h.base);
  if (apart % h.stride) return false;
  if (base >= h.base) return apart / h.stride + (c.select ? last(c.select, k) : k) <= most;
  auto* const numbers = h.numbers.as<std::uint32_t>();
  if (apart / h.stride + last(numbers, n_) > most) return false;
  for (std::size_t i = 0; i < n_; ++i) numbers[i] += static_cast<std::uint32_t>(apart / h.stride);
  h.base = base;
  return true;
}

namespace {

constexpr bool either[2] = {false, true};
constexpr std::uint32_t never_read = 0;

}  // namespace

std::span<const column> build_block::select(const std::uint64_t* rows, std::size_t n) {
  columns_.clear();
  for (std::size_t c = 0; c < held_.size(); ++c) {
    held& h = held_[c];
    const auto& of = form_->columns.columns[c];
    h.selected.resize(column_batch_rows);
    const auto* const numbers = h.by_number ? h.numbers.as<const std::uint32_t>() : nullptr;
    for (std::size_t i = 0; i < n; ++i) h.selected[i] = numbers ? numbers[rows[i]] : static_cast<std::uint32_t>(rows[i]);
    columns_.push_back({h.by_number ? static_cast<const void*>(h.base) : h.values.data(), h.by_number ? h.stride : of.type->size, of.offset,
                        of.type->size, h.selected.data(), !h.by_number});
  }
  if (presence_) columns_.push_back({either + 1, 0, form_->row->size, 1});
  return columns_;
}

std::span<const column> build_block::select_missing(std::size_t n) {
  columns_.clear();
  none_.resize(std::max(none_.size(), n), interpreter::missing_row);
  for (const auto& of : form_->columns.columns) {
    column c{&never_read, of.type->size, of.offset, of.type->size, none_.data()};
    c.optional = true;
    columns_.push_back(c);
  }
  columns_.push_back({either, 0, form_->row->size, 1});
  return columns_;
}

}  // namespace query::cpu
