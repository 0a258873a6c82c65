// Tests of take_while and skip_while that fail with an error: what lies behind the row that ends the slice is never tested, as far as the
// user can tell; what lies before it is. Native code tests rows a batch at a time, and is left out.
#include <optional>

#include "conformance/compiled_kernels.hpp"
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

struct step {
  std::int32_t id;
  std::optional<std::int32_t> more;
};
QUERY_RECORD(step, id, more);

// More is 1 up to row `end`, 0 from there on, and nothing at `holes`.
std::vector<step> steps(std::size_t n, std::size_t end, const std::vector<std::size_t>& holes) {
  std::vector<step> rows(n);
  for (std::size_t i = 0; i < n; ++i) rows[i] = {static_cast<std::int32_t>(i), i < end ? 1 : 0};
  for (const std::size_t hole : holes) rows[hole].more = std::nullopt;
  return rows;
}
const auto goes_on = [](auto s) { return s.more.value() > 0; };
bool tests_rows_by_expressions(const engine_config& e) { return std::string_view(e.column) != "cpu" && computes(e); }

template <class Q> auto rows_of(const engine_config& e, const Q& q) {
  if (e.accelerate) {
    EXPECT_TRUE(planned_there(q.explain()));
  }
  return q.to_vector();
}

CONFORMS(failing_slices, are_not_seen_behind_their_end, "take_while", "skip_while") {
  if (!tests_rows_by_expressions(e)) return;
  for (const std::size_t n : {1u, 40u, 3000u, 70000u})
    for (const std::size_t end : {std::size_t{0}, n / 2, n - 1}) {
      SCOPED_TRACE(std::to_string(end) + " of " + std::to_string(n));
      std::vector<std::size_t> holes;
      for (std::size_t hole = end + 1; hole < n; hole += 7) holes.push_back(hole);
      const auto rows = steps(n, end, holes);
      const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(end);
      EXPECT_ROWS(rows_of(e, source(e, rows).take_while(goes_on)), std::vector<step>(rows.begin(), middle));
      EXPECT_ROWS(rows_of(e, source(e, rows).skip_while(goes_on)), std::vector<step>(middle, rows.end()));
    }
}

CONFORMS(failing_slices, are_errors_before_their_end, "take_while", "skip_while") {
  if (!tests_rows_by_expressions(e)) return;
  for (const std::size_t n : {2u, 40u, 3000u, 70000u})
    for (const std::size_t hole : {std::size_t{0}, n / 2, n - 1}) {
      SCOPED_TRACE(std::to_string(hole) + " of " + std::to_string(n));
      const auto rows = steps(n, n, {hole, n - 1});
      EXPECT_THROW(source(e, rows).take_while(goes_on).to_vector(), query::user_error);
      EXPECT_THROW(source(e, rows).skip_while(goes_on).to_vector(), query::user_error);
    }
}

}  // namespace
}  // namespace conformance
