// Runs a graph: a thread a vertex, this thread watches for the end, the deadline and stop tokens.
#include <algorithm>
#include <memory>
#include <system_error>
#include <thread>

#include "runtime/dataflow/edge_ends.hpp"
#include "runtime/dataflow/flow_ports.hpp"
#include "runtime/stop_watch.hpp"

namespace query::runtime {

namespace {

using detail::flow_plan;
using detail::flow_source;
using detail::flow_vertex;

std::unique_ptr<receiver> receiver_of(const flow_source& s, const std::vector<std::unique_ptr<channel>>& edges) {
  std::vector<std::unique_ptr<receiver>> parts;
  for (const flow_source& p : s.parts) parts.push_back(receiver_of(p, edges));
  switch (s.what) {
    case flow_source::kind::merged: return std::make_unique<merged_receiver>(std::move(parts));
    case flow_source::kind::initial: return std::make_unique<initial_receiver>(std::move(parts.front()), s.initial);
    case flow_source::kind::iterated: return std::make_unique<iterating_receiver>(std::move(parts.front()), *edges[s.edge], s.most_rounds);
    case flow_source::kind::edge: break;
  }
  return std::make_unique<edge_receiver>(*edges[s.edge]);
}

// A vertex, its ports and its thread.
class vertex_thread {
 public:
  vertex_thread(const flow_plan& plan, const flow_vertex& v, monitor& run, seat& own, const std::vector<std::unique_ptr<channel>>& edges)
      : plan_(&v), run_(&run) {
    for (const flow_source& s : v.inputs) {
      std::vector<channel*> read;
      for (const std::size_t e : edges_of(s)) read.push_back(edges[e].get());
      inputs_.push_back(std::make_unique<receiving_port>(run, own, receiver_of(s, edges), std::move(read)));
    }
    for (const auto& port : v.outputs) {
      std::vector<sending_port::route> routes;
      for (const detail::flow_route& r : port) {
        routes.push_back({edges[r.edge].get(), &r});
        if (edges[r.edge]->has_limit()) forward_.push_back(edges[r.edge].get());
      }
      outputs_.push_back(std::make_unique<sending_port>(run, own, std::move(routes), forward_, *plan.pool, plan.rows_of_block));
    }
  }
  void start() {
    thread_ = std::thread([this] { work(); });
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  void work() noexcept {
    try {
      call();
      for (auto& port : outputs_) port->finish();
    } catch (const run_stopped&) {  // for a reason that the monitor has
    } catch (...) {
      run_->fail(std::current_exception());
    }
    for (auto& port : inputs_) port->leave();
    run_->end();
  }
  void call() {
    std::vector<detail::flow_input*> in;
    std::vector<detail::flow_output*> out;
    for (auto& port : inputs_) in.push_back(port.get());
    for (auto& port : outputs_) out.push_back(port.get());
    try {
      plan_->call(plan_->f.get(), in.data(), out.data());
    } catch (const readers_gone&) {  // an early return
    }
  }

  const flow_vertex* plan_;
  monitor* run_;
  std::vector<channel*> forward_;
  std::vector<std::unique_ptr<receiving_port>> inputs_;
  std::vector<std::unique_ptr<sending_port>> outputs_;
  std::thread thread_;
};

void supervise(monitor& run, const cancel_flag& flag) {
  for (;;) {
    const auto asks = flag.next_question(cancel_flag::clock::now());
    if (run.supervise(asks ? &*asks : nullptr)) return;
    try {
      flag.check();
    } catch (...) {
      run.fail(std::current_exception());
    }
  }
}

}  // namespace

}  // namespace query::runtime

namespace query::detail {

dataflow::run_report run_dataflow(flow_plan& plan) {
  using namespace runtime;
  const edge_ends ends(plan);
  if (!plan.pool) plan.pool = std::make_shared<block_pool>(plan.how->session ? plan.how->session : Session::standard().state());
  const block_pool::counters before = plan.pool->counted();

  monitor run;
  std::vector<std::unique_ptr<seat>> seats;
  for (const flow_vertex& v : plan.vertices) run.add(*seats.emplace_back(std::make_unique<seat>(v.name)));
  std::vector<std::unique_ptr<channel>> edges;
  for (std::size_t e = 0; e < plan.edges.size(); ++e)
    edges.push_back(std::make_unique<channel>(plan.edges[e], *seats[ends.writer[e]], *seats[ends.reader[e]]));
  std::vector<std::unique_ptr<vertex_thread>> vertices;
  for (std::size_t v = 0; v < plan.vertices.size(); ++v)
    vertices.push_back(std::make_unique<vertex_thread>(plan, plan.vertices[v], run, *seats[v], edges));

  {
    const stop_watch watch(plan.how, [&run] { run.nudge(); });
    watch.flag->check();
    try {
      for (auto& v : vertices) v->start();
    } catch (const std::system_error& e) {
      run.fail(std::make_exception_ptr(resource_error(std::string("dataflow: no thread for a vertex: ") + e.what())));
    }
    supervise(run, *watch.flag);
    for (auto& v : vertices) v->join();
  }
  if (const std::exception_ptr why = run.failure()) std::rethrow_exception(why);

  const block_pool::counters after = plan.pool->counted();
  dataflow::run_report report;
  report.blocks_made = after.made - before.made;
  report.blocks_reused = after.reused - before.reused;
  for (const auto& e : edges) report.edges.push_back(e->told());
  return report;
}

}  // namespace query::detail
