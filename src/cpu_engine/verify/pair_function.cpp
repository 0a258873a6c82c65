#include "cpu_engine/verify/pair_function.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <query/detail/asof_options.hpp>
#include <query/detail/stop.hpp>

#include "cpu_engine/asof_table.hpp"
#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/grouper.hpp"
#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/pair_calls.hpp"
#include "cpu_engine/row_lists.hpp"
#include "cpu_engine/verify/difference.hpp"
#include "cpu_engine/verify/row_function.hpp"
#include "cpu_engine/verify/sampled_rows.hpp"
#include "ir/analysis.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu::verify {

using detail::join_kind;
using detail::logical;

namespace {

rows_buffer map_by(const detail::user_function& f, const logical& n, const join_side& left, const join_side& right, const pairs& of,
                   runtime::buffer_pool& pool) {
  const std::size_t count = of.left.size();
  rows_buffer out(f.result, pool), results(f.result, pool);
  // The expression first: what it throws for, native code may not survive.
  const pair_calls traced(f, left.type, right.type, true, pool);
  if (traced.is_interpreted()) {
    pair_calls::scratch scratch;
    traced.map(of.left.data(), of.right.data(), count, results.extend(count), scratch);
    results.grow(count);
  }
  f.native.map_pairs(f.f.get(), of.left.data(), of.right.data(), count, out.extend(count));
  out.grow(count);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!same(f.result, out.at(i), results.at(i)))
      differ(n, f,
             shown_row("left ", i, left.type, left.read, of.left[i]) + ", " + shown_row("right ", i, right.type, right.read, of.right[i]),
             f.result, out.at(i), results.at(i), f.trace().root);
  return out;
}

}  // namespace

rows_buffer map_pairs(const logical& n, const join_side& left, const join_side& right, const pairs& of, runtime::buffer_pool& pool) {
  return map_by(n.functions.back(), n, left, right, of, pool);
}

pairs chosen(const logical& n, const join_side& left, const join_side& right, const pairs& of, runtime::buffer_pool& pool) {
  const rows_buffer holds = map_by(n.functions.front(), n, left, right, of, pool);
  pairs some;
  for (std::size_t i = 0; i < holds.size(); ++i)
    if (*static_cast<const bool*>(holds.at(i))) some.add(of.left[i], of.right[i]);
  return some;
}

namespace {

// The keys of a sample of a side's rows, which are the same in both forms.
rows_buffer keys_of_sample(const logical& join, std::size_t side, const join_side& rows, runtime::buffer_pool& pool) {
  rows_buffer sample(rows.type, pool);
  for_each_run(rows.n, 0, [&](std::size_t first, std::size_t n) { sample.append_rows(row_at(rows.rows, rows.type, first), n); });
  return row_function(join, join.functions[side], rows.read, pool).map(sample, side == 0 ? "left " : "right ");
}

// The keys of a side; in both forms for a sample of its rows.
rows_buffer keys_of(const logical& join, std::size_t side, const join_side& rows, runtime::buffer_pool& pool) {
  const detail::user_function& f = join.functions[side];
  rows_buffer keys = keys_of_sample(join, side, rows, pool);
  if (keys.size() == rows.n) return keys;
  rows_buffer all(join.key, pool);
  interpreter::scratch scratch;
  function_calls(f, planner::may_trap(f.trace()), false).map(rows.rows, nullptr, rows.n, all.extend(rows.n), scratch);
  all.grow(rows.n);
  return all;
}

// Of an asof_join: a sample of the left rows, each with its match. A right row that is not there may be nearer than all that are.
pairs nearest(const logical& join, const join_side& left, const join_side& right, runtime::buffer_pool& pool) {
  const rows_buffer left_keys = keys_of_sample(join, 0, left, pool), right_keys = keys_of(join, 1, right, pool);
  pairs made;
  if (!right.all) return made;
  runtime::serial_scheduler alone;
  runtime::cancel_flag cancel([stop = detail::stop_point()] { return stop.check(), false; }, std::nullopt);
  runtime::run_context context{alone, pool, cancel};
  const asof_table table(*detail::asof_of(join), join.key, right_keys.data(), join.key->size, right.n,
                         vertex_tasks(context, std::vector<detail::binding>()));
  static_assert(sample_rows <= asof_table::most);
  std::uint64_t matches[sample_rows];
  std::make_unique<asof_table::finder>(table)->find(left_keys.data(), left_keys.size(), matches);
  for_each_run(left.n, 0, [&, next = static_cast<const std::uint64_t*>(matches)](std::size_t first, std::size_t n) mutable {
    for (std::size_t i = first; i < first + n; ++i, ++next)
      made.add(row_at(left.rows, left.type, i), *next == join_table::no_row ? nullptr : row_at(right.rows, right.type, *next));
  });
  return made;
}

bool is_null(const ir::type* t, const void* key) { return t->k == ir::kind::optional && !t->get.value(key); }

}  // namespace

