// Means of 64-bit integers whose sum has no room in 64 bits: of timestamps, of both ends of the types, in arrays and optionals, by
// every verb that gives means. Those of narrower integers are exact.
#include <bit>
#include <cmath>
#include <set>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

namespace by = query::aggregates;

struct stamp {
  std::int32_t key;
  std::int64_t at;
  std::uint64_t mark;
  std::optional<std::int64_t> seen;
  std::array<std::int64_t, 2> span;
  std::array<std::uint64_t, 3> marks;
  std::int32_t low;
  std::uint32_t high;
};
QUERY_RECORD(stamp, key, at, mark, seen, span, marks, low, high);

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t top = std::uint64_t{1} << 63;

const std::vector<data_set<stamp>>& stamps() {
  static const std::vector<data_set<stamp>> all = [] {
    const auto make = [](std::string name, std::size_t n, auto at) {
      std::vector<stamp> rows(n);
      for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t t = at(i);
        const auto u = static_cast<std::uint64_t>(t);
        rows[i] = {static_cast<std::int32_t>(i % 7),
                   t,
                   u | top,
                   i % 3 ? std::optional(t) : std::nullopt,
                   {t, static_cast<std::int64_t>(i)},
                   {u, top, i},
                   std::numeric_limits<std::int32_t>::min(),
                   std::numeric_limits<std::uint32_t>::max()};
      }
      return data_set<stamp>{std::move(name), std::move(rows)};
    };
    const auto nanoseconds = [](std::size_t i) { return 1'763'800'000'000'000'000 + static_cast<std::int64_t>(i) * 1'000'003; };
    const auto mixed = [](std::size_t i) { return static_cast<std::int64_t>((i + 1) * 0x9E3779B97F4A7C15u); };
    return std::vector<data_set<stamp>>{
        make("none", 0, nanoseconds),
        make("one", 1, nanoseconds),
        make("eight timestamps", 8, nanoseconds),
        make("timestamps", 1025, nanoseconds),
        make("many timestamps", 70'000, nanoseconds),
        make("largest", 500, [](std::size_t) { return most; }),
        make("smallest", 500, [](std::size_t) { return least; }),
        make("of both signs", 20'000, mixed),
        make("mostly negative", 20'000, [=](std::size_t i) { return i % 10 ? -std::abs(mixed(i) / 2) - most / 2 : most; }),
    };
  }();
  return all;
}

// In 64 bits of mantissa (x86's long double), which is more than any engine has.
template <class F> double mean_of(const std::vector<stamp>& rows, F f) {
  long double s = 0;
  for (const stamp& t : rows) s += static_cast<long double>(f(t));
  return static_cast<double>(s / static_cast<long double>(rows.size()));
}
// Sums of numbers up to 2^64 are rounded at each addition.
void expect_near(double got, double wanted) { EXPECT_NEAR(got, wanted, 1e-12 * 0x1p64); }

const auto at_of = [](auto t) { return t.at; };
const auto mark_of = [](auto t) { return t.mark; };
const auto seen_of = [](auto t) { return t.seen; };
const auto span_of = [](auto t) { return t.span; };
const auto marks_of = [](auto t) { return t.marks; };

std::vector<stamp> of_key(const std::vector<stamp>& rows, std::int32_t key) {
  return kept(rows, [=](const stamp& t) { return t.key == key; });
}
std::vector<stamp> seen_ones(const std::vector<stamp>& rows) {
  return kept(rows, [](const stamp& t) { return t.seen.has_value(); });
}

CONFORMS(wide_means, of_a_few) {
  EXPECT_EQ(source(e, std::vector<std::int64_t>(8, 1'763'800'000'000'000'000)).average(), 1'763'800'000'000'000'000.0);
  EXPECT_EQ(source(e, std::vector<std::uint64_t>(2, top)).average(), 0x1p63);
  EXPECT_EQ(source(e, std::vector<std::uint64_t>(3, ~std::uint64_t{0})).mean(), 0x1p64);
  EXPECT_EQ(source(e, std::vector<std::int64_t>(1024, least)).average(), -0x1p63);
  EXPECT_EQ(source(e, std::vector<long long>(16, 1LL << 62)).average(), 0x1p62);
  EXPECT_EQ(source(e, std::vector<std::int64_t>{-3, 4, 1}).average(), 2.0 / 3);
  EXPECT_EQ(source(e, std::vector<std::int64_t>()).average(), std::nullopt);
  EXPECT_EQ(query::value_of(source(e, std::vector<std::int64_t>(8, least))).average().get(), -0x1p63);
}

CONFORMS(wide_means, of_all_rows, "average", "mean", "aggregate", "value_of", "where") {
  for (const auto& d : stamps()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    const std::vector<stamp> seen = seen_ones(d.rows);
    const auto late = [](auto t) { return t.key > 2; };
    const std::vector<stamp> kept_ones = kept(d.rows, late);
    if (d.rows.empty()) {
      EXPECT_EQ(q.average(at_of), std::nullopt);
      EXPECT_EQ(q.mean(mark_of), std::nullopt);
      EXPECT_EQ(q.average(seen_of), std::nullopt);
      const auto [at, mark, maybe, span] = q.aggregate(by::mean(at_of), by::mean(mark_of), by::mean(seen_of), by::mean(span_of));
      EXPECT_EQ(at, std::nullopt);
      EXPECT_EQ(mark, std::nullopt);
      EXPECT_EQ(maybe, std::nullopt);
      EXPECT_EQ(span, std::nullopt);
      continue;
    }
    const double at = mean_of(d.rows, at_of), mark = mean_of(d.rows, mark_of);
    expect_near(*q.average(at_of), at);
    expect_near(*q.select(at_of).mean(), at);
    expect_near(*q.mean(mark_of), mark);
    expect_near(*query::value_of(q).average(at_of).get(), at);
    expect_near(*query::value_of(q.select(mark_of)).mean().get(), mark);
    EXPECT_EQ(q.average(seen_of).has_value(), !seen.empty());
    if (!seen.empty()) expect_near(*q.average(seen_of), mean_of(seen, [](const stamp& t) { return *t.seen; }));
    EXPECT_EQ(q.where(late).average(at_of).has_value(), !kept_ones.empty());
    if (!kept_ones.empty()) expect_near(*q.where(late).average(at_of), mean_of(kept_ones, at_of));

    const auto got = q.aggregate(by::mean(at_of), by::average(mark_of), by::mean(seen_of), by::mean(span_of), by::mean(marks_of));
    expect_near(*std::get<0>(got), at);
    expect_near(*std::get<1>(got), mark);
    EXPECT_EQ(std::get<2>(got).has_value(), !seen.empty());
    if (!seen.empty()) expect_near(*std::get<2>(got), mean_of(seen, [](const stamp& t) { return *t.seen; }));
    expect_near((*std::get<3>(got))[0], at);
    expect_near((*std::get<3>(got))[1], mean_of(d.rows, [](const stamp& t) { return t.span[1]; }));
    expect_near((*std::get<4>(got))[0], mean_of(d.rows, [](const stamp& t) { return t.marks[0]; }));
    expect_near((*std::get<4>(got))[1], 0x1p63);
  }
}

CONFORMS(wide_means, of_groups, "group_by.select", "aggregate_by") {
  const auto key = [](auto t) { return t.key; };
  for (const auto& d : stamps()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    std::set<std::int32_t> keys;
    for (const stamp& t : d.rows) keys.insert(t.key);
    const auto traced =
        q.group_by(key)
            .select([](auto g) {
              return std::tuple(g.key(), g.mean(at_of), g.average(mark_of), g.mean(seen_of), g.mean(span_of), g.mean(marks_of));
            })
            .to_vector();
    EXPECT_EQ(traced.size(), keys.size());
    for (const auto& [k, at, mark, maybe, span, marks] : traced) {
      const std::vector<stamp> rows = of_key(d.rows, k), seen = seen_ones(rows);
      expect_near(at, mean_of(rows, at_of));
      expect_near(mark, mean_of(rows, mark_of));
      EXPECT_EQ(maybe.has_value(), !seen.empty());
      if (maybe) expect_near(*maybe, mean_of(seen, [](const stamp& t) { return *t.seen; }));
      expect_near(span[0], mean_of(rows, at_of));
      expect_near(span[1], mean_of(rows, [](const stamp& t) { return t.span[1]; }));
      expect_near(marks[0], mean_of(rows, [](const stamp& t) { return t.marks[0]; }));
    }
    const auto opaque = [](const query::Group<std::int32_t, stamp>& g) {
      return std::pair(g.key(), g.mean([](const stamp& t) { return t.at; }));
    };
    for (const auto& got :
         {q.aggregate_by(key, by::mean(at_of)).select([](auto r) { return std::pair(std::get<0>(r), std::get<1>(r)); }).to_vector(),
          q.group_by(key).select(opaque).to_vector()}) {
      EXPECT_EQ(got.size(), keys.size());
      for (const auto& [k, at] : got) expect_near(at, mean_of(of_key(d.rows, k), at_of));
    }
    // A group a row, or nearly: means of one value are that value.
    for (const auto& [at, mean] : q.group_by(at_of).select([](auto g) { return std::pair(g.key(), g.mean(at_of)); }).to_vector())
      expect_near(mean, static_cast<double>(at));
  }
}

CONFORMS(wide_means, of_narrower_integers_are_exact, "average", "group_by.select") {
  for (const auto& d : stamps()) {
    if (d.rows.empty()) continue;
    SCOPED_TRACE(d.name);
    const auto low = [](auto t) { return t.low; };
    const auto high = [](auto t) { return t.high; };
    const auto q = source(e, d.rows);
    EXPECT_EQ(q.average(low), -0x1p31);
    EXPECT_EQ(q.average(high), 0x1p32 - 1);
    for (const auto& [l, h] :
         q.group_by([](auto t) { return t.key; }).select([=](auto g) { return std::pair(g.mean(low), g.mean(high)); }).to_vector()) {
      EXPECT_EQ(l, -0x1p31);
      EXPECT_EQ(h, 0x1p32 - 1);
    }
  }
}

CONFORMS(wide_means, do_not_depend_on_the_number_of_threads, "average", "group_by.select", "aggregate") {
  const auto q = source(e, stamps().back().rows);
  const bool interpret = std::string(e.column) == "interpreter";
  // Nothing is weighed: whether the GPU pays depends on the number of threads, and it adds in another order than the CPU.
  const query::Session one({.threads = 1, .interpret = interpret, .gpu_min_rows = 0}),
      three({.threads = 3, .interpret = interpret, .gpu_min_rows = 0});
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  const auto all = [&](auto rows) {
    const auto late = [](auto t) { return t.key > 2; };
    std::vector<std::uint64_t> r{bits(*rows.average(at_of)), bits(*rows.where(late).average(mark_of)),
                                 bits(rows.aggregate([](auto g) { return g.mean(seen_of); }).to_vector()[0].value())};
    if (e.accelerate) return r;  // on the GPU, means of groups may differ in their last bits
    for (const double x : rows.group_by([](auto t) { return t.key; }).select([](auto g) { return g.mean(at_of); }).as_ordered().to_vector())
      r.push_back(bits(x));
    return r;
  };
  const auto got = all(q);
  EXPECT_EQ(got, all(q));
  if (in_partitions(e) || (e.accelerate && std::string_view(e.name) != "gpu"))
    return;  // the order of additions depends on the number of devices or partitions, and those sessions have one
  EXPECT_EQ(got, all(q.in(one)));
  EXPECT_EQ(got, all(q.in(three)));
}

}  // namespace
}  // namespace conformance
