// The interpreter's column of matrix.csv is what it says: whatever the conformance tests run in the session that interprets, no
// function that traces is left to compiled code, but for the reasons listed here.
#include <mutex>
#include <set>
#include <string>

#include "conformance/engines.hpp"
#include "planner/left_native.hpp"

namespace conformance {
namespace {

constexpr std::string_view known_reasons[] = {
    "its loop cannot be split at ",  // an opaque function of row numbers has no form but the loop
    "its collections are put in by compiled code",  // of select_many
    "the counterpart of a device function is compiled",
    "approx_count_distinct: only compiled code ", "approx_quantile: only compiled code ", "top_k_frequent: only compiled code ",
    // Records, tuples and optionals of them have never been interpreted here: their parts may have an operator < of their own, which the
    // description of a type at run time does not know.
    "max: values of ", "min: values of ", "arg_max: values of ", "arg_min: values of ",
};

struct seen_functions {
  std::mutex mutex;
  std::set<std::string> unexpected;
};
seen_functions& seen() {
  static seen_functions s;
  return s;
}
void look_at(const query::planner::left_native& x) {
  if (!x.function.trace()) return;
  for (const std::string_view reason : known_reasons)
    if (x.why.starts_with(reason)) return;
  const std::scoped_lock lock(seen().mutex);
  seen().unexpected.insert(x.verb.label + ", " + std::string(x.function.role) + ": " + std::string(x.why));
}

// Looks on while the tests of this process run, whichever they are.
class no_traced_function_runs_natively final : public ::testing::Environment {
 public:
  void SetUp() override { query::planner::observe_left_native(look_at); }
  void TearDown() override {
    query::planner::observe_left_native(nullptr);
    for (const std::string& f : seen().unexpected) ADD_FAILURE() << "traced, but run natively in an interpreting session: " << f;
  }
};
[[maybe_unused]] const auto* const looks_on = ::testing::AddGlobalTestEnvironment(new no_traced_function_runs_natively);

// The observer is told: of an opaque function, and of a traced one in a loop that cannot be split.
TEST(interpretation, what_runs_natively_is_told) {
  static int opaque = 0, traced = 0;
  query::planner::observe_left_native([](const query::planner::left_native& x) { ++(x.function.trace() ? traced : opaque); });
  const query::Session interpreting({.threads = 1, .interpret = true}), compiled({.threads = 1});
  const std::vector<int> rows = {1, 2, 3};
  const auto q = query::from(rows).select([](auto x) { return x + 1; }).select([](int x, std::int64_t at) { return x + at; });
  EXPECT_EQ(q.in(compiled).sum(), 12);
  EXPECT_EQ(opaque + traced, 0);
  EXPECT_EQ(q.in(interpreting).sum(), 12);
  EXPECT_EQ(opaque, 1);
  EXPECT_EQ(traced, 1);
  query::planner::observe_left_native(look_at);
}

}  // namespace
}  // namespace conformance
