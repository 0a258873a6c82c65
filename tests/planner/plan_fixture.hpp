// Rows and checks for the planner's tests: plans as text, compared with golden files, and results with and without rules.
#pragma once

#include <compare>
#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <query/query.hpp>

#include "golden_text.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/executor.hpp"

namespace planner_test {

struct Trade {
  std::int32_t symbol = 0;
  double price = 0;
  std::int64_t qty = 0;
  std::int32_t venue = 0;
  auto operator<=>(const Trade&) const = default;
};
QUERY_RECORD(Trade, symbol, price, qty, venue);

struct Stock {
  std::int32_t symbol = 0;
  std::int32_t sector = 0;
  auto operator<=>(const Stock&) const = default;
};
QUERY_RECORD(Stock, symbol, sector);

struct Priced {
  std::int32_t symbol = 0, sector = 0;
  double value = 0;
  auto operator<=>(const Priced&) const = default;
};
QUERY_RECORD(Priced, symbol, sector, value);

struct Total {
  std::int32_t symbol = 0;
  std::int64_t qty = 0, n = 0;
  auto operator<=>(const Total&) const = default;
};
QUERY_RECORD(Total, symbol, qty, n);

inline std::vector<Trade> make_trades(std::size_t n) {
  std::vector<Trade> t;
  std::uint64_t x = 88172645463325252ull;  // xorshift: the same rows on every machine
  for (std::size_t i = 0; i < n; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    t.push_back({static_cast<std::int32_t>(x % 50), static_cast<double>(x >> 8 & 1023) / 4, static_cast<std::int64_t>(x >> 20 & 255),
                 static_cast<std::int32_t>(x >> 40 & 3)});
  }
  return t;
}
inline std::vector<Stock> make_stocks() {
  std::vector<Stock> s;
  for (std::int32_t i = 0; i < 60; i += 2) s.push_back({i, i % 7});
  return s;
}
inline const std::vector<Trade> trades = make_trades(5000);
inline const std::vector<Trade> more_trades = make_trades(700);
inline const std::vector<Stock> stocks = make_stocks();

inline query::planner::plan_options options(bool rewrite) {
  query::planner::plan_options o;
  o.rewrite = rewrite;
  return o;
}

template <class Q> std::string plan_of(const Q& q, std::string terminal, bool rewrite = true) {
  return query::planner::explain(*query::planner::make_machine_graph(q.to_pipe(), std::move(terminal), options(rewrite)));
}

// Call sites without lines, "@plan": compilers differ in the line of a verb in a call that is written over several.
inline std::string without_lines(const std::string& plan, const std::string& file) {
  const std::string here = std::regex_replace(plan, std::regex("@" + file + ":[0-9]+"), "@plan");
  return std::regex_replace(here, std::regex("@([a-z_]+\\.hpp):[0-9]+"), "@$1");  // verbs that the library's headers add
}

inline void expect_golden(const std::string& name, const std::string& plan) { expect_golden_text("planner/golden/" + name + ".txt", plan); }

// The rows of a query, planned with or without rules.
template <class Q> auto rows_of(const Q& q, bool rewrite) {
  using T = typename Q::row;
  const auto graph = query::planner::make_machine_graph(q.to_pipe(), "rows", options(rewrite));
  query::runtime::session_state& session = *query::Session::standard().state();
  query::runtime::cancel_flag cancel;
  query::runtime::run_context context{*session.scheduler, session.pool, cancel};
  query::runtime::executor(*graph, session, context).run_vertices();
  const query::detail::table t = session.cpu->collect(graph->result, graph->captures, context);
  const T* rows = static_cast<const T*>(t.rows);
  return std::vector<T>(rows, rows + t.n);
}
template <class Q> std::int64_t count_of(const Q& q, bool rewrite) {
  const auto graph = query::planner::make_machine_graph(q.to_pipe(), "count", options(rewrite));
  query::runtime::session_state& session = *query::Session::standard().state();
  query::runtime::cancel_flag cancel;
  query::runtime::run_context context{*session.scheduler, session.pool, cancel};
  query::runtime::executor(*graph, session, context).run_vertices();
  query::detail::fold_state state;
  session.cpu->fold(graph->result, graph->captures, query::detail::fold_kind::count, state, context);
  return static_cast<std::int64_t>(state.count);
}

}  // namespace planner_test
