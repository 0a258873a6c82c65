// The value of a null std::optional (*x, x->field, x.value()) in a session that checks: an error that names verb and place, in every verb
// that takes a function. A value behind a test for null never throws.
#include <array>
#include <optional>

#include "conformance/compare.hpp"
#include "conformance/compiled_kernels.hpp"
#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"

namespace conformance {
namespace {

using query::user_error;

struct point {
  std::int32_t x, y;
};
QUERY_RECORD(point, x, y);

struct order {
  std::int64_t id;
  std::optional<std::int64_t> coupon;
  std::optional<point> at;
  std::optional<std::string> note;
};
QUERY_RECORD(order, id, coupon, at, note);

const std::vector<order> few{{3, 30, point{1, 2}, "three"}, {1, 10, point{3, 4}, "one"}, {0, {}, {}, {}}, {2, 20, point{5, 6}, "two"}};
const std::vector<std::int64_t> right{1, 2};
const auto itself = [](auto x) { return x; };
const auto id = [](auto o) { return o.id; };
const auto coupon = [](auto o) { return *o.coupon + 1; };
const auto large = [](auto o) { return *o.coupon > 100; };
const auto present = [](auto o) { return o.coupon.has_value(); };

// Sessions of compiled functions check; the others do by themselves.
engine_config checking(const engine_config& e) {
  engine_config c = e;
  if (std::string(e.column) == "cpu")
    c.session = query::Session({.threads = e.session.threads(), .checked = true, .gpu = query::gpu_use::off});
  return c;
}

CONFORMS(checked_optionals, row_wise, "where", "select", "count", "sum", "select_many") {
  const auto q = source(checking(e), few);
  EXPECT_MESSAGE("select: a value is taken of a null std::optional; test it first, or write value_or(...)", q.select(coupon).to_vector());
  EXPECT_MESSAGE("select: a value is taken of a null", q.select([](auto o) { return o.coupon.value(); }).to_vector());
  EXPECT_MESSAGE("select: a value is taken of a null", q.select([](auto o) { return o.at->x; }).to_vector());
  EXPECT_MESSAGE("select: a value is taken of a null", q.select([](auto o) { return *o.note; }).to_vector());
  EXPECT_MESSAGE("select: a value is taken of a null", q.select([](auto o) { return query::length(*o.note); }).to_vector());
  EXPECT_MESSAGE("where: a value is taken of a null", q.where(large).count());
  EXPECT_MESSAGE("where: a value is taken of a null", q.where([](auto o) { return !o.coupon.has_value() && *o.coupon > 1; }).count());
  EXPECT_MESSAGE("count: a value is taken of a null", q.count(large));
  EXPECT_MESSAGE("sum: a value is taken of a null", q.sum(coupon));
  EXPECT_MESSAGE("max: a value is taken of a null", q.max(coupon));
  EXPECT_MESSAGE("average: a value is taken of a null", q.average(coupon));
  EXPECT_MESSAGE("select: a value is taken of a null", q.select([](auto o, auto i) { return *o.coupon + i; }).to_vector());
  EXPECT_MESSAGE("select_many: a value is taken of a null",
                 q.select_many([](auto o) { return std::array{o.id, *o.coupon}; }).to_vector());
  std::vector<order> many(200'000, few[0]);
  EXPECT_EQ(source(checking(e), many).select(coupon).sum(), 200'000 * 31);
  many[123'456].coupon.reset();
  EXPECT_MESSAGE("select: a value is taken of a null", source(checking(e), many).select(coupon).to_vector());
}

// Only rows that need the value count.
CONFORMS(checked_optionals, what_was_tested_first, "where", "select", "order_by", "group_by", "sum") {
  const auto q = source(checking(e), few);
  const std::vector<std::int64_t> values{30, 10, 0, 20};
  EXPECT_ROWS(q.select([](auto o) { return query::iff(o.coupon.has_value(), *o.coupon, std::int64_t{0}); }).to_vector(), values);
  EXPECT_ROWS(q.select([](auto o) { return query::iff(!o.coupon.has_value(), std::int64_t{0}, *o.coupon); }).to_vector(), values);
  EXPECT_ROWS(q.select([](auto o) { return o.coupon ? *o.coupon : o.id; }).to_vector(), values);
  EXPECT_ROWS(q.select([](auto o) { return o.coupon.value_or(0); }).to_vector(), values);
  EXPECT_ROWS(q.select([](auto o) { return query::iff(o.id > 0, *o.coupon, std::int64_t{0}); }).to_vector(), values);
  EXPECT_ROWS(q.select([](auto o) { return query::iff(o.id > 1, o.coupon, std::optional<std::int64_t>()); }).to_vector(),
              (std::vector<std::optional<std::int64_t>>{30, std::nullopt, std::nullopt, 20}));
  EXPECT_ROWS(q.select([](auto o) { return query::iff(o.id > 1, o.coupon, o.coupon).value_or(-1); }).to_vector(),
              (std::vector<std::int64_t>{30, 10, -1, 20}));
  EXPECT_ROWS(q.where(present).select(coupon).to_vector(), (std::vector<std::int64_t>{31, 11, 21}));
  EXPECT_ROWS(q.where(present).select([](auto o) { return o.at->y; }).to_vector(), (std::vector<std::int32_t>{2, 4, 6}));
  EXPECT_EQ(q.count([](auto o) { return o.coupon && *o.coupon > 10; }), 2);
  EXPECT_EQ(q.count([](auto o) { return !o.coupon || *o.coupon > 10; }), 3);
  EXPECT_EQ(q.count([](auto o) { return o.coupon > std::int64_t{10}; }), 2);
  EXPECT_EQ(q.count([](auto o) { return o.coupon == std::nullopt; }), 1);
  EXPECT_EQ(q.sum([](auto o) { return o.coupon; }), 60);
  EXPECT_ROWS(q.where(present).order_by(coupon).select(id).to_vector(), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_ROWS(q.order_by([](auto o) { return o.coupon; }).select(id).to_vector(), (std::vector<std::int64_t>{1, 2, 3, 0}));
  EXPECT_EQ(q.group_by([](auto o) { return o.coupon; }).count().to_vector().size(), 4u);
  EXPECT_ROWS(q.group_by([](auto o) { return o.id / 2; })
                  .select([](auto g) { return std::pair(g.key(), g.sum([](auto o) { return o.coupon; })); })
                  .order_by([](auto p) { return std::get<0>(p); })
                  .to_vector(),
              (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 10}, {1, 50}}));
}

// Where a row that may not be wanted fails on the GPU, the CPU takes over. It is a session of its own, as this is no failure of the GPU's.
CONFORMS(checked_optionals, of_rows_that_may_not_be_wanted, "any", "all", "first", "take", "take_while", "skip_while") {
  engine_config c = checking(e);
  if (e.accelerate) c.session = query::Session({.threads = 4, .gpu_min_rows = 0});
  if (!computes(e)) return;
  const auto q = source(c, few);
  EXPECT_MESSAGE("any: a value is taken of a null", q.any(large));
  EXPECT_MESSAGE("all: a value is taken of a null", q.all([](auto o) { return *o.coupon < 100; }));
  EXPECT_MESSAGE("first: a value is taken of a null", q.first(large));
  EXPECT_MESSAGE("select: a value is taken of a null", q.select(coupon).take(3).to_vector());
  EXPECT_MESSAGE("take_while: a value is taken of a null", q.take_while([](auto o) { return *o.coupon < 100; }).to_vector());
  EXPECT_MESSAGE("skip_while: a value is taken of a null", q.skip_while([](auto o) { return *o.coupon < 100; }).to_vector());
  EXPECT_EQ(q.take_while([](auto o) { return *o.coupon > 10; }).count(), 1);  // stops before the null
}

CONFORMS(checked_optionals, keys, "group_by", "order_by", "then_by", "top", "distinct_by", "union_with_by", "intersect_by", "except_by",
         "count_by", "to_lookup", "min_by", "hash_partitioned_by") {
  const auto q = source(checking(e), few);
  EXPECT_MESSAGE("group_by: a value is taken of a null", q.group_by(coupon).count().to_vector());
  EXPECT_MESSAGE("group_by: a value is taken of a null", q.group_by([](auto o) { return std::tuple(o.id, *o.note); }).count().to_vector());
  EXPECT_MESSAGE("count_by: a value is taken of a null", q.count_by(coupon).to_vector());
  EXPECT_MESSAGE("order_by: a value is taken of a null", q.order_by(coupon).to_vector());
  const auto ordered = q.order_by([](auto o) { return o.id * 0; });
  EXPECT_MESSAGE("then_by: a value is taken of a null", ordered.then_by(coupon).to_vector());
  EXPECT_MESSAGE("then_by_descending: a value is taken of a null", ordered.then_by_descending(coupon).take(2).to_vector());
  EXPECT_MESSAGE("top: a value is taken of a null", q.top(2, coupon).to_vector());
  EXPECT_MESSAGE("min_by: a value is taken of a null", q.min_by(coupon));
  EXPECT_MESSAGE("distinct_by: a value is taken of a null", q.distinct_by(coupon).to_vector());
  EXPECT_MESSAGE("union_with_by: a value is taken of a null", q.union_with_by(few, coupon).to_vector());
  EXPECT_MESSAGE("intersect_by: a value is taken of a null", q.intersect_by(few, coupon).to_vector());
  EXPECT_MESSAGE("except_by: a value is taken of a null", q.except_by(few, coupon).to_vector());
  EXPECT_MESSAGE("to_lookup: a value is taken of a null", q.to_lookup(coupon));
  EXPECT_MESSAGE("hash_partitioned_by: a value is taken of a null",
                 q.hash_partitioned_by(coupon, 2).apply([](std::span<const order> r) { return r.size(); }).to_vector());
}

CONFORMS(checked_optionals, aggregates, "group_by.select", "aggregate", "reduce", "aggregate_by") {
  const auto q = source(checking(e), few);
  const auto key = [](auto o) { return o.id % 2; };
  const auto plus = [](auto a, auto b) { return a + b; };
  EXPECT_MESSAGE("group_by: a value is taken of a null",
                 q.group_by(key).select([](auto g) { return std::pair(g.key(), g.sum(coupon)); }).to_vector());
  EXPECT_MESSAGE("group_by: a value is taken of a null", q.group_by(key).select([](auto g) { return g.count(large); }).to_vector());
  EXPECT_MESSAGE("group_by: a value is taken of a null", q.group_by(key).select([](auto g) { return g.arg_max(coupon); }).to_vector());
  EXPECT_MESSAGE("group_by: a value is taken of a null", q.group_by(key).select([](auto g) { return g.collect(coupon); }).to_vector());
  const auto most = [](auto g) { return g.max([](auto o) { return o.coupon; }); };  // an optional
  EXPECT_MESSAGE("select: a value is taken of a null", q.group_by(id).select(most).select([](auto m) { return *m; }).to_vector());
  EXPECT_SAME_ROWS(q.group_by(key).select(most).select([](auto m) { return *m; }).to_vector(), (std::vector<std::int64_t>{30, 20}));
  EXPECT_MESSAGE("reduce: a value is taken of a null", q.reduce([](auto g) { return g.mean(coupon); }));
  EXPECT_MESSAGE("aggregate_by: a value is taken of a null",
                 q.aggregate_by(
                      key, std::int64_t{0}, [](auto s, auto o) { return s + *o.coupon; }, plus)
                     .to_vector());
  EXPECT_THROW(q.aggregate(
                   std::int64_t{0}, [](auto s, auto o) { return s + *o.coupon; }, plus),
               user_error);
  EXPECT_EQ(q.where(present).group_by(key).select([](auto g) { return g.sum(coupon); }).sum(), 63);
}

CONFORMS(checked_optionals, pairs_and_runs, "join", "left_join", "right_join", "full_join", "group_join", "semi_join", "cross_join", "zip",
         "chunk", "window") {
  const auto q = source(checking(e), few);
  const auto added = [](auto o, auto n) { return *o.coupon + n; };
  EXPECT_MESSAGE("join: a value is taken of a null", q.join(right, coupon, itself).to_vector());
  EXPECT_MESSAGE("join: a value is taken of a null", source(checking(e), right).join(few, itself, coupon).to_vector());
  EXPECT_MESSAGE("join: a value is taken of a null", q.join(std::vector<std::int64_t>{0, 1}, id, itself, added).to_vector());
  EXPECT_MESSAGE("left_join: a value is taken of a null", q.left_join(right, coupon, itself).to_vector());
  EXPECT_MESSAGE("semi_join: a value is taken of a null", q.semi_join(right, coupon, itself).to_vector());
  EXPECT_MESSAGE("group_join: a value is taken of a null",
                 q.group_join(right, id, itself, [](auto o, auto m) { return *o.coupon + query::cast<std::int64_t>(m.size()); })
                     .to_vector());
  EXPECT_MESSAGE("cross_join: a value is taken of a null", q.cross_join(right, added).to_vector());
  EXPECT_MESSAGE("zip: a value is taken of a null", q.zip(std::vector<std::int64_t>{1, 2, 3}, added).to_vector());
  EXPECT_MESSAGE("chunk(2): a value is taken of a null", q.chunk(2, [](auto run) { return *run[0].coupon; }).to_vector());
  EXPECT_MESSAGE("window(2): a value is taken of a null",
                 q.window(2, [](auto run) { return query::sum(run, [](auto o) { return *o.coupon; }); }).to_vector());
  // Absent partners.
  const auto of_left = [](auto o, auto n) { return o.id * 100 + *n; };
  EXPECT_MESSAGE("left_join: a value is taken of a null", q.left_join(right, id, itself, of_left).to_vector());
  EXPECT_MESSAGE("right_join: a value is taken of a null",
                 source(checking(e), right).right_join(few, itself, id, [](auto n, auto o) { return *n + o.id; }).to_vector());
  EXPECT_MESSAGE("full_join: a value is taken of a null",
                 q.full_join(right, id, itself, [](auto o, auto n) { return o->id + *n; }).to_vector());
  EXPECT_MESSAGE("left_join: a value is taken of a null",
                 source(checking(e), std::vector<std::int64_t>{0}).left_join(few, itself, id, [](auto n, auto o) {
                   return n + o->at->x;
                 }).to_vector());
  EXPECT_ROWS(q.left_join(right, id, itself, [](auto o, auto n) { return n ? o.id * 100 + *n : -o.id; }).to_vector(),
              (std::vector<std::int64_t>{-3, 101, 0, 202}));
  EXPECT_ROWS(q.left_join(right, id, itself, [](auto o, auto n) { return o.id + n.value_or(0); }).to_vector(),
              (std::vector<std::int64_t>{3, 2, 0, 4}));
  const auto either = [](auto o, auto n) { return query::iff(o.has_value(), o->id, std::int64_t{0}) + n.value_or(0); };
  EXPECT_EQ(q.full_join(right, id, itself, either).sum(), 9);
}

CONFORMS(checked_optionals, loops_and_values, "do_while", "value_of", "cached") {
  const auto q = source(checking(e), few);
  EXPECT_THROW(q.do_while([](auto x) { return x.where(large); }, query::times(2)).to_vector(), user_error);
  const auto keep = [](auto x) { return x.where([](auto o) { return o.id >= 0; }); };
  EXPECT_THROW(q.do_while(keep, [](auto, auto next) { return query::value_of(next).count(large) > 0; }).to_vector(), user_error);
  EXPECT_THROW(query::value_of(q).sum(coupon).get(), user_error);
  EXPECT_THROW(q.select(coupon).cached().count(), user_error);
  const auto held = query::broadcast(few);
  EXPECT_MESSAGE("select: a value is taken of a null", source(checking(e), right).select([held](auto x) {
    return held.sum(x, [](auto n, auto o) { return n + *o.coupon; });
  }).to_vector());
}

CONFORMS(checked_optionals, under_verify, "verify", "select", "select_many", "where", "group_by", "join", "left_join", "window") {
  if (std::string(e.column) != "cpu") return;
  const auto q = source(e, few).verify();
  EXPECT_MESSAGE("select: a value is taken of a null", q.select(coupon).to_vector());
  EXPECT_MESSAGE("select: a value is taken of a null", q.select([](auto o) { return o.coupon.value(); }).to_vector());
  EXPECT_MESSAGE("select: a value is taken of a null", q.select([](auto o) { return *o.note; }).to_vector());
  EXPECT_MESSAGE("where: a value is taken of a null", q.where(large).count());
  EXPECT_MESSAGE("group_by: a value is taken of a null", q.group_by(coupon).count().to_vector());
  EXPECT_MESSAGE("group_by: a value is taken of a null", q.group_by(id).select([](auto g) { return g.sum(coupon); }).to_vector());
  EXPECT_MESSAGE("order_by: a value is taken of a null", q.order_by(coupon).to_vector());
  EXPECT_MESSAGE("join: a value is taken of a null", q.join(right, coupon, itself).to_vector());
  EXPECT_MESSAGE("left_join: a value is taken of a null",
                 q.left_join(right, id, itself, [](auto o, auto n) { return o.id + *n; }).to_vector());
  EXPECT_MESSAGE("zip: a value is taken of a null", q.zip(few, [](auto a, auto b) { return *a.coupon + b.id; }).to_vector());
  EXPECT_MESSAGE("window(2): a value is taken of a null", q.window(2, [](auto run) { return *run[0].coupon; }).to_vector());
  EXPECT_MESSAGE("select_many: a value is taken of a null",
                 q.select_many([](auto o) { return std::array{o.id, *o.coupon}; }).to_vector());
  EXPECT_ROWS(q.select([](auto o) { return query::iff(o.coupon.has_value(), *o.coupon, std::int64_t{0}); }).to_vector(),
              (std::vector<std::int64_t>{30, 10, 0, 20}));
  EXPECT_EQ(q.where(present).select(coupon).sum(), 63);
  std::vector<order> many(300'000, few[0]);
  many[123'457].coupon.reset();  // in no sample
  EXPECT_MESSAGE("select: a value is taken of a null", source(e, many).verify().select(coupon).sum());
}

// What may fail is interpreted, and nothing else; what cannot be is said.
TEST(checked_optionals, plans_say_what_is_checked) {
  const query::Session session({.threads = 2, .checked = true, .gpu = query::gpu_use::off});
  const auto q = query::from(few).in(session);
  const auto says = [](const std::string& plan, const std::string& text) {
    EXPECT_NE(plan.find(text), std::string::npos) << text << "\n" << plan;
  };
  says(q.select(coupon).explain(), "select: interpreted");
  says(q.select([](auto o) { return o.coupon ? *o.coupon : o.id; }).explain(), "select: native");
  says(q.select([](auto o) { return o.coupon.value_or(0); }).explain(), "select: native");
  says(q.select([](auto o) { return o.coupon && *o.coupon > 1; }).explain(), "select: native");
  says(q.select([](auto o) { return !o.coupon || *o.coupon > 1; }).explain(), "select: native");
  says(q.select([](auto o) { return o.coupon > std::int64_t{1} ? *o.coupon : o.id; }).explain(), "select: native");
  says(q.select([](auto o) { return !o.coupon && *o.coupon > 1; }).explain(), "select: interpreted");
  says(q.select([](auto o) { return (o.id > 0 || o.coupon) ? *o.coupon : o.id; }).explain(), "select: interpreted");
  says(q.select(query::opaque(coupon)).explain(), "unchecked: query::opaque");
  says(q.select([](const order& o) { return *o.coupon; }).explain(), "unchecked: its parameter is not generic");
  EXPECT_EQ(q.explain("to_map").find("unchecked"), std::string::npos);
}

}  // namespace
}  // namespace conformance
