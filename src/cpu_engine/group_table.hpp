// One table of groups: keys to numbers, a state a group; fed with rows, merged with other tables, finished into rows.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <query/cpu/segment_form.hpp>
#include <query/detail/stop.hpp>

#include "cpu_engine/column_key.hpp"
#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/group_hash.hpp"
#include "cpu_engine/group_states.hpp"
#include "cpu_engine/grouper.hpp"
#include "cpu_engine/key_column.hpp"
#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/rows_buffer.hpp"

namespace query::cpu {

// Each function of the user's runs once for a row.
class group_table {
  // Rows with known keys in a row that make a new key an exception.
  static constexpr std::size_t long_run = 64;

 public:
  // columns: the key of rows as columns, where they come so.
  group_table(const detail::logical& n, const group_program& program, const function_calls& key, runtime::buffer_pool& pool,
              const column_key* columns = nullptr)
      : node_(&n),
        key_(&key),
        groups(n.key, pool, equality_of(n.keys), program.gives_columns() ? grouper::keep::parts : grouper::keep::whole),
        states_(program.states(pool)),
        keys_(n.key, pool) {
    if (columns) key_columns_.emplace(*columns, pool);
  }

  void update(const column_batch& rows, key_marks marks = {}) {
    groups.find_or_insert(key_columns_->run(rows), 0, rows.n, ids_, marks);
    states_->grow_to(groups.size());
    states_->update(ids_, rows);
    rows_seen += rows.n;
  }

  void update(const void* rows, std::size_t n) {
    for (std::size_t from = 0; from < n;) {
      std::size_t most = batch_rows;
      bool first_known = false;  // the first row's key was computed by the loop that did not know it
      if (fuses()) {
        const std::size_t run = update_known(static_cast<const std::byte*>(rows) + from * node_->functions[0].row->size, n - from);
        rows_seen += run;
        from += run;
        first_known = from < n;
        if (run >= long_run) most = long_run;  // the next row's key is new; those after it are likely not
      }
      const std::size_t k = std::min(most, n - from);
      if (!k) return;
      const void* base = static_cast<const std::byte*>(rows) + from * node_->functions[0].row->size;
      keys_.clear();
      auto* keys = static_cast<std::byte*>(keys_.extend(k));
      if (first_known) {
        const std::size_t size = node_->key->size;
        std::memcpy(keys, missed_, size);
        if (k > 1) key_->map(static_cast<const std::byte*>(base) + node_->functions[0].row->size, nullptr, k - 1, keys + size, scratch_);
      } else {
        key_->map(base, nullptr, k, keys, scratch_);
      }
      keys_.grow(k);
      groups.find_or_insert(keys_.data(), k, ids_);
      states_->grow_to(groups.size());
      states_->update(ids_, base, nullptr, k);
      rows_seen += k;
      from += k;
    }
  }
  // At most batch_rows rows whose keys are known: row i is number select[i], or i.
  void update_keyed(const void* rows, const std::uint32_t* select, const key_part& keys, std::size_t n) {
    groups.find_or_insert(key_view(&keys, 1), 0, n, ids_);
    states_->grow_to(groups.size());
    states_->update(ids_, rows, select, n);
    rows_seen += n;
  }
  // Appends number(i) for each of the last n rows or groups that opened a group. Groups are numbered as they appear.
  template <class Number> void note_opened(std::size_t n, std::vector<std::uint64_t>& opened, const Number& number) const {
    for (std::size_t i = 0; i < n; ++i)
      if (ids_[i] == opened.size()) opened.push_back(number(i));
  }
  // Takes over another table's groups; the other one is empty afterwards. opened, if not null, gets firsts[g] for each group g that is new.
  void merge(group_table& o, std::vector<std::uint64_t>* opened = nullptr, const std::uint64_t* firsts = nullptr) {
    const detail::stop_point stop;
    for (std::size_t from = 0; from < o.groups.size(); from += batch_rows) {
      stop.check();
      const std::size_t k = std::min(batch_rows, o.groups.size() - from);
      groups.find_or_insert(o.groups.stored(), from, k, ids_, o.groups.marks().from(from));
      states_->grow_to(groups.size());
      states_->merge(ids_, *o.states_, {from, k});
      if (opened) note_opened(k, *opened, [&](std::size_t i) { return firsts[from + i]; });
    }
    o.states_->clear();
  }
  // Takes over those groups of another table, which other threads may ask for other groups meanwhile. opened, if not null, gets number(g)
  // for each group g of the other table that is new.
  template <class Number>
  void merge(group_table& o, const std::uint32_t* chosen, std::size_t n, std::vector<std::uint64_t>* opened, const Number& number) {
    const detail::stop_point stop;
    for (std::size_t from = 0; from < n; from += batch_rows) {
      stop.check();
      const std::size_t k = std::min(batch_rows, n - from);
      key_marks marks = o.groups.marks();
      wide_word words[batch_rows];
      if (marks.words) {
        for (std::size_t i = 0; i < k; ++i) words[i] = marks.words[chosen[from + i]];
        marks.words = words;
      }
      groups.find_or_insert(chosen_keys(o.groups.stored(), chosen + from, k), 0, k, ids_, marks);
      states_->grow_to(groups.size());
      states_->merge(ids_, *o.states_, {0, k, chosen + from});
      if (opened) note_opened(k, *opened, [&](std::size_t i) { return number(chosen[from + i]); });
    }
  }
  // At most batch_rows groups of these keys, whose states are those from number `first` on.
  void merge_states(const void* keys, group_states& from, std::size_t first, std::size_t n) {
    groups.find_or_insert(keys, n, ids_);
    states_->grow_to(groups.size());
    states_->merge(ids_, from, {first, n});
  }
  // Groups without rows for different keys, side by side. The table is empty before, and takes no rows afterwards.
  void open(const void* keys, std::size_t n) {
    groups.store(keys, n);
    states_->grow_to(n);
  }
  // States of these numbers join the groups numbers[i].
  void merge_numbered(const std::uint32_t* numbers, group_states& from, const state_numbers& of) { states_->merge(numbers, from, of); }
  // The table can then only be destroyed.
  std::unique_ptr<group_states> take_states() { return std::move(states_); }
  // Hashes of the keys of at most batch_rows groups of another table.
  void hash(const group_table& o, const std::uint32_t* chosen, std::size_t n, const group_hash& of, std::uint64_t* to) {
    of(chosen_keys(o.groups.stored(), chosen, n), 0, n, to);
  }
  // Records of the groups.
  void finish(rows_buffer& out) {
    const std::size_t n = groups.size();
    out.reserve(n);
    // They count once they are there: where states own much, as lists do, they are few at once.
    constexpr std::size_t most_bytes = std::size_t{1} << 20;
    const std::size_t a_group = states_->heap_bytes() / std::max<std::size_t>(n, 1) + 1;
    const std::size_t most = std::clamp<std::size_t>(most_bytes / a_group, 1, detail::calls_a_look);
    const detail::stop_point stop;
    for (std::size_t from = 0, k = 0; from < n; from += k) {
      k = std::min(most, n - from);
      states_->finish(static_cast<const std::byte*>(groups.keys()) + from * node_->key->size, from, k, out.extend(k));
      out.grow(k);
      stop.check();
    }
  }

