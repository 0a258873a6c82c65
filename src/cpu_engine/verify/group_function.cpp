#include "cpu_engine/verify/group_function.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "cpu_engine/group_states.hpp"
#include "cpu_engine/grouper.hpp"
#include "cpu_engine/verify/difference.hpp"
#include "data/format_value.hpp"
#include "ir/device_function.hpp"

namespace query::cpu::verify {

using detail::logical;

namespace {

// The groups of the sample, by number.
struct groups_of_rows {
  std::vector<std::uint32_t> of;  // of each row
  std::vector<std::vector<std::uint32_t>> rows;
  rows_buffer keys;
};

groups_of_rows group(const logical& n, const rows_buffer& rows, runtime::buffer_pool& pool) {
  groups_of_rows g{std::vector<std::uint32_t>(rows.size()), {}, rows_buffer(n.key ? n.key : ir::describe<std::int64_t>(), pool)};
  if (n.what == detail::verb::aggregate) {
    const std::int64_t no_key = 0;
    g.keys.append_rows(&no_key, 1);
  } else {
    const detail::user_function& f = n.functions.front();
    rows_buffer keys(n.key, pool);
    f.native.map(f.f.get(), rows.data(), nullptr, rows.size(), keys.extend(rows.size()));
    keys.grow(rows.size());
    key_equality equality;
    if (n.keys.equal) {
      equality.context = n.keys.context.get();
      equality.equal = n.keys.equal;
      equality.hash = n.keys.hash;
    }
    grouper table(n.key, pool, equality);
    table.find_or_insert(keys.data(), rows.size(), g.of.data());
    g.keys.append_rows(table.keys(), table.size());
  }
  g.rows.resize(g.keys.size());
  for (std::size_t i = 0; i < rows.size(); ++i) g.rows[g.of[i]].push_back(static_cast<std::uint32_t>(i));
  return g;
}

class both_forms {
 public:
  both_forms(const logical& n, const ir::group_plan& plan, const rows_buffer& rows, runtime::buffer_pool& pool)
      : node_(&n), rows_(&rows), pool_(&pool), native_(n, nullptr), traced_(n, &plan) {}

  struct results {
    rows_buffer native, traced;
  };
  // Of the group of these rows; nothing where the expression throws: native code might do worse (an integer division by zero).
  std::optional<results> of(const std::vector<std::uint32_t>& rows, const void* key) const {
    std::optional<results> r{results{rows_buffer(node_->row, *pool_), rows_buffer(node_->row, *pool_)}};
    try {
      run(traced_, rows, key, r->traced);
    } catch (const std::exception&) {
      return std::nullopt;
    }
    run(native_, rows, key, r->native);
    return r;
  }
  bool agree(const results& r) const { return same(node_->row, r.native.data(), r.traced.data()); }

 private:
  void run(const group_program& program, const std::vector<std::uint32_t>& rows, const void* key, rows_buffer& out) const {
    const auto states = program.states(*pool_);
    states->grow_to(1);
    const std::vector<std::uint32_t> zeros(rows.size(), 0);
    states->update(zeros.data(), rows_->data(), rows.data(), rows.size());
    states->finish(key, 0, 1, out.extend(1));
    out.grow(1);
  }

  const logical* node_;
  const rows_buffer* rows_;
  runtime::buffer_pool* pool_;
  group_program native_, traced_;
};

}  // namespace

void check_group_function(const logical& n, const rows_buffer& rows, const std::vector<bool>& read, runtime::buffer_pool& pool) {
  const detail::user_function& f = n.functions.back();
  const ir::traced t = f.trace();
  const ir::group_analysis analysis = ir::plan_group_function(t, n.key, n.row);
  if (!analysis.plan || ir::calls_device_function(t.root) || !rows.size()) return;
  const groups_of_rows groups = group(n, rows, pool);
  const both_forms forms(n, *analysis.plan, rows, pool);
  for (std::size_t g = 0; g < groups.rows.size(); ++g) {
    std::string where;
    if (n.what == detail::verb::group_by) where = "group " + data::format_value(n.key, groups.keys.at(g)) + ", ";
    // Each row as a group of its own: differences that the others would hide, and which row it is.
    for (const std::uint32_t i : groups.rows[g]) {
      auto alone = forms.of({i}, groups.keys.at(g));
      if (!alone || forms.agree(*alone)) continue;
      differ(n, f, where + shown_row({}, i, rows.type(), read, rows.at(i)) + ", alone", n.row, alone->native.data(), alone->traced.data(),
             t.root);
    }
    const auto found = forms.of(groups.rows[g], groups.keys.at(g));
    if (!found || forms.agree(*found)) continue;
    differ(n, f,
           where + std::to_string(groups.rows[g].size()) + " rows, first " +
               shown_row({}, groups.rows[g].front(), rows.type(), read, rows.at(groups.rows[g].front())),
           n.row, found->native.data(), found->traced.data(), t.root);
  }
}

}  // namespace query::cpu::verify
