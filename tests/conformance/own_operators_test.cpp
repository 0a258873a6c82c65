// Records with operators of their own, next to those of query::operators: the record's own is what counts, on every engine.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"

namespace conformance {
namespace own_operators {

// Arithmetic that differs from member by member.
struct Complex {
  double re, im;
  friend Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
  friend Complex operator*(Complex a, double k) { return {a.re * k, 0}; }
  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im - b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im + b.im}; }
  friend Complex operator/(Complex a, Complex b) { return {a.re / b.im, a.im / b.re}; }
  friend Complex operator-(Complex a) { return {a.im, a.re}; }
  friend bool operator==(Complex a, Complex b) { return a.re == b.re; }
  friend bool operator<(Complex a, Complex b) { return a.im < b.im; }
};
QUERY_RECORD(Complex, re, im);
using Pair = std::array<Complex, 2>;
Pair operator*(const Pair& a, const Pair& b) { return {a[1] * b[0], a[0] * b[1]}; }
struct Signal {
  int id;
  Complex c, d;
  Pair both;
};
QUERY_RECORD(Signal, id, c, d, both);
struct Plain {
  double x, y;
};
QUERY_RECORD(Plain, x, y);

}  // namespace own_operators

namespace {
using own_operators::Complex, own_operators::Plain, own_operators::Signal;

std::vector<Signal> signals() {
  std::vector<Signal> v;
  for (int i = 1; i < 2000; ++i) {
    const Complex c{double(i % 7 + 1), double(i % 5 + 2)}, d{double(i % 3 + 1), double(i % 11 + 1)};
    v.push_back({i, c, d, {d, c}});
  }
  return v;
}

CONFORMS(own_operators, of_a_record_count_and_not_memberwise_ones, "select", "where") {
  using namespace query::operators;
  const auto rows = signals();
  const auto agrees = [&](auto f) {
    const auto got = source(e, rows).select(f).to_vector();
    ASSERT_EQ(got.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(got[i], f(rows[i])) << i;
  };
  agrees([](auto r) { return (r.c * r.d).re; });
  agrees([](auto r) { return (r.c * 2.0).im; });
  agrees([](auto r) { return (r.c + r.d).im; });
  agrees([](auto r) { return (r.c - r.d).im; });
  agrees([](auto r) { return (r.c / r.d).re; });
  agrees([](auto r) { return (-r.c).re; });
  agrees([](auto r) { return (r.both * r.both)[0].re; });
  agrees([](auto r) { return r.c == r.d; });
  agrees([](auto r) { return r.c < r.d; });
  const auto negative = kept(rows, [](const Signal& s) { return (s.c * s.c).re < 0; });
  EXPECT_EQ(source(e, rows).where([](auto r) { return (r.c * r.c).re < 0; }).count(), negative.size());
}
// Rows that aggregates give are records too, and so are records in them.
CONFORMS(own_operators, of_rows_that_aggregates_give, "group_by.select") {
  const auto rows = signals();
  const auto key_of = [](auto s) { return s.id % 50; };
  const auto c_of = [](auto s) { return s.c; };
  const auto got = source(e, rows).group_by(key_of).select([=](auto g) {
    const auto best = g.arg_max([](auto s) { return s.d.im; });
    return std::make_tuple(g.key(), g.first(c_of) == g.last(c_of), g.first().c < g.last().c, g.last(c_of) - g.first(c_of), -g.first().c,
                           best.c == Complex{2, 3}, g.first(c_of) != g.last().c);
  }).as_ordered().to_vector();
  const auto groups = grouped(rows, key_of);
  ASSERT_EQ(got.size(), groups.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto& [key, all] = groups[i];
    const auto best = *std::max_element(all.begin(), all.end(), [](const Signal& a, const Signal& b) { return a.d.im < b.d.im; });
    const Complex first = all.front().c, last = all.back().c;
    EXPECT_EQ(std::get<0>(got[i]), key);
    EXPECT_EQ(std::get<1>(got[i]), first == last);
    EXPECT_EQ(std::get<2>(got[i]), first < last);
    EXPECT_EQ(std::get<3>(got[i]).im, (last - first).im);
    EXPECT_EQ(std::get<4>(got[i]).re, (-first).re);
    EXPECT_EQ(std::get<5>(got[i]), best.c == (Complex{2, 3}));
    EXPECT_EQ(std::get<6>(got[i]), first != last);
  }
}

CONFORMS(own_operators, of_a_record_count_in_predicates_that_the_planner_reads, "join") {
  using namespace query::operators;
  const std::vector<Signal> rows{{1, {1, 2}, {}, {}}, {2, {3, 1}, {}, {}}};
  const auto id = [](auto r) { return r.id; };
  const auto joined = source(e, rows).join(source(e, rows), id, id, [](auto, auto b) { return b.c; });
  const auto negative = joined.where([](auto c) { return (c * c).re < 0; });
  EXPECT_EQ(negative.count(), 1u);
}
CONFORMS(own_operators, of_a_record_count_in_rows_of_columns, "columns") {
  using namespace query::operators;
  const std::vector<double> re{1, 3}, im{2, 1};
  const auto sums = query::from(query::columns<Complex>(re, im)).in(e.session).select([](auto c) { return (c * c).re; }).to_vector();
  EXPECT_EQ(sums, (std::vector<double>{-3, 8}));
}
TEST(own_operators, make_a_function_opaque_and_say_which) {
  using namespace query::operators;
  const auto rows = signals();
  const std::string plan = query::from(rows).select([](auto r) { return (r.c * r.d).re; }).explain();
  EXPECT_NE(plan.find("the record has its own operator*"), std::string::npos) << plan;
}
TEST(own_operators, make_a_function_opaque_where_query_operators_are_not_open) {
  const auto rows = signals();
  const std::string plan = query::from(rows).select([](auto r) { return (r.c - r.d).re; }).explain();
  EXPECT_NE(plan.find("the record has its own operator-"), std::string::npos) << plan;
}
TEST(own_operators, of_other_records_leave_memberwise_ones_traced) {
  using namespace query::operators;
  const std::vector<Plain> rows{{1, 2}};
  EXPECT_EQ(query::from(rows).select([](auto p) { return (p * p + p * 2.0).y; }).explain().find("opaque"), std::string::npos);
}

}  // namespace
}  // namespace conformance
