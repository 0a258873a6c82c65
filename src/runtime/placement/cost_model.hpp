// What an engine expects work to take: every engine answers for itself, and whoever places work compares (weighing.hpp).
//
//   if (const cost_model* m = engine.costs(); m && m->known()) seconds = m->seconds(w);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "planner/machine_graph.hpp"
#include "runtime/part_costs.hpp"
#include "runtime/placement/work.hpp"

namespace query::runtime {

struct work_terms {
  std::size_t devices = 1;  // of the engine's, which have equal shares of the rows
  bool repeated = false;    // in a round that the engine repeats without the host
};

// A search for the nearest row of a captured collection, for which an engine has a form of its own.
struct nearest_work {
  std::uint64_t slot = 0;  // of the collection
  double dims = 0;
  ir::traced function;               // keeps `arg_min` alive
  const ir::node* arg_min = nullptr;  // what it takes the place of
};

// What is yet to be compiled for a vertex, and the name of that code, whatever plan needs it. "": nobody counts that.
struct missing_code {
  double seconds = 0;
  std::string name = {};
};

// All in seconds. Thread-safe.
class cost_model {
 public:
  virtual ~cost_model() = default;
  // Measures its rates now, if that was never done; false: it knows nothing, and the others are not to be asked.
  virtual bool known() const = 0;
  // With the way of the host's rows there, and of the result back.
  virtual double seconds(const work& w, const work_terms& terms = {}) const = 0;
  // Of the functions of a branch for one row, where it tells them apart better than work does.
  virtual std::optional<double> operations(const planner::branch&) const { return std::nullopt; }
  // The way alone, of bytes of the host's memory there and back, and of one word of its own.
  virtual double brought(double bytes) const = 0;
  virtual double fetched(double /*bytes*/) const { return 0; }
  virtual double wait(bool /*repeated*/ = false) const { return 0; }
  virtual missing_code to_compile(const planner::vertex&, const work&) const { return {}; }
  // What it keeps from the CPU while both share the work, and what their results cost.
  virtual void beside_cpu(const work&, part_costs&) const {}
  // In the functions of a branch, or in the key of `keyed` behind it.
  virtual std::optional<nearest_work> search(const planner::branch&, const detail::logical* /*keyed*/) const { return std::nullopt; }
};

}  // namespace query::runtime
