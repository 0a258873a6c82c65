#include "cpu_engine/sorted_columns.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/column_list.hpp"
#include "cpu_engine/sort.hpp"
#include "cpu_engine/sort_rows.hpp"
#include "cpu_engine/stored_order.hpp"
#include "cpu_engine/table_estimate.hpp"

namespace query::cpu {
namespace {

const std::byte* at_of(const column& c) { return static_cast<const std::byte*>(c.base); }

// Values of its source, which stay where they are: row after row.
bool lies_there(const column& c) { return !c.transient && c.stride && c.as_stored() && !c.coded; }

// One part of the rows: numbers of rows of the source, from its first batch on, and values that are no part of the source.
struct sorted_part {
  std::vector<column> first;         // of its first batch; empty: it has no rows
  std::vector<std::uint32_t> rows;   // none where each row of the source is one of the part
  std::vector<rows_buffer> values;   // computed columns, then keys that are not read in the source
  std::size_t n = 0;
  bool irregular = false;            // its columns do not select the same rows
};

// The rows of a pipeline as numbers, and their keys.
class numbered_rows {
 public:
  numbered_rows(const planner::vertex& v, const vertex_tasks& tasks, pipeline& input)
      : tasks_(&tasks), input_(&input), order_(v, input.columns()), all_(input.keeps_rows()) {}

  // False where they are no rows of one source by numbers of 32 bits.
  bool run() {
    parts_.resize(input_->parts().value_or(0));
    input_->run_all([&](const pipeline::part& part) {
      sorted_part& to = parts_[part.index];
      for (const auto& c : order_.columns.columns) to.values.emplace_back(c.type, tasks_->pool());
      for (const sort_key& k : order_.shapes) to.values.emplace_back(k.type, tasks_->pool());
      batch_keys keys(order_, tasks_->pool());
      const auto take = [&](std::span<const column> columns, std::size_t n, bool) { append(to, columns, keys.of(columns, n), n); };
      order_feed(order_, true, tasks_->pool(), take).run(part);
    });
    if (std::any_of(parts_.begin(), parts_.end(), [](const sorted_part& p) { return p.irregular; })) return false;
    std::erase_if(parts_, [](const sorted_part& p) { return !p.n; });
    for (sorted_part& p : parts_) {
      begins_.push_back(n_);
      n_ += p.n;
      for (std::size_t c = 0; c < order_.of_row; ++c)
        if (lies_there(p.first[c]) != lies_there(parts_[0].first[c])) return false;
    }
    if (n_ >= interpreter::missing_row) return false;
    if (n_) take_together();
    return !irregular_;
  }

  std::size_t size() const { return n_; }
  std::span<const sort_key> keys() const { return keys_; }

  // Those that the permutation names, as one piece of a column_list.
  column_list::piece in_order(permutation order) {
    struct memory {
      runtime::buffer rows;                // numbers of rows of the source, in order
      permutation order;                   // of the values
      std::vector<rows_buffer> values;
    };
    const auto held = std::make_shared<memory>();
    column_list::piece piece;
    piece.n = order.size();
    held->order = std::move(order);
    const std::uint32_t* const numbers = held->order.visit([](const auto* ids) { return reinterpret_cast<const std::uint32_t*>(ids); });
    const std::uint32_t* selected = numbers;
    if (!all_) {
      held->rows = tasks_->pool().allocate_array<std::uint32_t>(piece.n);
      auto* const to = held->rows.as<std::uint32_t>();
      const auto* const of_source = rows_.as<std::uint32_t>();
      tasks_->chunks(piece.n, [&](std::size_t first, std::size_t k) {
        for (std::size_t i = first; i < first + k; ++i) to[i] = of_source[numbers[i]];
      });
      selected = to;
    }
    for (std::size_t c = 0; c < order_.of_row; ++c) {
      column to = parts_[0].first[c];
      if (lies_there(to)) {
        to.base = origins_[c];
        to.select = selected;
      } else {
        const ir::type* t = values_[c].type();
        to = {values_[c].data(), t->size, to.offset, t->size, numbers};
      }
      piece.columns.push_back(to);
    }
    held->values = std::move(values_);
    piece.owner = held;
    return piece;
  }