  std::size_t heap_bytes() const { return states_->heap_bytes(); }  // of states

  // Values of an aggregate of the program, in raw memory.
  void result(std::size_t aggregate, std::size_t first, std::size_t n, void* out) { states_->result(aggregate, first, n, out); }

 private:
  // At most batch_rows of them.
  key_view chosen_keys(key_view from, const std::uint32_t* chosen, std::size_t n) {
    chosen_.assign(from.begin(), from.end());
    composed_.clear();
    composed_.reserve(from.size() * n);  // what has been composed does not move
    const std::uint32_t* before = nullptr;
    for (std::size_t p = 0; p < from.size(); ++p) {
      if (!from[p].select) {
        chosen_[p].select = chosen;
        continue;
      }
      if (from[p].select != before) {
        before = from[p].select;
        for (std::size_t i = 0; i < n; ++i) composed_.push_back(before[chosen[i]]);
      }
      chosen_[p].select = composed_.data() + composed_.size() - n;
    }
    return chosen_;
  }
  // Updates groups that are there already, up to the first row of another one; returns how many rows that were.
  bool fuses() const { return states_->knows_keys() && !key_->is_interpreted() && groups.known(); }
  std::size_t update_known(const void* rows, std::size_t n) {
    return states_->update_known(node_->functions[0].f.get(), groups.known(), rows, n, missed_);
  }

  const detail::logical* node_;
  const function_calls* key_;

 public:
  grouper groups;
  std::size_t rows_seen = 0;

 private:
  std::unique_ptr<group_states> states_;
  std::optional<column_key::runner> key_columns_;
  rows_buffer keys_;
  interpreter::scratch scratch_;
  std::vector<key_part> chosen_;
  std::vector<std::uint32_t> composed_;
  std::uint32_t ids_[batch_rows];
  alignas(8) std::byte missed_[8];  // an integer key
};

}  // namespace query::cpu
