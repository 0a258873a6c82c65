// The engines that every conformance test runs on, as run-time values: a test is compiled once, whatever the number of engines.
//
//   CONFORMS(where, keeps_the_rows_for_which_f_is_true, "where") {
//     EXPECT_ROWS(from(rows).in(e.session).where(p).to_vector(), expected);
//   }
//
// The body runs once for each engine, which it knows as `e`; expected results come from loops over std::vector in the test.
//
// To add an engine (GPU, cluster): add an entry to the list in engines.cpp: a Session with that engine (Session::add_engine),
// the name of its column in matrix.csv, and `accelerate` if its sources must be marked with as_accelerated(). Verbs that it
// leaves to another engine go into `leaves_out` with the reason: their tests still run in that session, by its fallback, and
// matrix.csv shows the reason. Then write matrix.csv anew (matrix_test.cpp). Tests begin with source(e, rows) or on(e, query).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <query/query.hpp>

namespace conformance {

struct engine_config {
  const char* name;    // "cpu, 4 threads"
  const char* column;  // of matrix.csv: "cpu"
  query::Session session;
  bool accelerate = false;                                  // mark sources with as_accelerated()
  std::string missing = {};                                 // why this machine does not have the engine; its tests are left out
  std::map<std::string, std::string> leaves_out = {};       // verb -> why another engine runs it
};
const std::vector<engine_config>& engines();
// Queries of the session run in several partitions: sums of floats have other last bits there, and functions of keys that exchanges and
// verbs both need are called twice.
bool in_partitions(const engine_config& e);
// Those partitions are processes: what functions do besides giving a result happens there.
bool in_processes(const engine_config& e);

// What a test says it is about: rows of matrix.csv.
struct coverage {
  coverage(const char* test, std::vector<std::string_view> verbs);
};
// Verb -> the tests that name it.
const std::map<std::string, std::vector<std::string>, std::less<>>& covered();

// Fails the test if something that was planned for the engine ran on the CPU since the last call: a kernel that does not
// compile would go unseen, as the CPU's results are right.
void nothing_fell_back(const engine_config& e);

// Where the tests' queries begin.
template <class C> auto source(const engine_config& e, C&& rows) {
  auto q = query::from(std::forward<C>(rows)).in(e.session);
  return e.accelerate ? q.as_accelerated() : q;
}
template <class T, class Chain> auto on(const engine_config& e, const query::Query<T, Chain>& q) {
  return e.accelerate ? q.in(e.session).as_accelerated() : q.in(e.session);
}

}  // namespace conformance

#define CONFORMS(suite, behaviour, ...)                                                                     \
  static void suite##_##behaviour(const conformance::engine_config& e);                                     \
  static const conformance::coverage suite##_##behaviour##_covers(#suite "." #behaviour, {__VA_ARGS__});    \
  TEST(suite, behaviour) {                                                                                  \
    for (const conformance::engine_config& e : conformance::engines()) {                                    \
      if (!e.missing.empty()) continue;                                                                     \
      SCOPED_TRACE(e.name);                                                                                 \
      suite##_##behaviour(e);                                                                               \
      conformance::nothing_fell_back(e);                                                                    \
    }                                                                                                       \
  }                                                                                                         \
  static void suite##_##behaviour([[maybe_unused]] const conformance::engine_config& e)
