// Runs several queries as one: the captures of the node that stands for them (planner/together.cpp) are read one after the other, by
// whoever wants their rows.
#include <query/detail/together.hpp>

#include <string>
#include <typeinfo>
#include <unordered_set>
#include <utility>
#include <vector>

#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "planner/rules/edges.hpp"
#include "runtime/execution.hpp"
#include "runtime/executor.hpp"
#include "runtime/session_state.hpp"
#include "runtime/shared_streams.hpp"

namespace query::detail {

namespace {

using planner::vertex;

// "query 2 of run_all", "queries 1 and 3 of run_all".
std::string named(const std::vector<std::size_t>& numbers) {
  std::string all = numbers.size() == 1 ? "query " : "queries ";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i) all += i + 1 == numbers.size() ? " and " : ", ";
    all += std::to_string(numbers[i] + 1);
  }
  return all + " of run_all";
}

// Throws again what is being caught, if it is an error that says where it happened, with the query that it happened in.
[[noreturn]] void rethrow_with(const std::string& where) {
  const auto with = [&]<class E>(const E& e) {
    if (typeid(e) == typeid(E)) throw E(std::string(e.what()) + ", in " + where);
    throw;
  };
  try {
    throw;
  } catch (const user_error& e) {
    with(e);
  } catch (const resource_error& e) {
    with(e);
  } catch (const cancelled& e) {
    with(e);
  }
  throw internal_error("query: run_all: no error is caught");  // not reached: others have gone on
}

class reading {
 public:
  reading(runtime::execution& e, std::span<const rows_taker> to) : e_(&e), to_(to), all_(e.graph->result.table) {
    for (const planner::binding& c : all_->captures) tables_.push_back(c.table);
    // The node that stands for all of them gives nothing.
    all_->in_place = true;
    table none;
    none.type = all_->row();
    e.context.tables[all_] = none;
    find_taken_as_they_come();
  }

  void run() {
    try {
      e_->read([&] { take_all(); }, handed_out_);
    } catch (const error&) {
      if (are_for_report(*all_->node)) throw;
      const std::vector<std::size_t> numbers = reading_ ? std::vector{*reading_} : readers_of(e_->leader ? e_->leader->reached() : nullptr);
      if (numbers.empty()) throw;
      rethrow_with(named(numbers));
    }
  }

 private:
  // Row-wise verbs at the end of a query need no table of their rows: these are taken as they are made.
  void find_taken_as_they_come() {
    planner::machine_graph& g = *e_->graph;
    if (g.partitions > 1 || e_->context.verify) return;
    const planner::rules::edge_index edges(g);
    for (vertex* v : tables_) {
      const bool plain = !v->node && !v->moves && v->limit == ~0ull && v->engine == "cpu" && v->shares.empty();
      if (plain && edges.readers_of(*v).size() == 1) v->in_place = true;
    }
  }

  void take_all() {
    std::uint64_t rows = 0, bytes = 0;
    for (std::size_t i = 0; i < to_.size(); ++i) {
      reading_ = i;
      const std::uint64_t n = take(i);
      rows += n;
      bytes += n * tables_[i]->row()->size;
    }
    reading_.reset();
    if (e_->context.profile) e_->context.profile->of_result().gave(rows, bytes);
  }
  std::uint64_t take(std::size_t i) {
    const vertex& v = *tables_[i];
    const rows_taker& to = to_[i];
    std::uint64_t taken = 0;
    const auto rows = [&](const row_block& b) {
      handed_out_ = true;
      taken += b.n;
      return to.append(to.to, b);
    };
    const auto room = [&](std::uint64_t n) {
      handed_out_ = true;
      taken = n;
      return to.room(to.to, n);
    };
    const auto expected = [&](std::uint64_t n) {
      handed_out_ = true;
      to.reserve(to.to, n);
    };
    planner::branch table;
    table.table = tables_[i];
    table.row = v.row();
    const planner::branch& from = v.in_place ? v.inputs.front() : table;
    const std::vector<planner::binding> captures = v.in_place ? v.captures : std::vector<planner::binding>{};
    try {
      e_->leader->in_name_of(v, [&] {
        if (to.room && e_->session->cpu->assign(from, captures, room, e_->context)) return;
        e_->session->cpu->stream(from, captures, expected, rows, e_->context);
      });
    } catch (const unplaced_error& e) {
      fail_at(e, last_verb_of(i));
    }
    if (v.in_place && e_->context.profile) e_->context.profile->at(v.number)->gave(taken, taken * v.row()->size);
    return taken;
  }
  const logical& last_verb_of(std::size_t i) const {
    return *static_cast<const pipe*>(all_->node->functions.front().captures[i]->plan.get())->node;
  }

  template <class F> static void for_each_table_of(const vertex& v, F f) {
    const auto of = [&](const planner::branch& b) {
      if (b.table) f(b.table);
      for (const planner::stage& s : b.stages)
        if (s.build) f(s.build);
    };
    for (const planner::branch& b : v.inputs) of(b);
    for (const planner::binding& c : v.captures) f(c.table);
    of(v.body_result);
    of(v.test_result);
    for (const auto* list : {&v.body, &v.test})
      for (const vertex* w : *list) f(w);
  }

  // The queries that a vertex is a part of.
  std::vector<std::size_t> readers_of(const vertex* v) const {
    std::vector<std::size_t> numbers;
    if (!v) return numbers;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      std::unordered_set<const vertex*> seen{tables_[i]};
      std::vector<const vertex*> open{tables_[i]};
      while (!open.empty() && !seen.contains(v)) {
        const vertex* w = open.back();
        open.pop_back();
        for_each_table_of(*w, [&](const vertex* t) {
          if (seen.insert(t).second) open.push_back(t);
        });
      }
      if (seen.contains(v)) numbers.push_back(i);
    }
    return numbers;
  }

  runtime::execution* e_;
  std::span<const rows_taker> to_;
  vertex* all_;
  std::vector<vertex*> tables_;       // the rows of each query
  std::optional<std::size_t> reading_;  // the query whose rows are being taken
  bool handed_out_ = false;
};

}  // namespace

void run_together(const query_state& all, std::span<const rows_taker> to) {
  runtime::execution e(all.origin, all.how, "rows", planner::reading::whole, {}, all.node->label.c_str(), all.node->where, false, false);
  runtime::share_streams(*e.graph, e.context.pool);
  reading(e, to).run();
  e.finished();
}

}  // namespace query::detail