 private:
  // A key that lies in a column of the source, all of whose rows are here, is read there.
  bool key_lies_there(const sorted_part& p, std::size_t k) const {
    const stored_order::key& key = order_.keys[k];
    return all_ && key.column < order_.of_row && lies_there(p.first[key.column]);
  }

  void append(sorted_part& to, std::span<const column> columns, std::span<const sort_key> keys, std::size_t n) const {
    if (to.first.empty()) to.first.assign(columns.begin(), columns.end());
    const column* leader = nullptr;
    std::size_t passed = 0;  // rows of the source since the first batch
    for (std::size_t c = 0; c < order_.of_row; ++c) {
      const column &now = columns[c], &first = to.first[c];
      if (lies_there(now) != lies_there(first)) to.irregular = true;
      if (to.irregular) return;
      if (!lies_there(now)) {
        const ir::type* t = order_.columns.columns[c].type;
        gather_column(now, t, n, to.values[c].extend(n), t->size, false);
        to.values[c].grow(n);
        continue;
      }
      const auto bytes = static_cast<std::size_t>(at_of(now) - at_of(first));
      if (at_of(now) < at_of(first) || bytes % now.stride) to.irregular = true;
      if (!leader) leader = &now, passed = bytes / now.stride;
      if (now.select != leader->select || bytes / now.stride != passed) to.irregular = true;
    }
    if (passed + n > std::numeric_limits<std::uint32_t>::max()) to.irregular = true;
    if (to.irregular) return;
    if (!all_ && leader)
      for (std::size_t i = 0; i < n; ++i)
        to.rows.push_back(static_cast<std::uint32_t>(passed + (leader->select ? leader->select[i] : i)));
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (key_lies_there(to, k)) continue;
      rows_buffer& values = to.values[order_.columns.columns.size() + k];
      gather_column({keys[k].base, keys[k].stride, 0, keys[k].type->size}, keys[k].type, n, values.extend(n), keys[k].type->size, false);
      values.grow(n);
    }
    to.n += n;
  }

  // Side by side: numbers of rows of the source as a whole, values and keys.
  void take_together() {
    std::optional<std::size_t> leader;
    for (std::size_t c = 0; c < order_.of_row; ++c) {
      const std::byte* origin = at_of(parts_[0].first[c]);
      for (const sorted_part& p : parts_) origin = std::min(origin, at_of(p.first[c]));
      origins_.push_back(origin);
      if (!leader && lies_there(parts_[0].first[c])) leader = c;
    }
    std::vector<std::size_t> before;  // rows of the source in front of a part
    for (const sorted_part& p : parts_) {
      before.push_back(leader ? static_cast<std::size_t>(at_of(p.first[*leader]) - origins_[*leader]) / p.first[*leader].stride : 0);
      for (std::size_t c = 0; c < order_.of_row; ++c) {
        if (!lies_there(p.first[c])) continue;
        const auto bytes = static_cast<std::size_t>(at_of(p.first[c]) - origins_[c]);
        if (bytes % p.first[c].stride || bytes / p.first[c].stride != before.back()) irregular_ = true;
      }
      // Where all rows are here, a row's number is its place.
      if (all_ && leader && before.back() != begins_[before.size() - 1]) irregular_ = true;
      if (before.back() + (p.rows.empty() ? p.n : p.rows.back() + 1) >= interpreter::missing_row) irregular_ = true;
    }
    if (irregular_) return;
    if (!all_ && leader) rows_ = tasks_->pool().allocate_array<std::uint32_t>(n_);
    else all_ = true;
    for (std::size_t i = 0; i < parts_[0].values.size(); ++i) {
      values_.emplace_back(parts_[0].values[i].type(), tasks_->pool());
      if (parts_[0].values[i].size()) values_.back().reserve(n_);
    }
    tasks_->for_each(parts_.size(), [&](std::size_t i) {
      sorted_part& p = parts_[i];
      auto* const to = rows_ ? rows_.as<std::uint32_t>() + begins_[i] : nullptr;
      for (std::size_t r = 0; to && r < p.n; ++r) to[r] = static_cast<std::uint32_t>(before[i] + p.rows[r]);
      p.rows = {};
    });
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (parts_[0].values[i].size()) take_values(i);
    keys_ = order_.shapes;
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      const stored_order::key& key = order_.keys[k];
      if (key_lies_there(parts_[0], k)) {
        keys_[k].base = origins_[key.column] + key.within;
        keys_[k].stride = parts_[0].first[key.column].stride;
      } else {
        keys_[k].base = values_[order_.columns.columns.size() + k].data();
        keys_[k].stride = keys_[k].type->size;
      }
    }
  }

