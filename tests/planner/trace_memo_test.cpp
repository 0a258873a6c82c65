// How often functions are traced: once an execution, anew in the next one.
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include <query/query.hpp>

#include "planner/trace_memo.hpp"

namespace {

using query::planner::trace_memo;

const std::vector<int> numbers = {1, 2, 3};

// A function that counts the calls with symbolic rows.
auto counted(int& calls) {
  return [&calls](auto x) {
    if constexpr (!std::is_arithmetic_v<decltype(x)>) ++calls;
    return x * 2;
  };
}

TEST(trace_memo, a_function_is_traced_once_under_a_scope) {
  int calls = 0;
  const auto q = query::from(numbers).select(counted(calls));
  const auto pipe = q.to_pipe();
  const auto& f = pipe.node->functions.front();
  calls = 0;
  (void)f.trace();
  const int once = calls;
  ASSERT_GT(once, 0);
  trace_memo traces;
  {
    const trace_memo::scope here(traces);
    const auto first = f.trace(), second = f.trace();
    EXPECT_EQ(first.root, second.root);
    EXPECT_EQ(calls, 2 * once);
    trace_memo::forget_here();
    (void)f.trace();
    EXPECT_EQ(calls, 3 * once);
    trace_memo of_another;
    const trace_memo::scope inner(of_another);
    (void)f.trace();
    EXPECT_EQ(calls, 4 * once);
  }
  (void)f.trace();
  EXPECT_EQ(calls, 5 * once);
}

TEST(trace_memo, what_a_trace_names_is_told_to_each_recorder) {
  const auto wanted = query::broadcast(numbers);
  const auto q = query::from(numbers).select([&wanted](auto x) { return wanted.count(x, [](auto a, auto b) { return a == b; }); });
  const auto pipe = q.to_pipe();
  trace_memo traces;
  const trace_memo::scope here(traces);
  for (int i = 0; i < 2; ++i) {
    const query::detail::capture_recorder recorder;
    (void)pipe.node->functions.front().trace();
    EXPECT_EQ(recorder.found().size(), 1u) << i;
  }
}

TEST(trace_memo, executions_trace_once_each_and_see_what_changed_between_them) {
  int calls = 0, factor = 2;
  const query::Session session({.threads = 1, .interpret = true, .gpu = query::gpu_use::off});
  const auto q = query::from(numbers).in(session).select(counted(calls)).select([&factor](auto x) { return x * factor; });
  const auto pipe = q.to_pipe();
  calls = 0;
  (void)pipe.node->inputs.front().node->functions.front().trace();
  const int once = calls;
  calls = 0;
  EXPECT_EQ(q.to_vector(), (std::vector<int>{4, 8, 12}));
  EXPECT_EQ(calls, once);
  factor = 3;
  EXPECT_EQ(q.to_vector(), (std::vector<int>{6, 12, 18}));
  EXPECT_EQ(calls, 2 * once);
}

}  // namespace
