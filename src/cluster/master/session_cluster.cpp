#include "cluster/master/session_cluster.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include <query/detail/failure.hpp>

#include "cluster/blocks/peer_memory.hpp"
#include "cluster/container/container.hpp"
#include "ir/type_registry.hpp"
#include "runtime/default_memory.hpp"

namespace query::cluster {

session_cluster::session_cluster(const session_options& options)
    : backend_(backends::make_backend(options)),
      count_(backend_->containers() + 1),
      token_(transport::session_token::random()),
      connections_(token_) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  first_.options = options;
  first_.token = token_.text();
  processes_.resize(static_cast<std::size_t>(count_));
  if (!backend_->shares_machine()) return;
  if (!options.threads) first_.options.threads = std::max(1, cores / count_);
  if (!options.memory_limit) first_.options.memory_limit = runtime::default_memory_limit() / static_cast<std::size_t>(count_);
}

std::string session_cluster::transport() const {
  if (!backend_->shares_machine()) return "TCP";
  return reads_peer_memory() ? "reads of each other's memory" : "sockets of this machine";
}

bool session_cluster::can_travel(const ir::type& row) const { return ir::is_described(row); }

namespace {

runtime::stays_here::reason reason_of(const verb_stays& e) {
  if (!e.verb) return {e.why, {}, {}, e.function};
  return {e.why, e.verb->label, e.verb->where, e.function};
}

}  // namespace

std::shared_ptr<const runtime::cluster::prepared> session_cluster::prepare(const planner::machine_graph& g,
                                                                           const planner::column_options& forms,
                                                                           const planner::function_set& by_expression) const {
  auto made = std::make_shared<prepared_plan>();
  try {
    const program here;
    made->modules = here.names();
    made->plan = write_plan(g, forms, here, by_expression);
  } catch (const closures_stay& e) {
    runtime::stays_here all;
    for (const verb_stays& x : e.all) all.because.push_back(reason_of(x));
    throw all;
  } catch (const verb_stays& e) {
    throw runtime::stays_here{{reason_of(e)}};
  } catch (const cannot_travel& e) {
    throw runtime::stays_here{{{e.why}}};
  }
  const auto check = [](const ir::type& row) {
    if (!ir::is_described(row)) throw runtime::stays_here{{{"rows of " + std::string(row.name) + " cannot be sent to others"}}};
  };
  for (const auto& c : made->plan.captured) check(*c->element);
  for (const auto& s : made->plan.sources) check(*s.node->row);
  return made;
}

std::shared_ptr<local_process> session_cluster::living(std::size_t partition, const runtime::cancel_flag& cancel) {
  constexpr std::chrono::milliseconds a_moment{20};
  std::shared_ptr<local_process> lost;  // ends after the lock: others need not wait for that
  std::unique_lock hold(lock_);
  if (!can_be_container())
    throw detail::unplaced_error("cluster: " + name() +
                                 ": its processes are this program: call query::container_main() in the first line of main(), link "
                                 "query::query by CMake, which does, or link with -Wl,--wrap=main,-u,main");
  while (starting_.contains(partition)) {
    cancel.check();
    started_.wait_for(hold, a_moment);
  }
  std::shared_ptr<local_process>& p = processes_.at(partition);
  if (p && !p->lost()) return p;
  lost = std::move(p);
  starting_.insert(partition);
  hold.unlock();
  std::shared_ptr<local_process> made;
  std::exception_ptr failed;
  try {
    const std::string process = "process " + std::to_string(partition + 1) + " of " + name();
    made = std::make_shared<local_process>(process, backend_->start(partition - 1, cancel), first_);
  } catch (...) {
    failed = std::current_exception();
  }
  hold.lock();
  p = made;
  starting_.erase(partition);
  started_.notify_all();
  if (failed) std::rethrow_exception(failed);
  return made;
}

bool session_cluster::keeps_cached(const detail::logical& n, std::size_t partition, std::shared_ptr<local_process> by) const {
  if (!by) {
    const std::lock_guard hold(lock_);
    by = processes_.at(partition);
  }
  return by && !by->lost() && cached_.are_kept(cached_.number_of(n.kept_as), partition, by);
}

block_server& session_cluster::blocks() {
  const std::lock_guard hold(lock_);
  if (!blocks_) blocks_ = std::make_unique<block_server>(transport::address::parse(backend_->beside()), token_);
  return *blocks_;
}

}  // namespace query::cluster

namespace query::runtime {

std::unique_ptr<cluster> make_cluster(const session_options& o) { return std::make_unique<query::cluster::session_cluster>(o); }

}  // namespace query::runtime
