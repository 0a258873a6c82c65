// Integer division by zero in functions that are never traced: they name their parameters' types or are opaque, as functions of groups with
// rows, own orders and hashes, and what terminal verbs call. A session that checks gives an error with verb and place.
#include <array>
#include <cstdio>
#include <limits>
#include <variant>

#include "conformance/checking.hpp"
#include "conformance/compare.hpp"
#include "conformance/expect_message.hpp"

namespace conformance {
namespace divisors {
extern thread_local std::int64_t of_thread;
thread_local std::int64_t of_thread = 0;
}  // namespace divisors

namespace {

#if defined(__x86_64__) && defined(__linux__)

using number = std::int64_t;
using group = query::Group<number, number>;

const std::vector<number> few{3, 1, 0, 2};
const std::vector<number> right{1, 2};

// The undefined-behaviour sanitizer ends the program before the processor has its say.
__attribute__((no_sanitize("undefined"))) number quotient(number a, number b) { return a / b; }
__attribute__((no_sanitize("undefined"))) number rest(number a, number b) { return a % b; }
__attribute__((no_sanitize("undefined"))) number part_of_thread(number a) { return a / divisors::of_thread; }

const auto divide = [](const number& x) { return quotient(6, x); };
const auto even = [](const number& x) { return quotient(6, x) % 2 == 0; };
const auto itself = [](auto x) { return x; };
const auto parity = [](auto x) { return x % 2; };
const auto positive = [](const number& x) { return x > 0; };

auto checked(const engine_config& e, const std::vector<number>& rows = few) { return source(checking(e), rows); }

CONFORMS(compiled_division, row_wise, "where", "select", "select_many", "count", "sum", "any", "all", "first", "take_while", "skip_while") {
  const auto q = checked(e);
  EXPECT_MESSAGE("select: division by zero", q.select(divide).to_vector());
  EXPECT_MESSAGE("select: division by zero", q.select([](const number& x) { return rest(6, x); }).to_vector());
  EXPECT_MESSAGE("select: division by zero", q.select(query::opaque([](auto x) { return quotient(6, x); })).to_vector());
  EXPECT_MESSAGE("where: division by zero", q.where(even).count());
  EXPECT_MESSAGE("sum: division by zero", q.sum(divide));
  EXPECT_MESSAGE("max: division by zero", q.max(divide));
  EXPECT_MESSAGE("count: division by zero", q.count(even));
  EXPECT_MESSAGE("all: division by zero", q.all([](const number& x) { return quotient(6, x) < 100; }));
  EXPECT_MESSAGE("first: division by zero", q.first([](const number& x) { return quotient(6, x) > 100; }));
  EXPECT_MESSAGE("select: division by zero", q.select([](const number& x, std::int64_t i) { return quotient(i, x); }).to_vector());
  EXPECT_MESSAGE("select_many: division by zero", q.select_many([](const number& x) { return std::array{x, quotient(6, x)}; }).to_vector());
  EXPECT_MESSAGE("take_while: division by zero", q.take_while([](const number& x) { return quotient(6, x) < 100; }).to_vector());
  EXPECT_MESSAGE("skip_while: division by zero", q.skip_while([](const number& x) { return quotient(6, x) < 100; }).to_vector());
  EXPECT_EQ(q.where(positive).select(divide).sum(), 11);
}

// The verb is the one that divides, not one that its rows go to.
CONFORMS(compiled_division, names_the_verb_that_divides, "select", "where", "group_by", "order_by", "join", "zip") {
  const auto q = checked(e);
  EXPECT_MESSAGE("where: division by zero", q.where(even).group_by(parity).count().to_vector());
  EXPECT_MESSAGE("select: division by zero", q.select(divide).order_by(itself).to_vector());
  EXPECT_MESSAGE("select: division by zero", q.select(divide).distinct().to_vector());
  EXPECT_MESSAGE("select: division by zero", q.select(divide).join(right, itself, itself).to_vector());
  EXPECT_MESSAGE("join: division by zero", q.join(few, itself, itself, [](const number& a, const number& b) { return quotient(a, b); })
                                                .group_by(parity).count().to_vector());
  EXPECT_MESSAGE("zip: division by zero", q.zip(few, [](const number& a, const number& b) { return quotient(a, b); }).sum());
}

CONFORMS(compiled_division, keys, "group_by", "order_by", "top", "distinct_by", "union_with_by", "intersect_by", "except_by", "count_by",
         "to_lookup", "to_map", "min_by", "hash_partitioned_by", "join", "semi_join") {
  const auto q = checked(e);
  EXPECT_MESSAGE("group_by: division by zero", q.group_by(divide).count().to_vector());
  EXPECT_MESSAGE("count_by: division by zero", q.count_by(divide).to_vector());
  EXPECT_MESSAGE("order_by: division by zero", q.order_by(divide).to_vector());
  EXPECT_MESSAGE("then_by: division by zero", q.order_by([](auto x) { return x * 0; }).then_by(divide).to_vector());
  EXPECT_MESSAGE("top: division by zero", q.top(2, divide).to_vector());
  EXPECT_MESSAGE("min_by: division by zero", q.min_by(divide));
  EXPECT_MESSAGE("distinct_by: division by zero", q.distinct_by(divide).to_vector());
  EXPECT_MESSAGE("union_with_by: division by zero", q.union_with_by(right, divide).to_vector());
  EXPECT_MESSAGE("intersect_by: division by zero", q.intersect_by(right, divide).to_vector());
  EXPECT_MESSAGE("except_by: division by zero", q.except_by(right, divide).to_vector());
  EXPECT_MESSAGE("to_lookup: division by zero", q.to_lookup(divide));
  EXPECT_MESSAGE("to_map: division by zero", q.to_map(divide));
  EXPECT_MESSAGE("to_map: division by zero", q.to_map(itself, divide));
  EXPECT_MESSAGE("join: division by zero", q.join(right, divide, itself).to_vector());
  EXPECT_MESSAGE("join: division by zero", checked(e, right).join(few, itself, divide).to_vector());
  EXPECT_MESSAGE("semi_join: division by zero", q.semi_join(right, divide, itself).to_vector());
  EXPECT_MESSAGE("hash_partitioned_by: division by zero",
                 q.hash_partitioned_by(divide, 2).apply([](std::span<const number> r) { return r.size(); }).to_vector());
}

// Their aggregates are plain numbers, whose quotients are the user's own code.
CONFORMS(compiled_division, functions_of_groups_with_rows, "group_by.select") {
  const auto q = checked(e);
  const auto of_key = [](const group& g) { return quotient(6, g.key()); };
  const auto of_aggregates = [](const group& g) { return quotient(g.sum(), g.count() - 2); };
  const auto of_rows = [](const group& g) { return g.sum([](auto x) { return quotient(6, x); }); };
  const auto in_a_loop = [](const group& g) {
    number n = 0;
    for (const number x : g) n += quotient(6, x);
    return n;
  };
  EXPECT_MESSAGE("group_by: division by zero", q.group_by(parity).select(of_key).to_vector());
  EXPECT_MESSAGE("group_by: division by zero", q.group_by(parity).select(of_aggregates).to_vector());
  EXPECT_MESSAGE("group_by: division by zero", q.group_by(parity).select(of_rows).to_vector());
  EXPECT_MESSAGE("group_by: division by zero", q.group_by(parity).select(in_a_loop).to_vector());
  EXPECT_MESSAGE("group_by: division by zero", q.group_by(parity).select([](auto g) { return g.sum(divide); }).to_vector());
  EXPECT_EQ(q.group_by(parity).select([](const group& g) { return quotient(g.sum(), g.count()); }).sum(), 3);
}

CONFORMS(compiled_division, aggregates_and_runs, "aggregate", "reduce", "aggregate_by", "chunk", "window", "apply", "apply_all",
         "group_join", "cross_join") {
  const auto q = checked(e);
  const auto add_quotient = [](const number& s, const number& x) { return s + quotient(6, x); };
  const auto plus = [](const number& a, const number& b) { return a + b; };
  const auto of_run = [](std::span<const number> r) {
    number n = 0;
    for (const number x : r) n += quotient(6, x);
    return n;
  };
  EXPECT_MESSAGE("aggregate: division by zero", q.aggregate(number{0}, add_quotient, plus));
  EXPECT_MESSAGE("reduce: division by zero", q.reduce([](auto g) { return g.sum(divide); }));
  EXPECT_MESSAGE("aggregate_by: division by zero", q.aggregate_by(parity, number{0}, add_quotient, plus).to_vector());
  EXPECT_MESSAGE("chunk(2): division by zero", q.chunk(2, of_run).to_vector());
  EXPECT_MESSAGE("window(2): division by zero", q.window(2, of_run).to_vector());
  EXPECT_MESSAGE("apply_all: division by zero", q.apply_all(of_run).to_vector());
  EXPECT_MESSAGE("apply: division by zero", q.partitioned(2).apply(of_run).to_vector());
  EXPECT_MESSAGE("group_join: division by zero", q.group_join(right, itself, itself, [](const number& l, const std::vector<number>& m) {
    return quotient(static_cast<number>(m.size()), l);
  }).to_vector());
  const auto of_pair = [](const number& a, const number& b) { return quotient(a, b); };
  EXPECT_MESSAGE("cross_join: division by zero", q.cross_join(few, of_pair).to_vector());
}

// The divisor lies in memory of the thread.
CONFORMS(compiled_division, by_what_is_local_to_a_thread, "select") {
  EXPECT_MESSAGE("select: division by zero", checked(e).select([](const number& x) { return part_of_thread(x); }).to_vector());
}

CONFORMS(compiled_division, windows_over_groups, "over") {
  const auto q = checked(e);
  const auto by_number = [](const number& x, auto w) { return quotient(x, w.row_number() - 1); };
  EXPECT_MESSAGE("over: division by zero", q.over(parity).select(by_number).to_vector());
  EXPECT_MESSAGE("over: division by zero", q.over().order_by(itself).select(by_number).to_vector());
  EXPECT_MESSAGE("over: division by zero", q.over(parity).select([](const number&, auto w) { return w.sum(divide); }).to_vector());
  EXPECT_MESSAGE("over: division by zero", q.over(divide).select([](const number&, auto w) { return w.size(); }).to_vector());
  EXPECT_MESSAGE("over: division by zero", q.over().order_by(divide).take(1).to_vector());
  EXPECT_MESSAGE("over: division by zero", q.over(parity).where([](const number& x, const auto&) { return even(x); }).to_vector());
  EXPECT_MESSAGE("over: division by zero", q.over().select([](const number&, auto w) { return w.lag(divide, 1); }).to_vector());
  EXPECT_MESSAGE("over: division by zero", q.over().select([](const number&, auto w) { return w.rolling(2).max(divide); }).to_vector());
  EXPECT_MESSAGE("top: division by zero", q.group_by(parity).top(1, divide).to_vector());
}

CONFORMS(compiled_division, nearest_rows_conditions_and_variants, "asof_join", "join_where", "zip", "of_type", "shuffle") {
  const auto q = checked(e), r = checked(e, right);
  EXPECT_MESSAGE("asof_join: division by zero", q.asof_join(right, divide, itself).to_vector());
  EXPECT_MESSAGE("asof_join: division by zero", r.asof_join(few, itself, divide).to_vector());
  EXPECT_MESSAGE("asof_join: division by zero", q.asof_join(right, divide, itself, itself, itself).to_vector());
  EXPECT_MESSAGE("asof_join: division by zero", r.asof_join(few, itself, itself, itself, divide).to_vector());
  EXPECT_MESSAGE("asof_join: division by zero",
                 q.asof_join(right, itself, itself, [](const number& a, const std::optional<number>&) { return divide(a); }).to_vector());
  EXPECT_MESSAGE("join_where: division by zero",
                 q.join_where(right, [](const number& a, const number& b) { return divide(a) > b; }).to_vector());
  EXPECT_MESSAGE("join_where: division by zero",
                 r.join_where(few, [](const number& a, const number& b) { return a < divide(b); }).to_vector());
  EXPECT_MESSAGE("join_where: division by zero", q.join_where(right, [](auto a, auto b) { return a <= b; },
                                                              [](const number& a, const number& b) { return quotient(b, a); }).to_vector());
  EXPECT_MESSAGE("zip: division by zero",
                 q.zip(few, few, [](const number& a, const number&, const number& c) { return quotient(a, c); }).to_vector());
  EXPECT_MESSAGE("zip: division by zero", q.zip(few, few, few, [](const number& a, const number&, const number&, const number& d) {
    return quotient(a, d);
  }).to_vector());
  const std::vector<std::variant<number, double>> either{number{1}, 0.0, number{0}};
  EXPECT_MESSAGE("select: division by zero", source(checking(e), either).of_type<number>().select(divide).to_vector());
  EXPECT_MESSAGE("select: division by zero", q.shuffle(1).select(divide).to_vector());
}

CONFORMS(compiled_division, own_orders_equalities_and_hashes, "order_by", "distinct", "to_map", "to_lookup", "contains", "sequence_equal") {
  const auto q = checked(e);
  const auto less = [](const number& a, const number& b) { return quotient(6, a) < quotient(6, b); };
  const auto equal = [](const number& a, const number& b) { return a == b; };
  const auto hash = [](const number& x) { return static_cast<std::size_t>(quotient(6, x)); };
  EXPECT_MESSAGE("order_by: division by zero", q.order_by(itself, less).to_vector());
  EXPECT_MESSAGE("distinct: division by zero", q.distinct(equal, hash).to_vector());
  EXPECT_MESSAGE("group_by: division by zero", q.group_by(itself, equal, hash).count().to_vector());
  EXPECT_MESSAGE("to_map: division by zero", q.to_map(itself, equal, hash));
  EXPECT_MESSAGE("to_lookup: division by zero", q.to_lookup(itself, equal, hash));
  const auto same_quotient = [](const number& a, const number& b) { return quotient(6, a) == quotient(6, b); };
  EXPECT_MESSAGE("contains: division by zero", q.contains(7, same_quotient));
  EXPECT_MESSAGE("sequence_equal: division by zero", q.sequence_equal(few, same_quotient));
  EXPECT_MESSAGE("sequence_equal: division by zero", q.sequence_equal(query::from(few), same_quotient));
}

CONFORMS(compiled_division, loops_and_actions, "do_while", "for_each", "value_of", "cached") {
  const auto q = checked(e);
  const auto half = [](const number& x) { return x / 2; };
  const auto condition = [](std::span<const number>, std::span<const number> next) { return quotient(6, next[2]) > 0; };
  EXPECT_MESSAGE("do_while: division by zero", q.do_while([half](auto r) { return r.select(half); }, condition).to_vector());
  EXPECT_THROW(q.do_while([](auto r) { return r.select(divide); }, query::times(2)).to_vector(), query::user_error);
  EXPECT_THROW(query::value_of(q).sum(divide).get(), query::user_error);
  EXPECT_THROW(q.select(divide).cached().count(), query::user_error);
  number seen = 0;
  EXPECT_MESSAGE("for_each: division by zero", (q.for_each([&](const number& x) { seen += quotient(6, x); }), 0));
  EXPECT_MESSAGE("select: division by zero", [&, divided = q.select(divide)] {
    for (const number& x : divided) seen += x;
  }());
}

// What is 0 while functions are traced is no row's: the plan is made in a session that checks, too.
CONFORMS(compiled_division, of_what_functions_capture, "select", "broadcast") {
  const auto q = checked(e);
  const number zero = 0;
  EXPECT_MESSAGE("select: division by zero", q.select([zero](auto x) { return x + quotient(6, zero); }).to_vector());
  const auto rates = query::broadcast(few);
  EXPECT_MESSAGE("select: division by zero",
                 q.select([rates](auto x) { return x + rates.sum([](auto r) { return quotient(6, r); }); }).to_vector());
  const auto divided = q.select([zero](auto x) { return x + quotient(6, zero); });
  EXPECT_FALSE(divided.explain().empty() || divided.explain_dot().empty() || divided.explain_json().empty());
}

// Widths and signs, and operands in registers as in memory.
template <class T> struct of_width {
  T divisor[3];
  __attribute__((no_sanitize("undefined"), noinline)) static T by(T a, const T* b) { return static_cast<T>(a / *b); }
  static void check(const query::Session& s) {
    SCOPED_TRACE(sizeof(T));
    std::vector<of_width> rows(3, of_width{{1, 2, 3}});
    rows[1].divisor[2] = 0;
    const auto q = query::from(rows).in(s);
    EXPECT_THROW(q.select([](const of_width& r) { return by(static_cast<T>(7), &r.divisor[2]); }).to_vector(), query::user_error);
    rows[1].divisor[2] = 4;
    EXPECT_EQ(q.select([](const of_width& r) { return by(static_cast<T>(7), &r.divisor[2]); }).to_vector(), (std::vector<T>{2, 1, 2}));
  }
};
TEST(compiled_division, of_every_width) {
  const query::Session s({.threads = 2, .checked = true, .gpu = query::gpu_use::off});
  of_width<std::int8_t>::check(s), of_width<std::uint8_t>::check(s), of_width<std::int16_t>::check(s), of_width<std::uint16_t>::check(s);
  of_width<std::int32_t>::check(s), of_width<std::uint32_t>::check(s), of_width<std::int64_t>::check(s), of_width<std::uint64_t>::check(s);
}
TEST(compiled_division, the_smallest_by_minus_one) {
  const query::Session s({.threads = 2, .checked = true, .gpu = query::gpu_use::off});
  const std::vector<number> rows{4, std::numeric_limits<number>::min()};
  number minus = -1;  // not a constant, so that it is captured
  EXPECT_MESSAGE("select: division overflow",
                 query::from(rows).in(s).select([minus](const number& x) { return quotient(x, minus); }).to_vector());
}

TEST(compiled_division, under_verify_and_in_many_rows) {
  std::vector<number> many(300'000, 2);
  many[223'457] = 0;  // in no sample
  const query::Session s({.threads = 2, .gpu = query::gpu_use::off});
  EXPECT_MESSAGE("select: division by zero", query::from(many).in(s).verify().select(divide).to_vector());
  EXPECT_MESSAGE("group_by: division by zero", query::from(many).in(s).verify().group_by(parity).select([](const group& g) {
    return g.sum([](auto x) { return quotient(6, x); });
  }).to_vector());
}

// A query inside of a function has errors of its own.
TEST(compiled_division, of_nested_queries) {
  const query::Session s({.threads = 2, .checked = true, .gpu = query::gpu_use::off});
  const query::Session unchecked({.threads = 2, .gpu = query::gpu_use::off});
  const auto inner = [&](const number& x) {
    return query::from(std::vector<number>{x}).in(unchecked).select(itself).sum() + quotient(6, x);
  };
  EXPECT_MESSAGE("select: division by zero", query::from(few).in(s).select(inner).to_vector());
}

// Programs that handle the signal by themselves keep it where no query checks.
TEST(compiled_division_death, elsewhere_the_process_ends_as_before) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH({
    const query::Session s({.threads = 1, .checked = true, .gpu = query::gpu_use::off});
    (void)query::from(right).in(s).select(divide).to_vector();  // its handler is there
    volatile number zero = 0;
    std::printf("%d", static_cast<int>(quotient(1, zero)));
  }, "");
}

#endif

}  // namespace
}  // namespace conformance
