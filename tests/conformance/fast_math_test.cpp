// Are floats IEEE's on the GPU, unless the query permits fast math? Where a product is rounded before it is added, x * x - round(x * x)
// is 0; a fused multiply-add leaves what rounding took away.
#include <cmath>

#include "conformance/compare.hpp"
#include "conformance/compiled_kernels.hpp"
#include "conformance/engines.hpp"

namespace conformance {
namespace {

struct sample {
  double x, square;  // as rounded
  float a, b;
};
QUERY_RECORD(sample, x, square, a, b);
struct counted {
  int key;
  std::int64_t n;
  bool operator==(const counted&) const = default;
};
QUERY_RECORD(counted, key, n);

std::vector<sample> samples() {
  std::vector<sample> all;
  for (std::size_t i = 0; i < 40'000; ++i) {
    const double x = 1 + static_cast<double>(i) * 1.000001e-5;
    all.push_back({x, x * x, static_cast<float>(i % 1000) + 0.1f, static_cast<float>(i % 77) + 1.5f});
  }
  return all;
}

double exact_rest(const sample& s) { return std::abs(s.x * s.x - s.square); }

CONFORMS(fast_math, products_are_rounded_before_they_are_added, "select", "sum", "where", "accelerated") {
  const auto rows = samples();
  const auto rest = [](auto s) { return s.x * s.x - s.square; };
  EXPECT_EQ(source(e, rows).where([](auto s) { return s.x * s.x - s.square != 0; }).count(), 0u);
  EXPECT_EQ(source(e, rows).select(rest).max(), std::optional(0.0));
  // Kernels that are linked with functions of the user's keep to it, and so do these.
  const auto of_device = query::accelerated(exact_rest, query::device_function{.symbol = "exact_rest", .code = R"(
    extern "C" __device__ double exact_rest(const sample* s) { return fabs(s->x * s->x - s->square); }
  )"});
  EXPECT_EQ(source(e, rows).select(of_device).max(), std::optional(0.0));
  EXPECT_EQ(source(e, rows).where([](auto s) { return s.x * s.x - s.square != 0; }).select(of_device).count(), 0u);
}

CONFORMS(fast_math, functions_give_what_those_of_cmath_give, "select") {
  const auto rows = samples();
  const auto same = [&](const char* name, auto f, auto native) {
    SCOPED_TRACE(name);
    const auto got = source(e, rows).select(f).to_vector();
    using number = typename std::remove_cvref_t<decltype(got)>::value_type;
    const double most = sizeof(number) == 4 ? 4e-6 : 2e-14;  // CUDA's are right to a few units in the last place, ten at worst
    ASSERT_EQ(got.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const number wanted = native(rows[i]);
      ASSERT_NEAR(got[i], wanted, most * std::abs(static_cast<double>(wanted))) << i;
    }
  };
#define QUERY_SAME(function, argument)                                                                  \
  same(#function " of doubles", [](auto s) { return query::function(s.x argument); },                   \
       [](const sample& s) { return std::function(s.x argument); });                                    \
  same(#function " of floats", [](auto s) { return query::function(s.b / 32 argument); },               \
       [](const sample& s) { return std::function(s.b / 32 argument); });
  QUERY_SAME(erf, - 1) QUERY_SAME(erfc, + 1) QUERY_SAME(tgamma, * 3)
  QUERY_SAME(asinh, * 2) QUERY_SAME(acosh, + 1) QUERY_SAME(atanh, / 4)
#undef QUERY_SAME
}

CONFORMS(fast_math, where_it_is_permitted_results_differ_in_their_last_digits_only, "fast_math", "select", "group_by", "order_by") {
  const auto rows = samples();
  const auto q = source(e, rows).fast_math();
  EXPECT_NE(q.explain().find("fast math on the GPU"), std::string::npos) << q.explain();
  const auto of = [](auto s) { return query::exp(-s.a / s.b) + query::sqrt(s.a) * query::log(s.b); };
  const auto fast = q.select(of).to_vector();
  ASSERT_EQ(fast.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float exact = std::exp(-rows[i].a / rows[i].b) + std::sqrt(rows[i].a) * std::log(rows[i].b);
    ASSERT_NEAR(fast[i], exact, 1e-5f * std::max(1.0f, std::abs(exact))) << i;
  }
  // Integers, keys and the order of rows are what they were.
  const auto key = [](auto s) { return query::cast<int>(s.b); };
  const auto groups = [&](const auto& from) {
    return from.group_by(key).select([](auto g) { return query::make<counted>(g.key(), g.count()); })
        .order_by([](auto c) { return c.key; })
        .to_vector();
  };
  EXPECT_EQ(groups(q), groups(source(e, rows)));
  // It is used: no CPU engine fuses, so there nothing changes.
  const auto rest = q.select([](auto s) { return query::abs(s.x * s.x - s.square); });
  const double most = (e.accelerate ? rest.require_gpu().max() : rest.max()).value_or(-1);
  if (e.accelerate && computes(e)) EXPECT_GT(most, 0.0);
  else EXPECT_EQ(most, 0.0);
  EXPECT_LT(most, 1e-14);
}

}  // namespace
}  // namespace conformance
