// Integer division by zero, and of the smallest integer by -1, in a session that checks: an error that names verb and place, in every
// verb that takes a function.
#include <array>
#include <limits>
#include <variant>

#include "conformance/checking.hpp"
#include "conformance/compare.hpp"
#include "conformance/compiled_kernels.hpp"
#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"

namespace conformance {
namespace {

using query::user_error;

const std::vector<std::int64_t> few{3, 1, 0, 2};
const std::vector<std::int64_t> right{1, 2};
const auto itself = [](auto x) { return x; };
const auto divide = [](auto x) { return 6 / x; };
const auto rest = [](auto x) { return 6 % x; };
const auto even = [](auto x) { return 6 / x % 2 == 0; };

// GPUs check by themselves.
const engine_config& checks(const engine_config& e) { return e.accelerate ? e : checking(e); }

CONFORMS(checked_division, row_wise, "where", "select", "count", "sum", "any", "all", "first") {
  const auto q = source(checks(e), few);
  EXPECT_MESSAGE("select: division by zero", q.select(divide).to_vector());
  EXPECT_MESSAGE("select: division by zero", q.select(rest).to_vector());
  EXPECT_MESSAGE("where: division by zero", q.where(even).count());
  EXPECT_MESSAGE("select: division by zero", q.where([](auto x) { return x < 3; }).select(divide).sum());
  EXPECT_MESSAGE("count: division by zero", q.count(even));
  EXPECT_MESSAGE("sum: division by zero", q.sum(divide));
  EXPECT_MESSAGE("max: division by zero", q.max(divide));
  EXPECT_MESSAGE("average: division by zero", q.average(divide));
  EXPECT_EQ(q.where([](auto x) { return x != 0; }).select(divide).sum(), 11);
  EXPECT_EQ(q.where([](auto x) { return x != 0 && 6 / x > 2; }).count(), 2);
}

// Where a row that may not be wanted fails on the GPU, the CPU takes over. It is a session of its own, as this is no failure of the GPU's.
CONFORMS(checked_division, of_rows_that_may_not_be_wanted, "any", "all", "first", "take") {
  engine_config c = checks(e);
  if (e.accelerate) c.session = query::Session({.threads = 4, .gpu_min_rows = 0});
  if (!computes(e)) return;
  const auto q = source(c, few);
  EXPECT_MESSAGE("any: division by zero", q.any([](auto x) { return 6 / x > 100; }));
  EXPECT_MESSAGE("all: division by zero", q.all([](auto x) { return 6 / x < 100; }));
  EXPECT_MESSAGE("first: division by zero", q.first([](auto x) { return 6 / x > 100; }));
  EXPECT_MESSAGE("select: division by zero", q.select(divide).take(3).to_vector());
  if (e.accelerate) return;
  const std::vector<std::pair<std::int64_t, std::string>> named{{1, "one"}, {7, "seven"}, {0, "zero"}};
  const auto of_rows = source(c, named).where([](auto t) { return t.first >= 0; });
  EXPECT_EQ(of_rows.skip_while([](auto t) { return 6 / t.first > 0; }).count(), 2);
  EXPECT_EQ(of_rows.take_while([](auto t) { return 6 / t.first > 0; }).count(), 1);
}

// The row's number, and lists: a traced function of either is checked as any other.
CONFORMS(checked_division, of_positions_and_lists, "select", "where", "select_many") {
  const auto q = source(checks(e), few);
  EXPECT_MESSAGE("select: division by zero", q.select([](auto x, auto i) { return i / x; }).to_vector());
  EXPECT_MESSAGE("select: division by zero", q.select([](auto x, auto i) { return x / (i - 3); }).to_vector());
  EXPECT_MESSAGE("where: division by zero", q.where([](auto x, auto i) { return i / x == 0; }).to_vector());
  EXPECT_MESSAGE("select: division by zero", q.select(divide).select([](auto x, auto i) { return x + i; }).to_vector());
  EXPECT_MESSAGE("select: division by zero", q.select([](auto x, auto i) { return x * i; }).select(divide).to_vector());
  EXPECT_MESSAGE("select: division by zero", q.where([](auto x, auto i) { return x + i >= 2; }).select(divide).to_vector());
  EXPECT_ROWS(q.select([](auto x, auto i) { return 12 / (x + i); }).to_vector(), (std::vector<std::int64_t>{4, 6, 6, 2}));
  EXPECT_ROWS(q.where([](auto x) { return x > 0; }).select([](auto x, auto i) { return 12 / (x + i); }).to_vector(),
              (std::vector<std::int64_t>{4, 6, 3}));
  std::vector<std::int64_t> many(200'000, 5), expected;
  for (std::int64_t i = 0; i < 200'000; ++i) expected.push_back(1'000'000 / (5 + i) + i);
  const auto quotient = [](auto x, auto i) { return 1'000'000 / (x + i) + i; };
  EXPECT_ROWS(source(checks(e), many).select(quotient).to_vector(), expected);
  many[150'000] = -150'000;
  EXPECT_MESSAGE("select: division by zero", source(checks(e), many).select(quotient).to_vector());
  const auto zero = query::broadcast(std::vector<std::int64_t>{2, 0});
  EXPECT_MESSAGE("select: division by zero",
                 q.select([zero](auto x) { return zero.sum(x, [](auto r, auto y) { return r / y; }); }).to_vector());
  EXPECT_MESSAGE("select_many: division by zero", q.select_many([](auto x) { return std::array{x, 6 / x}; }).to_vector());
}

CONFORMS(checked_division, keys, "group_by", "order_by", "then_by", "top", "distinct_by", "union_with_by", "intersect_by", "except_by",
         "count_by", "to_lookup", "min_by", "hash_partitioned_by") {
  const auto q = source(checks(e), few);
  EXPECT_MESSAGE("group_by: division by zero", q.group_by(divide).count().to_vector());
  EXPECT_MESSAGE("group_by: division by zero", q.group_by([](auto x) { return std::tuple(x, 6 / x); }).count().to_vector());
  EXPECT_MESSAGE("count_by: division by zero", q.count_by(divide).to_vector());
  EXPECT_MESSAGE("order_by: division by zero", q.order_by(divide).to_vector());
  const auto ordered = q.order_by([](auto x) { return x * 0; });
  EXPECT_MESSAGE("then_by: division by zero", ordered.then_by(divide).to_vector());
  EXPECT_MESSAGE("then_by_descending: division by zero", ordered.then_by_descending(divide).take(2).to_vector());
  EXPECT_MESSAGE("top: division by zero", q.top(2, divide).to_vector());
  EXPECT_MESSAGE("min_by: division by zero", q.min_by(divide));
  EXPECT_MESSAGE("distinct_by: division by zero", q.distinct_by(divide).to_vector());
  EXPECT_MESSAGE("union_with_by: division by zero", q.union_with_by(right, divide).to_vector());
  EXPECT_MESSAGE("intersect_by: division by zero", q.intersect_by(right, divide).to_vector());
  EXPECT_MESSAGE("except_by: division by zero", q.except_by(right, divide).to_vector());
  EXPECT_MESSAGE("to_lookup: division by zero", q.to_lookup(divide));
  EXPECT_MESSAGE("hash_partitioned_by: division by zero",
                 q.hash_partitioned_by(divide, 2).apply([](std::span<const std::int64_t> r) { return r.size(); }).to_vector());
}

CONFORMS(checked_division, aggregates, "group_by.select", "aggregate", "reduce", "aggregate_by") {
  const auto q = source(checks(e), few);
  const auto key = [](auto x) { return x % 2; };
  const auto plus = [](auto a, auto b) { return a + b; };
  EXPECT_MESSAGE("group_by: division by zero",
                 q.group_by(key).select([](auto g) { return std::pair(g.key(), g.sum(divide)); }).to_vector());
  EXPECT_MESSAGE("group_by: division by zero", q.group_by(key).select([](auto g) { return g.count(even); }).to_vector());
  EXPECT_MESSAGE("group_by: division by zero", q.group_by(key).select([](auto g) { return g.arg_max(divide); }).to_vector());
  EXPECT_MESSAGE("group_by: division by zero", q.group_by(key).select([](auto g) { return g.collect(divide); }).to_vector());
  EXPECT_MESSAGE("reduce: division by zero", q.reduce([](auto g) { return g.mean(divide); }));
  EXPECT_MESSAGE("aggregate_by: division by zero", q.aggregate_by(
                                                        key, std::int64_t{0}, [](auto s, auto x) { return s + 6 / x; }, plus)
                                                       .to_vector());
  EXPECT_THROW(q.aggregate(
                   std::int64_t{0}, [](auto s, auto x) { return s + 6 / x; }, plus),
               user_error);
  EXPECT_EQ(q.where([](auto x) { return x != 0; }).group_by(key).select([](auto g) { return g.sum(divide); }).sum(), 11);
}

CONFORMS(checked_division, pairs_and_runs, "join", "left_join", "group_join", "semi_join", "cross_join", "zip", "chunk", "window",
         "take_while", "skip_while") {
  const auto q = source(checks(e), few);
  const auto quotient = [](auto a, auto b) { return b / a; };
  EXPECT_MESSAGE("join: division by zero", q.join(right, divide, itself).to_vector());
  EXPECT_MESSAGE("join: division by zero", source(checks(e), right).join(few, itself, divide).to_vector());
  EXPECT_MESSAGE("join: division by zero", q.join(few, itself, itself, quotient).to_vector());
  EXPECT_MESSAGE("left_join: division by zero", q.left_join(right, divide, itself).to_vector());
  EXPECT_MESSAGE("semi_join: division by zero", q.semi_join(right, divide, itself).to_vector());
  EXPECT_MESSAGE("group_join: division by zero",
                 q.group_join(right, itself, itself, [](auto l, auto m) { return query::cast<std::int64_t>(m.size()) / l; }).to_vector());
  EXPECT_MESSAGE("cross_join: division by zero", q.cross_join(right, quotient).to_vector());
  EXPECT_MESSAGE("zip: division by zero", q.zip(few, quotient).to_vector());
  EXPECT_MESSAGE("chunk(2): division by zero", q.chunk(2, [](auto run) { return 6 / run[0]; }).to_vector());
  EXPECT_MESSAGE("window(2): division by zero", q.window(2, [](auto run) { return 6 / query::sum(run, divide); }).to_vector());
  EXPECT_MESSAGE("take_while: division by zero", q.take_while([](auto x) { return 6 / x < 100; }).to_vector());
  EXPECT_MESSAGE("skip_while: division by zero", q.skip_while([](auto x) { return 6 / x < 100; }).to_vector());
  EXPECT_ROWS(q.take_while([](auto x) { return 6 / x < 5; }).to_vector(), std::vector<std::int64_t>{3});  // stops before the zero
}

// Verbs that engines other than the CPU leave to it: there, a session checks where it is asked to.
CONFORMS(checked_division, nearest_rows_conditions_windows_and_variants, "asof_join", "join_where", "zip", "over", "of_type") {
  engine_config c = checks(e);
  if (e.accelerate) c.session = query::Session({.checked = true});
  const auto q = source(c, few), r = source(c, right);
  EXPECT_MESSAGE("asof_join: division by zero", q.asof_join(right, divide, itself).to_vector());
  EXPECT_MESSAGE("asof_join: division by zero", r.asof_join(few, itself, divide).to_vector());
  EXPECT_MESSAGE("asof_join: division by zero", q.asof_join(right, divide, itself, itself, itself).to_vector());
  EXPECT_MESSAGE("asof_join: division by zero", r.asof_join(few, itself, itself, itself, divide).to_vector());
  EXPECT_MESSAGE("asof_join: division by zero", q.asof_join(right, itself, itself, [](auto a, auto) { return 6 / a; }).to_vector());
  EXPECT_MESSAGE("join_where: division by zero", q.join_where(right, [](auto a, auto b) { return 6 / a > b; }).to_vector());
  EXPECT_MESSAGE("join_where: division by zero", r.join_where(few, [](auto a, auto b) { return a < 6 / b; }).to_vector());
  const auto not_above = [](auto a, auto b) { return a <= b; };
  EXPECT_MESSAGE("join_where: division by zero", q.join_where(right, not_above, [](auto a, auto b) { return b / a; }).to_vector());
  EXPECT_MESSAGE("zip: division by zero", q.zip(few, few, [](auto a, auto, auto c) { return a / c; }).to_vector());
  EXPECT_MESSAGE("zip: division by zero", q.zip(few, few, few, [](auto a, auto, auto, auto d) { return a / d; }).to_vector());
  // Keys of windows are called as compiled, too.
  const auto key = [](auto x) __attribute__((no_sanitize("undefined"))) { return 6 / x; };
  EXPECT_MESSAGE("over: division by zero", q.over(key).take(1).to_vector());
  EXPECT_MESSAGE("over: division by zero", q.over().order_by(key).take(1).to_vector());
  EXPECT_MESSAGE("top: division by zero", q.group_by([](auto x) { return x % 2; }).top(1, key).to_vector());
  const std::vector<std::variant<std::int64_t, double>> either{std::int64_t{1}, 0.0, std::int64_t{0}};
  EXPECT_MESSAGE("select: division by zero", source(c, either).of_type<std::int64_t>().select(divide).to_vector());
  EXPECT_ROWS(r.zip(few, few, [](auto a, auto b, auto) { return b / a; }).to_vector(), (std::vector<std::int64_t>{3, 0}));
}

// Engines that compile functions check those of a map only where the session does.
CONFORMS(checked_division, keys_and_values_of_maps, "to_map") {
  engine_config c = checks(e);
  if (e.accelerate) c.session = query::Session({.checked = true});
  const auto q = source(c, few);
  EXPECT_MESSAGE("to_map: division by zero", q.to_map(divide));
  EXPECT_MESSAGE("to_map: division by zero", q.to_map(itself, divide));
  EXPECT_MESSAGE("to_map: division by zero", q.to_map(divide, std::equal_to<>(), std::hash<std::int64_t>()));
  EXPECT_MESSAGE("to_map: division by zero", q.to_map(itself, divide, std::equal_to<>(), std::hash<std::int64_t>()));
  EXPECT_MESSAGE("to_map: two rows have the same key", q.to_map([](auto x) { return x / 4; }));
  const auto quotients = q.where([](auto x) { return x != 0; }).to_map(divide, [](auto x) { return std::pair(12 / x, x); });
  EXPECT_EQ(quotients.size(), 3u);
  EXPECT_EQ(quotients.at(6), (std::pair<std::int64_t, std::int64_t>(12, 1)));
  EXPECT_EQ(q.to_map([](const std::int64_t& x) { return x; }, [](auto x) { return x + 1; }).at(3), 4);
}

struct shelf {
  std::int64_t id = 0;
  std::string name;
  bool operator==(const shelf&) const = default;
};
QUERY_RECORD(shelf, id, name);

CONFORMS(checked_division, maps_of_rows_with_strings, "to_map") {
  engine_config c = checks(e);
  if (e.accelerate) c.session = query::Session({.checked = true});
  const std::vector<shelf> shelves{{3, "a name that no string holds in itself"}, {1, "b"}, {0, "c"}};
  const auto q = source(c, shelves);
  const auto id = [](auto s) { return 6 / s.id; };
  EXPECT_MESSAGE("to_map: division by zero", q.to_map(id));
  EXPECT_MESSAGE("to_map: division by zero", q.to_map([](auto s) { return s.name; }, id));
  const auto there = q.where([](auto s) { return s.id != 0; });
  EXPECT_EQ(there.to_map(id).at(2), shelves[0]);
  EXPECT_EQ(there.to_map([](auto s) { return s.name; }, id).at(shelves[0].name), 2);
  EXPECT_EQ(there.to_map(id, [](const auto& s) { return std::string_view(s.name); }).at(6), "b");
}

CONFORMS(checked_division, loops_and_values, "do_while", "value_of", "cached") {
  const auto q = source(checks(e), few);
  EXPECT_THROW(q.do_while([](auto x) { return x.select(divide); }, query::times(2)).to_vector(), user_error);
  EXPECT_THROW(query::value_of(q).sum(divide).get(), user_error);
  EXPECT_THROW(q.select(divide).cached().count(), user_error);
}

CONFORMS(checked_division, the_smallest_by_minus_one, "select", "group_by") {
  const std::vector<std::int64_t> rows{4, std::numeric_limits<std::int64_t>::min()};
  const std::vector<std::int32_t> narrow{4, std::numeric_limits<std::int32_t>::min()};
  const auto q = source(checks(e), rows);
  const std::int64_t minus = -1;
  const std::int32_t minus32 = -1;
  EXPECT_MESSAGE("select: division overflow", q.select([minus](auto x) { return x / minus; }).to_vector());
  EXPECT_MESSAGE("select: division overflow", source(checks(e), narrow).select([minus32](auto x) { return x / minus32; }).to_vector());
  EXPECT_MESSAGE("group_by: division overflow", q.group_by([minus](auto x) { return x / minus; }).count().to_vector());
  EXPECT_ROWS(q.select([minus](auto x) { return x % minus; }).to_vector(), std::vector<std::int64_t>{0, 0});
}

// Verify mode runs native functions on a sample: what they would not survive, it finds first, and in all rows.
CONFORMS(checked_division, under_verify, "verify", "select", "select_many", "where", "group_by", "join", "window") {
  if (std::string(e.column) != "cpu") return;
  const auto q = source(e, few).verify();
  EXPECT_MESSAGE("select: division by zero", q.select(divide).to_vector());
  EXPECT_MESSAGE("select_many: division by zero", q.select_many([](auto x) { return std::array{x, 6 / x}; }).to_vector());
  EXPECT_MESSAGE("where: division by zero", q.where(even).count());
  EXPECT_MESSAGE("group_by: division by zero", q.group_by(divide).count().to_vector());
  EXPECT_MESSAGE("group_by: division by zero", q.group_by(itself).select([](auto g) { return g.sum(divide); }).to_vector());
  EXPECT_MESSAGE("order_by: division by zero", q.order_by(divide).to_vector());
  EXPECT_MESSAGE("join: division by zero", q.join(right, divide, itself).to_vector());
  EXPECT_MESSAGE("join: division by zero", q.join(few, itself, itself, [](auto a, auto b) { return b / a; }).to_vector());
  EXPECT_MESSAGE("zip: division by zero", q.zip(few, [](auto a, auto b) { return b / a; }).to_vector());
  EXPECT_MESSAGE("to_map: division by zero", q.to_map(divide));
  EXPECT_MESSAGE("window(2): division by zero", q.window(2, [](auto run) { return 6 / run[0]; }).to_vector());
  EXPECT_MESSAGE("take_while: division by zero", q.take_while([](auto x) { return 6 / x < 100; }).to_vector());
  // Functions of a row's number run in the loop of their whole stage.
  EXPECT_MESSAGE("select: division by zero", q.select([](auto x, auto i) { return x / i; }).to_vector());
  EXPECT_MESSAGE("select: division by zero", q.index().select([](auto r) { return 6 / r.value; }).to_vector());
  EXPECT_MESSAGE("select: division by zero", q.select([](auto x, auto i) { return x + i * 0; }).select(divide).to_vector());
  EXPECT_MESSAGE("where: division by zero", q.where([](auto, auto i) { return i >= 0; }).where([](auto x) { return 6 / x > 0; }).count());
  std::vector<std::int64_t> many(300'000, 2);
  many[123'457] = 0;  // in no sample
  EXPECT_MESSAGE("select: division by zero", source(e, many).verify().select(divide).sum());
  EXPECT_MESSAGE("join: division by zero", source(e, many).verify().join(right, divide, itself).count());
}

// What divides is interpreted, and nothing else; what cannot be is said.
TEST(checked_division, plans_say_what_is_checked) {
  const query::Session session({.threads = 2, .checked = true, .gpu = query::gpu_use::off});
  const auto q = query::from(few).in(session);
  const auto says = [](const std::string& plan, const std::string& text) {
    EXPECT_NE(plan.find(text), std::string::npos) << text << "\n" << plan;
  };
  says(q.select(divide).explain(), "select: interpreted");
  says(q.select(itself).explain(), "select: native");
  says(q.select(query::opaque(divide)).explain(), "unchecked: query::opaque");
  says(q.select([](const std::int64_t& x) { return 6 / x; }).explain(), "unchecked: its parameter is not generic");
  says(q.select([](auto x, auto i) { return 6 / x + i; }).explain(), "select: interpreted");
  says(q.order_by(query::opaque(divide)).explain(), "key compiled, optionals unchecked: query::opaque");
  // A verb that calls its function by itself.
  says(q.explain("for_each"), "for_each: its function is called as compiled: values of optionals in it are unchecked");
  EXPECT_EQ(q.explain("to_map").find("unchecked"), std::string::npos);
  EXPECT_EQ(q.explain("to_vector").find("unchecked"), std::string::npos);
  says(q.group_by(itself).select([](const query::Group<std::int64_t, std::int64_t>& g) { return g.key(); }).explain(),
       "aggregates compiled, optionals unchecked: groups are materialised");
  EXPECT_EQ(q.where([](auto x) { return x > 0; }).select([](auto x) { return x + 1; }).explain().find("unchecked"), std::string::npos);
  EXPECT_EQ(q.group_by(itself).select([](auto g) { return g.sum() / g.count(); }).explain().find("interpreted"), std::string::npos);
}

}  // namespace
}  // namespace conformance
