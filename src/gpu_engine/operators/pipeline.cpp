// Branches with joins in them: the work before a join is collected, the join writes its rows, the work behind goes on from there.
#include <algorithm>

#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

namespace {

using planner::branch;
using planner::stage;

bool probes(const stage& s) { return s.what == stage::kind::probe; }

// The stages from `first` up to the next join, as a branch of their own, which starts where `from` says.
branch part(const branch& b, std::vector<stage>::const_iterator first, const stage* join) {
  branch p;
  if (join) {
    p.source = join->join;  // its rows are what the join gives
  } else {
    p.source = b.source;
    p.table = b.table;
    p.prefilters = b.prefilters;
  }
  p.row = join ? join->out : source_row(b);
  for (auto s = first; s != b.stages.end() && !probes(*s); ++s) {
    p.stages.push_back(*s);
    p.row = s->out;
  }
  return p;
}

// Calls f(rows before the join, join) for each join of the branch; gives the part behind the last.
template <class F> branch each_join(const branch& b, F f) {
  branch now = part(b, b.stages.begin(), nullptr);
  for (auto s = b.stages.begin(); s != b.stages.end(); ++s) {
    if (!probes(*s)) continue;
    f(now, *s);
    now = part(b, std::next(s), &*s);
  }
  return now;
}

}  // namespace

bool bare(const branch& b) { return b.stages.empty() && b.prefilters.empty(); }

bool joins(const branch& b) { return std::any_of(b.stages.begin(), b.stages.end(), probes); }

branch last_part(const branch& b) {
  return each_join(b, [](const branch&, const stage&) {});
}

planner::vertex behind_joins(const planner::vertex& v) {
  planner::vertex w = v;
  if (!w.inputs.empty() && joins(w.inputs.front())) w.inputs.front() = last_part(v.inputs.front());
  return w;
}

void plan_joins(const branch& b) {
  each_join(b, [](const branch& before, const stage& join) {
    if (!bare(before)) plan_collect_before(before);
    plan_join(join, before.row);
  });
}

void run_joins(const branch& b, vertex_run& run) {
  each_join(b, [&](const branch& before, const stage& join) {
    auto probe = bare(before) ? run.input(before, probe_fields(join)) : run_collect_before(before, run);
    run.reset_status();  // a count of rows that stayed is no count of pairs
    run.supply(run_join(join, std::move(probe), run));
  });
}

void plan_input(const branch& b) {
  plan_joins(b);
  const branch last = last_part(b);
  if (!bare(last)) plan_collect_before(last);
}

std::shared_ptr<const device_rows> run_input(const branch& b, const std::vector<bool>& fields, vertex_run& run) {
  run_joins(b, run);
  const branch last = last_part(b);
  auto rows = bare(last) ? run.input(last, fields) : run_collect_before(last, run);
  run.supply(nullptr);
  return rows;
}

}  // namespace query::gpu_engine
