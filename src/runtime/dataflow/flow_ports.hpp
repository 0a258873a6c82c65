// The ports of a vertex that is running: what its function's input<T> and output<T> stand on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/dataflow/block_pool.hpp"
#include "runtime/dataflow/monitor.hpp"
#include "runtime/dataflow/receiver.hpp"
#include "runtime/dataflow/scopes.hpp"

namespace query::runtime {

class receiving_port final : public detail::flow_input {
 public:
  receiving_port(monitor& run, seat& vertex, std::unique_ptr<receiver> from, std::vector<channel*> edges)
      : run_(&run), vertex_(&vertex), from_(std::move(from)), edges_(std::move(edges)) {}
  detail::flow_item receive() override;
  void leave();  // the vertex has returned: writers need not wait for it any more

 private:
  monitor* run_;
  seat* vertex_;
  std::unique_ptr<receiver> from_;
  std::vector<channel*> edges_;  // that it reads
};

// Sends what its vertex pushes to the edges of its routes: everything, or what their predicates take.
class sending_port final : public detail::flow_output {
 public:
  struct route {
    channel* to;
    const detail::flow_route* plan;
  };
  // `forward`: the edges of all ports of this vertex, without those back. Once nobody reads any of them, its work is for nobody.
  sending_port(monitor& run, seat& vertex, std::vector<route> routes, const std::vector<channel*>& forward, block_pool& pool,
               std::size_t rows_of_block);
  void push(detail::flow_rows rows) override;
  void tell(dataflow::signal s) override;
  detail::flow_rows fresh(const ir::type* row, std::size_t rows) override { return pool_->fresh(row, rows ? rows : rows_of_block_); }
  void finish();  // ends what is open, then the edges

 private:
  void check_readers();
  void send(channel& to, detail::flow_item i);
  void split(const detail::flow_rows& rows);
  detail::flow_rows picked(const detail::flow_rows& rows, const bool* takes, std::size_t n);

  monitor* run_;
  seat* vertex_;
  std::vector<route> routes_;
  const std::vector<channel*>* forward_;
  block_pool* pool_;
  std::size_t rows_of_block_;
  bool has_predicates_ = false;
  scopes open_;
  std::vector<std::pair<channel*, detail::flow_rows>> parts_;  // of what is being sent
  std::size_t marks_ = 0;                    // rows that the following have room for
  std::unique_ptr<bool[]> takes_, taken_;    // by a route; by any
};

}  // namespace query::runtime
