// Runs branches that contain joins or select_many, part by part: collects the rows before such a step, lets the step write its rows, and
// continues with those.
#include <algorithm>

#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

namespace {

using planner::branch;
using planner::stage;

bool probes(const stage& s) { return s.what == stage::kind::probe; }
bool is_many(const detail::logical* n) { return n->what == detail::verb::select_many; }
bool gives_many(const stage& s) { return std::any_of(s.nodes.begin(), s.nodes.end(), is_many); }

// Splits stages so that each select_many is the end of a stage, which gives the arrays or lists.
branch cut(const branch& b) {
  branch c = b;
  c.stages.clear();
  for (const stage& s : b.stages) {
    stage rest = s;
    for (auto many = std::find_if(rest.nodes.begin(), rest.nodes.end(), is_many); many != rest.nodes.end();
         many = std::find_if(rest.nodes.begin(), rest.nodes.end(), is_many)) {
      stage before = rest;
      before.nodes.erase(before.nodes.begin() + (many - rest.nodes.begin()) + 1, before.nodes.end());
      before.out = many_rows_of(**many);
      rest.in = (*many)->row;
      rest.nodes.erase(rest.nodes.begin(), std::next(many));
      c.stages.push_back(std::move(before));
    }
    if (probes(s) || !rest.nodes.empty()) c.stages.push_back(std::move(rest));
  }
  return c;
}

// The stages from `first` up to the next join or select_many, as a branch of their own, which starts with the rows of `from`.
branch part(const branch& b, std::vector<stage>::const_iterator first, const detail::logical* from) {
  branch p;
  if (from) {
    p.source = from;
  } else {
    p.source = b.source;
    p.table = b.table;
    p.prefilters = b.prefilters;
    p.wanted = b.wanted;
  }
  p.row = from ? from->row : source_row(b);
  for (auto s = first; s != b.stages.end() && !probes(*s); ++s) {
    p.stages.push_back(*s);
    p.row = s->out;
    if (gives_many(*s)) break;
  }
  return p;
}

// Calls on_join(rows before the join, join) and on_many(arrays or lists, select_many) in their order. Returns the part after the last one.
template <class Join, class Many> branch each_part(const branch& whole, Join on_join, Many on_many) {
  const branch b = in_parts(whole) ? cut(whole) : whole;
  branch now = part(b, b.stages.begin(), nullptr);
  for (auto s = b.stages.begin(); s != b.stages.end(); ++s) {
    const bool join = probes(*s);
    if (!join && !gives_many(*s)) continue;
    if (join) on_join(now, *s);
    else on_many(now, *s->nodes.back());
    now = part(b, std::next(s), join ? s->join : s->nodes.back());
  }
  return now;
}

}  // namespace

bool bare(const branch& b) { return b.stages.empty() && b.prefilters.empty(); }

bool in_parts(const branch& b) {
  return std::any_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return probes(s) || gives_many(s); });
}
bool numbers_rows(const branch& b) {
  return std::any_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return s.native && s.native->needs_position(); });
}

branch last_part(const branch& b) {
  return each_part(
      b, [](const branch&, const stage&) {}, [](const branch&, const detail::logical&) {});
}

std::vector<bool> fields_before_parts(const branch& b) {
  branch before = b;
  const auto join = std::find_if(b.stages.begin(), b.stages.end(), probes);
  before.stages.assign(b.stages.begin(), join);
  return join != b.stages.end() && bare(before) ? fields_wanted(b, probe_fields(*join)) : fields_read(before, true);
}

// A branch that does no work, and reads the rows of the last verb of b.
branch behind(const branch& b) {
  const branch last = in_parts(b) ? last_part(b) : b;
  branch rest;
  rest.row = b.row;
  if (last.stages.empty()) {
    rest.source = last.source;
    rest.table = last.table;
  } else {
    rest.source = last.stages.back().nodes.back();
  }
  return rest;
}

planner::vertex behind_joins(const planner::vertex& v) {
  planner::vertex w = v;
  if (!w.inputs.empty() && in_parts(w.inputs.front())) w.inputs.front() = last_part(v.inputs.front());
  return w;
}

void plan_joins(const branch& b) {
  each_part(
      b,
      [](const branch& before, const stage& join) {
        if (!bare(before)) plan_collect_before(before);
        plan_join(join, before.row);
      },
      [](const branch& before, const detail::logical& many) {
        plan_collect_before(before);
        plan_many_rows(many);
      });
}

void run_joins(const branch& b, vertex_run& run) {
  each_part(
      b,
      [&](const branch& before, const stage& join) {
        auto probe = bare(before) ? run.input(before, probe_fields(join)) : run_collect_before(before, run);
        run.reset_status();  // it holds the number of rows that stayed, not of pairs
        run.supply(run_join(join, std::move(probe), run));
      },
      [&](const branch& before, const detail::logical& many) {
        const auto collections = run_collect_before(before, run);
        run.reset_status();
        run.supply(run_many_rows(many, collections, run));
        run.reset_status();
      });
}

void plan_input(const branch& b) {
  plan_joins(b);
  const branch last = last_part(b);
  if (!bare(last)) plan_collect_before(last);
}

input_layout planned_input(const branch& b) { return bare(b) ? planned_layout(b, all_fields(b.row)) : whole_rows(b.row); }

std::shared_ptr<const device_rows> run_input(const branch& b, const std::vector<bool>& fields, vertex_run& run) {
  run_joins(b, run);
  const branch last = last_part(b);
  auto rows = bare(last) ? run.input(last, fields) : run_collect_before(last, run);
  run.supply(rows);  // keeps strings that were made here with the result, even if others are made before it
  run.supply(nullptr);
  return rows;
}

}  // namespace query::gpu_engine