  void take_values(std::size_t i) {
    rows_buffer& all = values_[i];
    const ir::type* t = all.type();
    if (!t->trivial && !t->life.move) {  // copies may throw
      for (sorted_part& p : parts_) all.take_rows(p.values[i].data(), p.n);
    } else {
      auto* const at = static_cast<std::byte*>(all.extend(n_));
      tasks_->for_each(parts_.size(), [&](std::size_t part) {
        move_rows(t, at + begins_[part] * t->size, parts_[part].values[i].data(), parts_[part].n);
      });
      all.grow(n_);
    }
    for (sorted_part& p : parts_) p.values[i] = rows_buffer(t, tasks_->pool());
  }

  const vertex_tasks* tasks_;
  pipeline* input_;
  stored_order order_;
  bool all_;  // rows of the source
  bool irregular_ = false;
  std::vector<sorted_part> parts_;
  std::vector<std::size_t> begins_;
  std::size_t n_ = 0;
  std::vector<const std::byte*> origins_;
  runtime::buffer rows_;
  std::vector<rows_buffer> values_;
  std::vector<sort_key> keys_;
};

// Numbers, keys, and the words that are sorted; and records of the result, as its reader may want them side by side.
double bytes_of_sort(const planner::vertex& v, const pipeline& input) {
  std::size_t a_row = 2 * sizeof(std::uint32_t) + 2 * (sizeof(wide_word) + sizeof(std::uint64_t)) + v.node->row->size;
  for (const detail::user_function& f : v.node->functions) a_row += 2 * f.result->size;
  for (const auto& c : input.columns()->columns) a_row += c.type->size;  // as if all were computed
  return static_cast<double>(a_row) * static_cast<double>(*input.source_rows());
}

}  // namespace

std::optional<runtime::vertex_rows> order_columns(const planner::vertex& v, const vertex_tasks& tasks) {
  runtime::run_context& context = tasks.context();
  pipeline input(v.inputs[0], v.captures, context, true);
  if (!input.columns() || !input.source_rows() || input.made_as_read()) return std::nullopt;
  // Few of many rows that are tested on the way: nobody keeps the others' numbers.
  if (v.limit <= few_rows && !input.keeps_rows()) return std::nullopt;
  if (context.pool.limit() && !fits_in(bytes_of_sort(v, input), memory_left(context.pool))) return std::nullopt;
  const auto sorted = [&]() -> std::optional<runtime::vertex_rows> {
    numbered_rows rows(v, tasks, input);
    if (!rows.run()) return std::nullopt;
    std::vector<column_list::piece> pieces;
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(v.limit, rows.size()));
    if (wanted) {
      permutation order = wanted < rows.size() ? top_k(rows.keys(), rows.size(), wanted, tasks.scheduler(), tasks.pool(), tasks.cancel())
                                               : sort_rows(rows.keys(), rows.size(), tasks.scheduler(), tasks.pool(), tasks.cancel());
      pieces.push_back(rows.in_order(std::move(order)));
    }
    return runtime::vertex_rows(
        std::make_shared<column_list>(v.node->row, v.gives_columns->schema(), std::move(pieces), input.sources()));
  };
  if (!context.pool.limit()) return sorted();
  try {
    return sorted();
  } catch (const resource_error&) {  // others have taken the room that there was
    return std::nullopt;
  }
}

}  // namespace query::cpu
