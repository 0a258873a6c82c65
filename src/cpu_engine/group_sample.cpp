#include "cpu_engine/group_sample.hpp"

#include <algorithm>
#include <cmath>

#include <query/errors.hpp>

#include "cpu_engine/key_column.hpp"
#include "ir/owning_states.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t places = 8, rows_a_place = 1 << 11, rows_looked_at = places * rows_a_place;  // of the source
static_assert(group_sample::least_rows == part_rows * places);

bool traces(const planner::stage& s) {
  const auto all = [](const detail::logical& n) {
    return std::ranges::all_of(n.functions, [](const detail::user_function& f) { return static_cast<bool>(f.trace()); });
  };
  if (s.what == planner::stage::kind::probe) return all(*s.join);
  return std::ranges::all_of(s.nodes, [&](const detail::logical* n) { return all(*n); });
}

}  // namespace

// n rows see d * (1 - exp(-n / d)) of d groups.
double groups_of_all(double seen, double rows) {
  if (seen < 0.5 * rows) return seen;
  double low = seen, high = 1e12;
  for (int i = 0; i < 60; ++i) {
    const double d = std::sqrt(low * high);
    (-d * std::expm1(-rows / d) < seen ? low : high) = d;
  }
  return low;
}

group_sample::group_sample(const detail::logical& n, const function_calls& key, const column_key* columns, runtime::buffer_pool& pool)
    : node_(&n),
      key_(&key),
      key_at_(columns ? std::nullopt : part_of_row(n.functions[0])),
      keys_(n.key, pool),
      groups_(n.key, pool, equality_of(n.keys), columns ? grouper::keep::parts : grouper::keep::whole),
      integers_(ir::is_integer(n.key->k) && !n.has_own_equality()) {
  if (columns) key_columns_.emplace(*columns, pool);
}

bool group_sample::look(pipeline& p) {
  all_ = static_cast<std::size_t>(*p.source_rows());
  const auto run = [&](std::size_t first, std::size_t n) {
    p.run_rows(first, n, [&](const pipeline::part& part) {
      if (key_columns_) part.run_columns(*this);
      else part.run(*this);
    });
  };
  try {
    for (std::size_t i = 0; i < places; ++i) {
      // Somewhere in each eighth: at equal distances, rows with a period would all look alike.
      const std::size_t within = static_cast<std::size_t>(detail::hash_word(i)) % (all_ / places - rows_a_place);
      run(all_ / places * i + within, rows_a_place);
    }
    if (!integers_) return true;
    at_an_end_ = true;  // where rows are in the order of their keys, these have the lowest and the highest
    run(0, batch_rows);
    run(all_ - batch_rows, batch_rows);
  } catch (const cancelled&) {
    throw;
  } catch (const resource_error&) {
    throw;
  } catch (...) {  // of a row that may not be the first to fail
    p.context().cancel.check();
    return false;
  }
  return true;
}

double group_sample::groups() const { return groups_of_all(static_cast<double>(groups_.size()), static_cast<double>(rows_)); }

double group_sample::rows() const { return static_cast<double>(all_) * static_cast<double>(rows_) / static_cast<double>(rows_looked_at); }

double group_sample::largest() const {
  return counts_.empty() ? 0 : static_cast<double>(*std::max_element(counts_.begin(), counts_.end())) / static_cast<double>(rows_);
}

std::optional<key_range> group_sample::range(std::size_t state_bytes) const {
  // Lanes have states for all of the range, which are made and merged: there are 16 lanes at least.
  constexpr std::size_t most_bytes = std::size_t{32} << 20;
  // Fewer groups are merged at once.
  constexpr double least_groups = 1 << 10;
  // So many rows a group in the sample: the groups are few, and a table of them fits in the cache where the range's states do not.
  constexpr std::size_t few_rows_a_group = 8;
  constexpr double most_keys_a_group = 4;
  if (!bounds_.any() || groups() < least_groups || static_cast<double>(bounds_.width()) > rows()) return std::nullopt;
  const std::uint64_t margin = bounds_.width() / 64 + 64;  // the sample misses some keys at both ends
  const key_range all{bounds_.low() - margin, bounds_.width() + 1 + 2 * margin};
  if (static_cast<double>(all.size * least_rows_a_key) > rows() || all.size * state_bytes > most_bytes) return std::nullopt;
  const bool few = groups_.size() * few_rows_a_group < rows_;
  if (few && static_cast<double>(all.size) > most_keys_a_group * groups()) return std::nullopt;
  return all;
}

void group_sample::take(key_view keys, std::size_t n) {
  if (n == 0) return;
  if (integers_ && keys.size() == 1) bounds_.add(keys.front(), n);
  if (at_an_end_) return;
  groups_.find_or_insert(keys, 0, n, ids_);
  counts_.resize(groups_.size());
  for (std::size_t i = 0; i < n; ++i) ++counts_[ids_[i]];
  rows_ += n;
}

void group_sample::push(const column_batch& b) { take(key_columns_->run(b), b.n); }

void group_sample::push(const detail::row_block& b) {
  const std::size_t size = node_->functions[0].row->size;
  for (std::size_t from = 0; from < b.n; from += batch_rows) {
    const std::size_t n = std::min(batch_rows, b.n - from);
    const auto* const rows = static_cast<const std::byte*>(b.rows) + from * size;
    key_part keys = side_by_side(*node_->key, nullptr);
    if (key_at_) {
      keys.base = rows + *key_at_;
      keys.stride = size;
    } else {
      keys_.clear();
      key_->map(rows, nullptr, n, keys_.extend(n), scratch_);
      keys_.grow(n);
      keys.base = static_cast<const std::byte*>(keys_.data());
    }
    take({&keys, 1}, n);
  }
}

bool may_have_perfect_hash(const planner::vertex& v, const runtime::run_context& context) {
  const detail::logical& n = *v.node;
  if (!ir::is_integer(n.key->k) || n.has_own_equality() || v.ordered || planner::sends_states(v) || context.shared) return false;
  if (!v.group_function && !n.aggregate.record) return false;
  // Lanes are never written to files, so their size has to be known.
  if (v.group_function ? ir::keeps_owned_memory(*v.group_function, *n.functions[0].row) : n.aggregate.state_owns) return false;
  const auto grows = [](const ir::aggregate_call& c) { return !ir::fixed_state(c.what); };
  if (v.group_function && std::ranges::any_of(v.group_function->calls, grows)) return false;
  return true;
}

bool may_be_seen_twice(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  return v.node->functions.front().trace() && std::ranges::all_of(b.stages, traces) &&
         std::ranges::all_of(b.prefilters, [](const auto& f) { return f.expression || f.function->trace(); });
}

}  // namespace query::cpu
