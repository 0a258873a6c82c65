// The CPU engine under another name, with costs that the test makes up: what an engine beside the CPU's looks like to whoever
// divides rows among them. It remembers how many rows it was given, and fails as it is told.
//
//   auto second = std::make_shared<second_engine>(costs_for(0.25));    // a quarter of the rows
//   session.add_engine(second);
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/local_engine.hpp"

namespace engine_double {

// Costs by which the second engine gets about this share of the rows, and everything is worth dividing.
inline query::runtime::part_costs costs_for(double share) {
  query::runtime::part_costs c;
  c.on = "double";
  c.here.all_rows = 10 / share;
  c.cpu.all_rows = 10 / (1 - share) * 0.75;  // three of four threads are left to it
  c.host_threads = 1;
  return c;
}

class second_engine final : public query::runtime::engine {
 public:
  explicit second_engine(query::runtime::part_costs costs, std::string name = "second")
      : costs_(std::move(costs)), name_(std::move(name)) {}

  bool takes_all = false;  // of row-wise work, instead of a share
  // Called before each vertex, with the context of the run; throws to fail.
  std::function<void(query::runtime::run_context&)> before;
  std::atomic<std::uint64_t> rows{0};  // of all sources that it was given
  std::atomic<int> runs{0};

  std::string_view name() const override { return name_; }
  query::runtime::verdict accepts(const query::planner::vertex& v) const override {
    if (v.node) return {false, "row-wise work only"};
    if (takes_all && !v.folds) return {true, "all of it"};
    return {false, "slower", costs_};
  }
  std::unique_ptr<query::runtime::running_vertex> start(const query::planner::vertex& v,
                                                        std::span<query::runtime::input_port* const> inputs,
                                                        query::runtime::output_port& output,
                                                        query::runtime::run_context& context) override {
    note(v.inputs.front(), context);
    return cpu_->start(v, inputs, output, context);
  }

 private:
  void note(const query::planner::branch& b, query::runtime::run_context& context) {
    ++runs;
    if (before) before(context);
    query::detail::row_block all;
    b.source->view(b.source->source.get(), all);
    rows += all.n;
  }

  query::runtime::part_costs costs_;
  std::string name_;
  std::unique_ptr<query::runtime::local_engine> cpu_ = query::runtime::make_cpu_engine();
};

}  // namespace engine_double
