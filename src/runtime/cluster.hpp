// The other processes that a session's queries run in, as the runtime asks them: src/cluster starts them and talks to them.
//
//   auto sent = cluster.prepare(graph, forms, {});          // throws stays_here: the plan says why
//   auto all = make_partitions(graph, session, context, sent);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <query/detail/plan.hpp>
#include <query/errors.hpp>
#include <query/session.hpp>

#include "planner/column_forms.hpp"
#include "planner/interpretation.hpp"
#include "planner/machine_graph.hpp"

namespace query::runtime {

// A query, or rows of it, that another process would not understand.
struct stays_here {
  struct reason {
    std::string why;
    std::string verb = {};  // "": it is no verb's
    detail::call_site where = {};
    const void* function = nullptr;  // whose closure it is: perhaps its expression can go in its place
    std::string place() const;  // of the verb
    std::string text() const;   // with it
  };
  std::vector<reason> because;
};

// A process of the cluster's has ended, or does not answer. The query may run again.
struct process_lost : cluster_error {
  using cluster_error::cluster_error;
};

class cluster {
 public:
  virtual ~cluster() = default;
  virtual std::string name() const = 0;      // as the user named it: "local:4"
  virtual int partitions() const = 0;        // the first of which is in this process
  virtual int threads() const = 0;           // of each
  virtual std::string transport() const = 0; // how rows get from one to another, for explain()
  virtual bool can_travel(const ir::type& row) const = 0;

  struct prepared {
    virtual ~prepared() = default;
  };
  // A plan with its streams marked and its forms not yet chosen. Starts nothing. Throws stays_here.
  // by_expression: functions that it may send as their expressions.
  virtual std::shared_ptr<const prepared> prepare(const planner::machine_graph& g, const planner::column_options& forms,
                                                  const planner::function_set& by_expression) const = 0;
};

// Slots of captured collections that are made in this process from now on: a container gets those of its master beside them.
void begin_slots_above(std::uint64_t last);

// Defined by src/cluster. Throws user_error for a name that it does not know.
std::unique_ptr<cluster> make_cluster(const session_options& options);

}  // namespace query::runtime
