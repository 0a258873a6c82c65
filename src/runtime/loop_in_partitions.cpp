// The rounds of a loop whose variable lies in partitions (planner/loop_partitions.hpp): the first partition leads, and has the answer of
// the condition, not the rows.
#include <query/detail/failure.hpp>

#include "runtime/executor.hpp"
#include "runtime/partitions.hpp"

namespace query::runtime {

vertex_rows executor::run_loop_in_partitions(const planner::vertex& v) {
  const detail::logical& n = *v.node;
  const struct scope {
    explicit scope(run_context& c) : context(c) { ++context.loops; }
    ~scope() { --context.loops; }
    run_context& context;
  } inside(*context_);
  over_->begin_loop(v);
  for (std::uint64_t round = 1;;) {
    try {
      context_->cancel.check();
      run_in_round(v.body);
      over_->next_round(v);
      forget(v.body);
      bool more = n.count && round < n.count;
      if (!n.count && v.test_result.table) {
        run_in_round(v.test);
        more = holds(context_->tables.at(v.test_result.table));
        forget(v.test);
      }
      over_->forget_previous();
      if (!more) {
        vertex_rows rows = over_->end_loop(v);
        if (profiled_vertex* r = context_->profile ? context_->profile->at(v.number) : nullptr) r->rounds += round;
        return rows;
      }
      check_rounds(n, round);
      over_->save(round);
      ++round;
    } catch (const rounds_lost&) {
      round = over_->restart(v) + 1;
    }
  }
}

void executor::check_rounds(const detail::logical& n, std::uint64_t round) {
  if (!n.count && n.most_rounds && round >= n.most_rounds)
    detail::fail("do_while", "the condition still held after " + std::to_string(n.most_rounds) + " rounds, the most that were allowed",
                 n.where);
}

}  // namespace query::runtime