pairs joined(const logical& join, const join_side& left, const join_side& right, runtime::buffer_pool& pool) {
  if (detail::asof_of(join)) return nearest(join, left, right, pool);
  const rows_buffer left_keys = keys_of(join, 0, left, pool), right_keys = keys_of(join, 1, right, pool);
  key_equality equality;
  if (join.keys.equal) {
    equality.context = join.keys.context.get();
    equality.equal = join.keys.equal;
    equality.hash = join.keys.hash;
  }
  grouper groups(join.key, pool, equality);
  std::vector<std::uint32_t> left_ids(left.n), right_ids(right.n);
  groups.find_or_insert(left_keys.data(), left.n, left_ids.data());
  groups.find(right_keys.data(), right.n, right_ids.data());
  std::vector<std::vector<std::size_t>> matches(groups.size());
  for (std::size_t i = 0; i < right.n; ++i)
    if (right_ids[i] != grouper::absent && !is_null(join.key, right_keys.at(i))) matches[right_ids[i]].push_back(i);

  pairs made;
  const bool semi = join.join == join_kind::semi, anti = join.join == join_kind::anti;
  const bool keeps_left = join.join == join_kind::left || join.join == join_kind::full;
  const bool keeps_right = join.join == join_kind::right || join.join == join_kind::full;
  std::vector<char> met(right.n, false);
  for (std::size_t i = 0; i < left.n; ++i) {
    const void* l = row_at(left.rows, left.type, i);
    const bool null = is_null(join.key, left_keys.at(i));
    const bool any = !null && !matches[left_ids[i]].empty();
    if (any)
      for (const std::size_t m : matches[left_ids[i]]) met[m] = true;
    if (made.left.size() >= sample_rows) continue;
    if (semi || anti) {
      if (any ? semi : anti && right.all) made.add(l, nullptr);
    } else if (any) {
      for (const std::size_t m : matches[left_ids[i]])
        if (made.left.size() < sample_rows) made.add(l, row_at(right.rows, right.type, m));
    } else if (keeps_left && right.all) {
      made.add(l, nullptr);
    }
  }
  if (keeps_right && left.all)
    for (std::size_t i = 0, more = 0; i < right.n && more < sample_rows; ++i)
      if (!met[i]) {
        made.add(nullptr, row_at(right.rows, right.type, i));
        ++more;
      }
  return made;
}

void check_matches_function(const logical& n, const join_side& left, const pairs& matched, runtime::buffer_pool& pool) {
  const auto* list = static_cast<const ir::type*>(n.source.get());
  if (!ir::can_be_filled(list)) return;  // the query will say so
  const std::size_t count = matched.left.size();
  row_lists lists(list, count, pool);
  pairs of;
  for (std::size_t i = 0, next = 0; i < count; i = next) {
    while (next < count && matched.left[next] == matched.left[i]) ++next;
    const std::size_t matches = matched.right[i] ? next - i : 0;  // a left row without a match comes once, and its list is empty
    lists.start(of.left.size(), matches);
    for (std::size_t m = i; m < i + matches; ++m) lists.add(of.left.size(), matched.right[m]);
    of.add(matched.left[i], lists.list(of.left.size()));
  }
  map_pairs(n, left, {.type = list}, of, pool);
}

}  // namespace query::cpu::verify
