#include "cpu_engine/stored_group_rows.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cpu_engine/key_column.hpp"
#include "cpu_engine/key_hash.hpp"

namespace query::cpu {

stored_group_rows::stored_group_rows(const planner::vertex& v, const pipeline& rows, unsigned bits, std::size_t parts,
                                     bool numbered, const function_calls& key, const column_key* columns)
    : node_(v.node),
      pool_(&rows.context().pool),
      bits_(bits),
      key_(&key),
      columns_(columns),
      resident_(rows.in_place()),
      key_at_(columns ? std::nullopt : part_of_row(v.node->functions[0])),
      hash_(*v.node->key, equality_of(v.node->keys)),
      marks_(!columns || !hash_.helps_tables() ? marks::none : hash_.has_words() ? marks::words : marks::hashes),
      store_(columns ? read_columns(v, *rows.columns()) : records(rows.row()), bits, parts, numbered, rows.context()) {}

planner::column_schema stored_group_rows::records(const ir::type* row) const {
  if (key_at_) return {{{0, row}}};
  return {{{0, row}, {0, node_->key}}};
}
// Those that the key and the aggregates read, all of a compiled function's, and after them what is kept of the keys.
planner::column_schema stored_group_rows::read_columns(const planner::vertex& v, planner::column_schema rows) const {
  std::vector<bool> read(rows.columns.size(), !v.group_function);
  if (v.group_function) {
    const auto key = planner::project(v.node->functions[0], rows);
    planner::mark_read(key->function.expression.root, rows, read);
    for (const ir::aggregate_call& c : v.group_function->calls)
      if (c.argument) planner::mark_read(c.argument, rows, read);
  }
  for (std::size_t c = 0; c < read.size(); ++c)
    if (!read[c]) rows.columns[c].type = nullptr;
  if (marks_ == marks::hashes) rows.columns.push_back({0, ir::describe<std::uint64_t>()});
  if (marks_ == marks::words) rows.columns.push_back({0, ir::describe<std::array<std::uint64_t, 2>>()});
  return rows;
}

// ---------------------------------------------------------------- writers
stored_group_rows::writer::writer(stored_group_rows& to, std::size_t part)
    : of_(&to), writer_(to.store_, part), keys_(to.node_->key, *to.pool_) {
  if (to.columns_) column_keys_.emplace(*to.columns_, *to.pool_);
}

void stored_group_rows::writer::append(key_view keys, std::span<const column> columns, std::size_t n, bool owned) {
  const bool words = of_->marks_ == marks::words;
  of_->hash_(keys, 0, n, hashes_, words ? words_ : nullptr);
  for (std::size_t i = 0; i < n; ++i) partitions_[i] = static_cast<std::uint16_t>(hashes_[i] >> (64 - of_->bits_));
  if (of_->marks_ != marks::none) {
    const std::size_t size = words ? sizeof *words_ : sizeof *hashes_;
    with_marks_.assign(columns.begin(), columns.end());
    with_marks_.push_back({words ? static_cast<const void*>(words_) : hashes_, size, 0, size, nullptr, true});
    columns = with_marks_;
  }
  writer_.append(columns, n, partitions_, owned);
}

void stored_group_rows::writer::push(const column_batch& b) { append(column_keys_->run(b), b.columns, b.n, false); }

void stored_group_rows::writer::push(const detail::row_block& b) {
  const std::size_t size = of_->node_->functions[0].row->size, key_size = of_->node_->key->size;
  for (std::size_t from = 0; from < b.n; from += batch_rows) {
    const std::size_t n = std::min(batch_rows, b.n - from);
    const auto* const rows = static_cast<const std::byte*>(b.rows) + from * size;
    column columns[2] = {{rows, size, 0, size, nullptr, !of_->resident_}, {}};
    if (of_->key_at_) {
      const key_part key{of_->node_->key, 0, rows + *of_->key_at_, size};
      append({&key, 1}, {columns, 1}, n, b.owned);
      continue;
    }
    keys_.clear();
    of_->key_->map(rows, nullptr, n, keys_.extend(n), scratch_);
    keys_.grow(n);
    const key_part key = side_by_side(*of_->node_->key, keys_.data());
    columns[1] = {keys_.data(), key_size, 0, key_size, nullptr, true};
    append({&key, 1}, columns, n, b.owned);
  }
}

// ---------------------------------------------------------------- readers
key_part stored_group_rows::key_in_records(const column_batch& b) const {
  key_part keys = side_by_side(*node_->key, nullptr);
  const column& from = key_at_ ? b.columns[0] : b.columns[1];
  keys.base = static_cast<const std::byte*>(from.base) + key_at_.value_or(0);
  keys.stride = from.stride;
  keys.select = from.select;
  return keys;
}

column_batch stored_group_rows::without_marks(const column_batch& b) const {
  return marks_ != marks::none ? column_batch{b.columns.first(b.columns.size() - 1), b.n} : b;
}

void stored_group_rows::prepare(grouper& groups) const {
  groups.expect_sparse();
  if (marks_ == marks::words) groups.expect_words();
}

void stored_group_rows::update(const column_batch& b, group_table& to) const {
  if (!columns_) return to.update_keyed(b.columns[0].base, b.columns[0].select, key_in_records(b), b.n);
  if (marks_ == marks::none) return to.update(b);
  const column& marks = b.columns.back();
  const void* const all = marks.select ? nullptr : marks.base;  // null: these are some of the rows
  key_marks known;
  if (marks_ == marks::words) known.words = static_cast<const wide_word*>(all);
  else known.hashes = static_cast<const std::uint64_t*>(all);
  to.update(without_marks(b), known);
}

std::uint64_t stored_group_rows::rows() const {
  std::uint64_t n = 0;
  for (std::size_t p = 0; p < store_.partitions(); ++p) n += rows_of(p);
  return n;
}

std::size_t stored_group_rows::count_new_groups(const group_table* known, std::size_t enough) {
  std::optional<column_key::runner> column_keys;
  if (columns_) column_keys.emplace(*columns_, *pool_);
  std::size_t found = 0;
  std::uint32_t ids[column_batch_rows], known_ids[column_batch_rows];
  const detail::stop_point stop;
  for (std::size_t p = 0; p < store_.partitions() && found < enough; ++p) {
    grouper groups(node_->key, *pool_, equality_of(node_->keys), columns_ ? grouper::keep::parts : grouper::keep::whole);
    prepare(groups);
    store_.read(p, [&](const stored_rows& r) {
      stop.check();
      if (found >= enough) return;
      const column_batch b = without_marks(r.rows);
      const key_part key = columns_ ? key_part{} : key_in_records(b);
      const key_view keys = columns_ ? column_keys->run(b) : key_view(&key, 1);
      std::size_t before = groups.size();
      groups.find_or_insert(keys, 0, b.n, ids);
      if (known) known->groups.find(keys, 0, b.n, known_ids);
      for (std::size_t i = 0; i < b.n; ++i) {
        if (ids[i] != before) continue;
        ++before;
        found += !known || known_ids[i] == grouper::absent;
      }
    });
  }
  return std::min(found, enough);
}

stored_group_rows::hasher::hasher(const stored_group_rows& of) : of_(&of) {
  if (of.columns_) column_keys_.emplace(*of.columns_, *of.pool_);
}

void stored_group_rows::hasher::operator()(const column_batch& b, std::uint64_t* to) {
  if (of_->marks_ == marks::hashes) {
    for (std::size_t i = 0; i < b.n; ++i) to[i] = *reinterpret_cast<const std::uint64_t*>(value_at(b.columns.back(), i));
  } else if (of_->marks_ == marks::words) {
    for (std::size_t i = 0; i < b.n; ++i) to[i] = group_hash::of_word(*reinterpret_cast<const wide_word*>(value_at(b.columns.back(), i)));
  } else if (column_keys_) {
    of_->hash_(column_keys_->run(b), 0, b.n, to);
  } else {
    const key_part keys = of_->key_in_records(b);
    of_->hash_({&keys, 1}, 0, b.n, to);
  }
}

}  // namespace query::cpu
