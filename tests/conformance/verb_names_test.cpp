// Verbs that are made of others: errors and plans name what the user wrote, at its own line.
#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

const std::vector<std::int64_t> few = {1, 2, 0, 3};
// No function of the kind that must_trace asks for: the plan finds that, on every engine, where the function stands.
const auto number = query::must_trace([](const std::int64_t& x) { return x; });
const auto test = query::must_trace([](const std::int64_t& x) { return x > 0; });

CONFORMS(verb_names, tests_of_terminal_verbs, "first", "first_or_default", "last", "single", "any", "all", "count") {
  const auto q = source(e, few);
  EXPECT_MESSAGE("first: predicate: query::must_trace", q.first(test));
  EXPECT_MESSAGE("first_or_default: predicate: query::must_trace", q.first_or_default(test, 7));
  EXPECT_MESSAGE("last: predicate: query::must_trace", q.last(test));
  EXPECT_MESSAGE("single: predicate: query::must_trace", q.single(test));
  EXPECT_MESSAGE("any: predicate: query::must_trace", q.any(test));
  EXPECT_MESSAGE("count: predicate: query::must_trace", q.count(test));
}

CONFORMS(verb_names, values_of_terminal_verbs, "sum", "average", "mean", "min", "max") {
  const auto q = source(e, few);
  EXPECT_MESSAGE("sum: projection: query::must_trace", q.sum(number));
  EXPECT_MESSAGE("average: projection: query::must_trace", q.average(number));
  EXPECT_MESSAGE("mean: projection: query::must_trace", q.mean(number));
  EXPECT_MESSAGE("min: projection: query::must_trace", q.min(number));
  EXPECT_MESSAGE("max: projection: query::must_trace", q.max(number));
}

CONFORMS(verb_names, keys, "top", "then_by", "then_by_descending") {
  const auto q = source(e, few);
  const auto plain = [](auto x) { return x; };
  EXPECT_MESSAGE("top: key: query::must_trace", q.top(2, number).to_vector());
  EXPECT_MESSAGE("order_by: key: query::must_trace", q.order_by(number).to_vector());
  const auto ordered = q.order_by(plain);
  EXPECT_MESSAGE("then_by: key: query::must_trace", ordered.then_by(number).to_vector());
  EXPECT_MESSAGE("then_by_descending: key: query::must_trace", ordered.then_by_descending(number).to_vector());
}

// What the interpreter finds wrong in a row. Natively C++ says what an integer divided by zero is.
CONFORMS(verb_names, what_is_found_in_rows, "top", "then_by", "sum", "min_by", "any", "all", "to_lookup", "count_by", "aggregate_by",
         "value_of") {
  if (std::string(e.column) != "interpreter") return;
  const auto q = source(e, few);
  const auto divide = [](auto x) { return 6 / x; };
  EXPECT_MESSAGE("top: division by zero", q.top(2, divide).to_vector());
  const auto ordered = q.order_by([](auto x) { return x; });
  EXPECT_MESSAGE("then_by: division by zero", ordered.then_by(divide).to_vector());
  EXPECT_MESSAGE("sum: division by zero", q.sum(divide));
  EXPECT_MESSAGE("max: division by zero", q.max(divide));
  EXPECT_MESSAGE("min_by: division by zero", q.min_by(divide));
  EXPECT_MESSAGE("any: division by zero", q.any([](auto x) { return 6 / x > 100; }));
  EXPECT_MESSAGE("all: division by zero", q.all([](auto x) { return 6 / x < 100; }));
  EXPECT_MESSAGE("to_lookup: division by zero", q.to_lookup(divide));
  EXPECT_MESSAGE("count_by: division by zero", q.count_by(divide).to_vector());
  EXPECT_MESSAGE("aggregate_by: division by zero", q.aggregate_by(
                                                        divide, 0, [](auto s, auto) { return s + 1; }, [](auto a, auto b) { return a + b; })
                                                       .to_vector());
  EXPECT_MESSAGE("operator/: division by zero", (query::value_of(q).count() / query::value_of(q.take(0)).count()).get());
}

CONFORMS(verb_names, plans_show_both, "top", "count", "values", "order", "explain") {
  const auto q = source(e, few);
  const auto shows = [](const std::string& plan, const std::string& text) {
    EXPECT_NE(plan.find(text), std::string::npos) << text << "\n" << plan;
  };
  shows(q.top(2, [](auto x) { return x; }).explain(), "top (order_by_descending)");
  shows(q.top(2, [](auto x) { return x; }).explain(), "top (take(2))");
  shows(q.order().explain(), " order ");
  shows(q.select([](auto x) { return std::optional<std::int64_t>(x); }).values().explain(), "values (where)");
  shows(q.count_by([](auto x) { return x; }).explain(), "count_by (group_by)");
  shows(q.where([](auto x) { return x > 1; }).explain(), "\n  where ");
}

