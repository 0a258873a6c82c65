#include "runtime/executor.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "runtime/table_ports.hpp"

namespace query::runtime {

using detail::table;
using detail::verb;
using planner::vertex;

const table& run_context::table_of(const vertex& v) const {
  const auto it = tables.find(&v);
  if (it == tables.end()) throw internal_error("query: a vertex was read before it ran");
  return it->second;
}
const table& run_context::variable(std::uint64_t slot) const {
  const auto it = variables.find(slot);
  if (it == variables.end()) throw detail::unplaced_error("a loop's placeholder was used outside its do_while");
  return it->second;
}
std::vector<detail::binding> run_context::bind(const std::vector<planner::binding>& captures) const {
  std::vector<detail::binding> b;
  for (const planner::binding& c : captures) {
    const table& t = table_of(*c.table);
    b.push_back({c.slot, t.rows, t.n});
  }
  return b;
}

void place(planner::machine_graph& g, const session_state& session) {
  for (auto& v : g.vertices) {
    v->engine = "cpu";
    if (v->node && v->node->what == verb::do_while) {
      v->why = "loops are driven by the executor";
      continue;
    }
    for (const auto& e : session.engines) {
      const verdict answer = e->accepts(*v);
      if (answer) {
        v->engine = std::string(e->name());
        v->why = answer.why;
        break;
      }
      v->why = std::string(e->name()) + ": " + answer.why;
    }
  }
}

void executor::run_vertices() {
  for (const vertex* v : graph_->top) {
    if (!v->streamed) run(*v);
    else if (context_->progress) context_->progress->vertex_done();
  }
}

void executor::run(const vertex& v) {
  context_->cancel.check();
  try {
    context_->tables[&v] = compute(v);
  } catch (const detail::unplaced_error& e) {
    if (!v.node) throw;
    detail::fail_at(e, *v.node);
  } catch (const resource_error& e) {
    if (!v.node || std::string_view(e.what()).find(" while running ") != std::string_view::npos) throw;
    throw resource_error(std::string(e.what()) + ", while running " + v.node->label + " (" + detail::place_of(v.node->where) + ")");
  }
  if (context_->progress) context_->progress->vertex_done();
}

table executor::compute(const vertex& v) {
  if (v.node && v.node->what == verb::do_while) return run_loop(v);
  if (v.node && v.node->what == verb::cached && v.slots.empty()) {
    table t;
    if (session_->find_cached(v.node, t)) return t;
    const auto turn = session_->computing(v.node);
    std::unique_lock hold(*turn, std::defer_lock);
    while (!hold.try_lock_for(std::chrono::milliseconds(10))) context_->cancel.check();
    if (session_->find_cached(v.node, t)) return t;
    t = run_on(*session_->cpu, v);
    session_->keep_cached(v.node->weak_from_this().lock(), t);
    return t;
  }
  for (const auto& e : session_->engines) {
    if (v.engine != e->name()) continue;
    // Trouble of the engine's is retried, then the CPU takes over; the user's own exceptions are not.
    for (int attempt = 0; attempt <= e->retries(); ++attempt) {
      try {
        return run_on(*e, v);
      } catch (const resource_error&) {
      } catch (const cluster_error&) {
      }
      context_->cancel.check();
    }
  }
  return run_on(*session_->cpu, v);
}

table executor::run_on(engine& e, const vertex& v) {
  std::vector<std::unique_ptr<table_input>> inputs;
  std::vector<input_port*> ports;
  for (const planner::branch& b : v.inputs) {
    inputs.push_back(std::make_unique<table_input>(b, *session_->cpu, *context_));
    ports.push_back(inputs.back().get());
  }
  table_output out(v.row(), context_->pool);
  const std::unique_ptr<running_vertex> task = e.start(v, ports, out, *context_);
  task->wait();
  return std::move(out).take();
}

table executor::run_loop(const vertex& v) {
  const detail::logical& n = *v.node;
  table now = session_->cpu->collect(v.inputs.front(), v.captures, *context_);
  for (std::uint64_t round = 1;; ++round) {
    context_->cancel.check();
    context_->variables[n.slot] = now;
    for (const vertex* w : v.body) run(*w);
    // Copied: the table may be one that the next round replaces.
    const table next = v.body_result.table ? context_->table_of(*v.body_result.table) : now;
    for (const vertex* w : v.body) context_->tables.erase(w);
    bool more = false;
    if (n.count) {
      more = round < n.count;
    } else if (n.loop_test) {
      more = n.loop_test(n.functions.front().f.get(), now.rows, now.n, next.rows, next.n);
    } else if (v.test_result.table) {
      context_->variables[n.previous_slot] = now;
      context_->variables[n.next_slot] = next;
      for (const vertex* w : v.test) run(*w);
      const table& answer = context_->table_of(*v.test_result.table);
      if (answer.n != 1) throw internal_error("query: do_while: the condition gave no value");
      more = *static_cast<const bool*>(answer.rows);
      for (const vertex* w : v.test) context_->tables.erase(w);
    }
    now = next;
    if (!more) break;
    if (n.most_rounds && round >= n.most_rounds)
      detail::fail("do_while", "the condition still held after " + std::to_string(n.most_rounds) + " rounds, the most that were allowed", n.where);
  }
  context_->variables.erase(n.slot);
  context_->variables.erase(n.previous_slot);
  context_->variables.erase(n.next_slot);
  return now;
}

}  // namespace query::runtime
