#include "cpu_engine/stored_keys.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <query/cpu/segment_form.hpp>

#include "cpu_engine/column_batch.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t widest_copied = 8;
constexpr std::size_t most_rows = 1024;  // of one call

column column_of(const key_part& p) { return {p.base, p.stride, p.offset, p.type->size, p.select}; }

// The numbers of rows of a part, counted from its base.
struct numbers_at {
  numbers_at(const std::uint32_t* select, std::size_t first, std::span<const std::uint32_t> rows) : n(rows.size()) {
    if (select)
      for (std::size_t i = 0; i < n; ++i) at[i] = select[first + rows[i]];
    else
      for (std::size_t i = 0; i < n; ++i) at[i] = static_cast<std::uint32_t>(first) + rows[i];
  }
  std::span<const std::uint32_t> all() const { return {at, n}; }
  std::size_t n;
  std::uint32_t at[most_rows];
};

}  // namespace

stored_keys::stored_keys(const ir::type* key, runtime::buffer_pool& pool, bool in_parts)
    : key_(key), pool_(&pool), in_parts_(in_parts) {
  if (in_parts_) return;
  parts_.push_back({rows_buffer(key_, pool)});
  view_.push_back(side_by_side(*key_, nullptr));
}

// There may be very many tables of a few keys: those of count_distinct.
void* stored_keys::part::extend(std::size_t n) {
  if (values.size() + n > capacity) {
    capacity = std::max({values.size() + n, 2 * capacity, std::min<std::size_t>(16, rows_a_batch(values.type()->size))});
    values.reserve(capacity);
  }
  return values.extend(n);
}

void stored_keys::append(key_view keys, std::size_t first, std::span<const std::uint32_t> rows) {
  if (!in_parts_) {
    append_whole(keys, first, rows);
    view_[0].base = static_cast<const std::byte*>(parts_[0].values.data());
    size_ = parts_[0].values.size();
    return;
  }
  if (parts_.empty()) lay_out(keys);
  for (std::size_t done = 0; done < rows.size(); done += most_rows) {
    const auto some = rows.subspan(done, std::min(most_rows, rows.size() - done));
    const std::uint32_t* select = keys[0].select;
    numbers_at at(select, first, some);
    const auto follow = [&](const key_part& p) {
      if (p.select == select) return;
      select = p.select;
      at = numbers_at(select, first, some);
    };
    for (std::size_t n = 0; n < numbers_.size(); ++n) {
      const auto of = std::find_if(parts_.begin(), parts_.end(), [&](const part& p) { return p.numbers == n; });
      if (of == parts_.end()) continue;
      follow(keys[static_cast<std::size_t>(of - parts_.begin())]);
      if (!append_numbers(n, keys, at.all())) copy_values(n);
    }
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      if (parts_[p].numbers != none) continue;
      follow(keys[p]);
      append_values(parts_[p], keys[p], at.all());
    }
    size_ += some.size();
  }
  show();
}

void stored_keys::append_whole(key_view keys, std::size_t first, std::span<const std::uint32_t> rows) {
  rows_buffer& values = parts_[0].values;
  auto* const begin = static_cast<std::byte*>(parts_[0].extend(rows.size()));
  auto* to = begin;
  heap_charge counted_below;
  const key_part* const whole = whole_key(keys, *key_);
  for (const std::uint32_t row : rows) {
    if (whole) {
      if (key_->trivial) std::memcpy(to, whole->at(first + row), key_->size);
      else key_->life.copy(to, whole->at(first + row), 1);
      values.grow(1, counted_below);
    } else {
      if (key_->life.construct) key_->life.construct(to, 1);
      values.grow(1, counted_below);
      for (const key_part& p : keys) {
        if (p.type->trivial) std::memcpy(to + p.offset, p.at(first + row), p.type->size);
        else p.type->life.copy_assign(to + p.offset, p.at(first + row));
      }
    }
    to += key_->size;
  }
  values.heap().add(*key_, begin, rows.size(), *pool_);
}

// ---------------------------------------------------------------- parts
void stored_keys::lay_out(key_view keys) {
  std::vector<const std::uint32_t*> selects;
  for (const key_part& p : keys) {
    part& to = parts_.emplace_back(part{rows_buffer(p.type, *pool_)});
    view_.push_back({.type = p.type, .offset = p.offset});
    if (!p.stays || (p.type->trivial && p.type->size <= widest_copied)) continue;
    to.base = p.base;
    to.stride = p.stride;
    to.numbers = static_cast<std::size_t>(std::find(selects.begin(), selects.end(), p.select) - selects.begin());
    if (to.numbers < selects.size()) continue;
    selects.push_back(p.select);
    numbers_.emplace_back();
  }
}

// False: these rows lie elsewhere, or too far away.
bool stored_keys::append_numbers(std::size_t numbers, key_view keys, std::span<const std::uint32_t> at) {
  std::uint64_t from = 0;
  const std::uint32_t* select = nullptr;
  bool any = false;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const part& to = parts_[p];
    if (to.numbers != numbers) continue;
    const key_part& k = keys[p];
    const std::ptrdiff_t bytes = k.base - to.base;
    if (!k.stays || k.stride != to.stride || bytes < 0 || static_cast<std::size_t>(bytes) % to.stride) return false;
    const std::uint64_t rows = static_cast<std::size_t>(bytes) / to.stride;
    if (any && (rows != from || k.select != select)) return false;
    from = rows;
    select = k.select;
    any = true;
  }
  if (from && from + *std::max_element(at.begin(), at.end()) > std::numeric_limits<std::uint32_t>::max()) return false;
  row_numbers& to = numbers_[numbers];
  if (size_ + at.size() > to.capacity) {
    const std::size_t capacity = std::max<std::size_t>({16, size_ + at.size(), 2 * to.capacity});
    runtime::buffer larger = pool_->allocate_array<std::uint32_t>(capacity);
    if (size_) std::memcpy(larger.data(), to.memory.data(), size_ * sizeof(std::uint32_t));
    to.memory = std::move(larger);
    to.capacity = capacity;
  }
  auto* const out = to.memory.as<std::uint32_t>() + size_;
  for (std::size_t i = 0; i < at.size(); ++i) out[i] = static_cast<std::uint32_t>(from) + at[i];
  return true;
}

void stored_keys::append_values(part& to, const key_part& from, std::span<const std::uint32_t> at) {
  column c = column_of(from);
  c.select = at.data();
  gather_column(c, from.type, at.size(), to.extend(at.size()), from.type->size, false);
  to.values.grow(at.size());
}

// The parts of these rows, whose numbers do not go on.
void stored_keys::copy_values(std::size_t numbers) {
  for (part& p : parts_) {
    if (p.numbers != numbers) continue;
    key_part from{.type = p.values.type(), .base = p.base, .stride = p.stride};
    const auto* const at = numbers_[numbers].memory.as<const std::uint32_t>();
    append_values(p, from, {at, size_});
    p.numbers = none;
  }
  numbers_[numbers] = {};
}

void stored_keys::show() {
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const part& of = parts_[p];
    key_part& v = view_[p];
    v.stays = of.numbers != none;
    v.base = v.stays ? of.base : static_cast<const std::byte*>(of.values.data());
    v.stride = v.stays ? of.stride : v.type->size;
    v.select = v.stays ? numbers_[of.numbers].memory.as<const std::uint32_t>() : nullptr;
  }
}

void stored_keys::clear() {
  size_ = 0;
  if (in_parts_) {
    parts_.clear();
    numbers_.clear();
    view_.clear();
  } else {
    parts_[0].values.clear();
  }
}

}  // namespace query::cpu