// ---------------------------------------------------------------- the plan of a terminal verb

CONFORMS(explained, terminal_verbs_show_the_plan_that_runs, "explain", "first", "last", "single", "any", "element_at", "min_by",
         "to_lookup", "contains") {
  const auto q = source(e, few);
  const auto expect = [](const std::string& verb, const std::string& plan, const std::string& text) {
    EXPECT_TRUE(plan.starts_with("query, for " + verb + "\n")) << plan;
    EXPECT_NE(plan.find(text), std::string::npos) << text << "\n" << plan;
  };
  const auto large = [](auto x) { return x > 1; };
  const auto twice = [](auto x) { return x * 2; };
  expect("first", q.explain("first"), "first (take(1))");
  expect("any", q.explain("any"), "any (take(1))");
  expect("first", q.explain("first", large), "first (where)");
  expect("first", q.explain("first", large), "first (take(1))");
  expect("all", q.explain("all", large), "all (where)");
  expect("last_or_none", q.explain("last_or_none"), "last_or_none (take_last(1))");
  expect("single", q.explain("single"), "single (take(2))");
  expect("element_at", q.explain("element_at", 5), "element_at (skip(5))");
  expect("contains", q.explain("contains", 5), "contains (where)");
  expect("count", q.explain("count", large), "count (where)");
  expect("sum", q.explain("sum", twice), "sum (select)");
  expect("min_by", q.explain("min_by", twice), "min_by");
  EXPECT_NE(q.explain("min_by", twice).find("reads v"), std::string::npos);
  expect("to_lookup", q.explain("to_lookup", twice), "to_lookup (group_by)");
  EXPECT_EQ(q.chunk(2).explain().find("opaque"), std::string::npos) << q.chunk(2).explain();  // no function of the user's is in it
  EXPECT_NE(q.chunk(2, [](std::span<const std::int64_t> r) { return r.size(); }).explain().find("function: opaque"), std::string::npos);
  expect("last_or_none", q.explain("last_or_none", large), "last_or_none (where)");
  namespace by = query::aggregates;
  for (const std::string& plan : {q.explain("aggregate", by::sum(twice), by::count()), q.explain("reduce", by::sum(twice))}) {
    EXPECT_NE(plan.find("sum((row * 2))"), std::string::npos) << plan;
    EXPECT_NE(plan.find("reads v"), std::string::npos) << plan;
  }
  EXPECT_TRUE(q.explain("aggregate", by::max()).starts_with("query, for aggregate\n")) << q.explain("aggregate", by::max());
  EXPECT_NE(q.explain_dot("aggregate", by::max(), by::count()).find("aggregate"), std::string::npos);
  expect("average", q.select([](auto x) { return std::optional<std::int64_t>(x); }).explain("average"),
         "average (where), average (select)");
  const auto texts = q.select([](auto) { return std::string("x"); });
  EXPECT_NE(texts.explain("max").find(" max "), std::string::npos) << texts.explain("max");
  EXPECT_TRUE(q.explain("to_vector").starts_with("query, for to_vector\n"));
  EXPECT_TRUE(q.explain().starts_with("query\n"));
  EXPECT_NE(q.order().explain("sum").find("remove_order"), std::string::npos) << q.order().explain("sum");
  // Integer sums are the same in any order, and so are means of integers below 64 bits; those of 64 are sums of doubles.
  EXPECT_EQ(q.order().explain("average").find("remove_order"), std::string::npos) << q.order().explain("average");
  const auto narrow = q.select([](auto x) { return query::cast<std::int32_t>(x); }).order();
  EXPECT_NE(narrow.explain("mean").find("remove_order"), std::string::npos) << narrow.explain("mean");
  EXPECT_NE(q.explain_dot("first").find("first (take(1))"), std::string::npos) << q.explain_dot("first");
  EXPECT_NE(q.explain_dot("sum", twice).find("sum (select)"), std::string::npos);
  EXPECT_NE(q.explain_json("sum", twice).find("sum (select)"), std::string::npos);
  EXPECT_NE(q.explain_json("aggregate", by::max(), by::count()).find("\"terminal\": \"aggregate\""), std::string::npos);
}

