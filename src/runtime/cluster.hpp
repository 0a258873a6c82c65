// The other processes that a session's queries run in, as the runtime asks them: src/cluster starts them and talks to them.
//
//   auto sent = cluster.prepare(graph, forms);           // throws stays_here: the plan says why
//   auto second = cluster.begin(*sent, graph, context, 1);
//   second->run(vertex);
//   second->finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <query/detail/plan.hpp>
#include <query/errors.hpp>
#include <query/session.hpp>

#include "planner/column_forms.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/row_pages.hpp"
#include "runtime/run_context.hpp"

namespace query::runtime {

// A query, or rows of it, that another process would not understand.
struct stays_here {
  std::string why;
};

// A process of the cluster's has ended, or does not answer. The query may run again.
struct process_lost : cluster_error {
  using cluster_error::cluster_error;
};

// One partition of a running query in another process. What is asked for happens in that order; finish() waits for it, and throws what
// it threw: process_lost from any call. Whatever the query has there goes with this object.
class remote_partition {
 public:
  virtual ~remote_partition() = default;
  virtual bool lost() const = 0;
  virtual void run(const planner::vertex& v) = 0;
  virtual std::uint64_t finish() = 0;  // the rows of the last vertex that ran
  // An exchange, as runtime/exchange_side.hpp has it: what is asked for by sample() or send() comes by sent(). Of each receiver, of one of
  // them, or for all the same.
  static constexpr std::uint64_t all = ~std::uint64_t{0};
  virtual void sample(const planner::vertex& v, std::uint64_t share) = 0;
  virtual void send(const planner::vertex& v, std::size_t receivers, const row_pages& begins, std::uint64_t receiver = all) = 0;
  virtual std::vector<row_pages> sent() = 0;
  virtual void receive(const planner::vertex& v, std::span<const row_page* const> pages) = 0;
  virtual void forget(const planner::vertex& v) = 0;
  // The terminal verb.
  virtual void fold(detail::fold_kind k) = 0;
  virtual detail::fold_state folded() = 0;
  virtual void verify_result() = 0;
};

class cluster {
 public:
  virtual ~cluster() = default;
  virtual std::string name() const = 0;      // as the user named it: "local:4"
  virtual int partitions() const = 0;        // the first of which is in this process
  virtual int threads() const = 0;           // of each
  virtual bool can_travel(const ir::type& row) const = 0;

  struct prepared {
    virtual ~prepared() = default;
  };
  // A plan with its streams marked and its forms not yet chosen. Starts nothing. Throws stays_here.
  virtual std::shared_ptr<const prepared> prepare(const planner::machine_graph& g, const planner::column_options& forms) const = 0;
  // A partition of that graph, from 1 on; it has its rows of the sources. Where its process was lost, another is started.
  virtual std::unique_ptr<remote_partition> begin(const prepared& query, const planner::machine_graph& g, run_context& context,
                                                  std::size_t partition) = 0;
};

// Slots of captured collections that are made in this process from now on: a container gets those of its master beside them.
void begin_slots_above(std::uint64_t last);

// Defined by src/cluster. Throws user_error for a name that it does not know.
std::unique_ptr<cluster> make_cluster(const session_options& options);

}  // namespace query::runtime