CONFORMS(explained, rows_are_streamed_to_those_who_may_stop, "explain", "distinct") {
  if (e.accelerate) return;  // there, what comes last may be a vertex of its own
  const auto q = on(e, query::generate([i = std::int64_t{0}]() mutable { return i < 9 ? std::optional(i++) : std::nullopt; })).distinct();
  const auto streams = [](const std::string& plan) { return plan.find("streamed") != std::string::npos; };
  EXPECT_TRUE(streams(q.explain("begin"))) << q.explain("begin");
  EXPECT_TRUE(streams(q.explain("first"))) << q.explain("first");
  EXPECT_FALSE(streams(q.explain("count"))) << q.explain("count");
}

CONFORMS(explained, other_names_are_errors, "explain") {
  const auto q = source(e, few);
  EXPECT_MESSAGE("explain: there is no terminal verb 'frist'; there are to_vector, ", q.explain("frist"));
  EXPECT_MESSAGE("explain: there is no terminal verb 'where'; there are to_vector, ", q.explain_dot("where"));
  EXPECT_MESSAGE("explain: there is no terminal verb 'frist'", q.explain("frist", [](auto x) { return x; }));
  EXPECT_MESSAGE("explain: min_by needs its function: explain(\"min_by\", f)", q.explain("min_by"));
  EXPECT_MESSAGE("explain: element_at needs the row's number", q.explain("element_at"));
  EXPECT_MESSAGE(
      "explain: reduce needs its aggregates: explain(\"aggregate\", sum(f), count()) of functions in query::aggregates; a function of the "
      "group has a verb of its own: aggregate(f).explain()",
      q.explain("reduce"));
  EXPECT_MESSAGE("explain: min_by does not take this argument; it needs its function", q.explain("min_by", query::aggregates::count()));
  EXPECT_MESSAGE("explain: count does not take this argument; write explain(\"count\")", q.explain("count", 5));
  const auto texts = q.select([](auto) { return std::string("x"); });
  EXPECT_MESSAGE("explain: sum needs numbers; say which: explain(\"sum\", f)", texts.explain("sum"));
}

// ---------------------------------------------------------------- an index outside a captured collection

CONFORMS(messages, an_index_outside_a_captured_collection, "select", "broadcast") {
  if (e.accelerate) return;
  const auto q = source(e, few);
  const auto two = query::broadcast(std::vector<std::int64_t>{5, 6});
  const auto lazy = query::broadcast(q.take(2));
  EXPECT_MESSAGE("select: index outside the collection: 2 of 2", q.select([two](auto x) { return two[x]; }).to_vector());
  EXPECT_MESSAGE("select: index outside the collection: 2 of 2", q.select([lazy](auto x) { return lazy[x]; }).to_vector());
  EXPECT_MESSAGE("select: index outside the collection: 2 of 2",
                 q.select([two](const std::int64_t& x) { return two[static_cast<std::size_t>(x)]; }).to_vector());
  EXPECT_MESSAGE("select: index outside the collection: -1 of 2",
                 q.select([two](const std::int64_t& x) { return two[static_cast<std::size_t>(x - 2)]; }).to_vector());
  EXPECT_THROW(two[2], query::user_error);
  EXPECT_EQ(two[1], 6);
}

// Of several verbs in one compiled loop, and before a verb that reads their rows.
CONFORMS(messages, of_fused_verbs_name_the_one_that_fails, "where", "select", "group_by", "order_by", "count", "sum") {
  if (e.accelerate) return;
  const auto q = source(e, few);
  const auto two = query::broadcast(std::vector<std::int64_t>{5, 6});
  const std::string what = ": index outside the collection: 2 of 2";
  const auto small = [](auto x) { return x < 100; };
  const auto itself = [](auto x) { return x; };
  const auto looked_up = [two](auto x) { return two[x]; };
  EXPECT_MESSAGE("where" + what, q.where([two](auto x) { return two[x] > 0; }).select(itself).to_vector());
  EXPECT_MESSAGE("where" + what, q.where([two](auto x) { return two[x] > 0; }).select(itself).count());
  EXPECT_MESSAGE("select" + what, q.select(looked_up).where(small).to_vector());
  EXPECT_MESSAGE("select" + what, q.select(looked_up).where(small).sum());
  EXPECT_MESSAGE("select" + what, q.select(looked_up).group_by(itself).count().to_vector());
  EXPECT_MESSAGE("select" + what, q.select(looked_up).order_by(itself).to_vector());
  EXPECT_MESSAGE("group_by" + what, q.select(itself).group_by(looked_up).count().to_vector());
  EXPECT_MESSAGE("order_by" + what, q.select(itself).order_by(looked_up).to_vector());
}

}  // namespace
}  // namespace conformance
