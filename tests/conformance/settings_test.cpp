// Settings of queries that are put together: one session, all stop tokens, the earlier deadline (docs/sessions.md).
#include <stop_token>

#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

const std::vector<std::int64_t> few = {1, 2, 0, 3};
const auto itself = [](auto x) { return x; };
std::stop_token stopped() {
  std::stop_source s;
  s.request_stop();
  return s.get_token();
}
struct stops_at_once {
  bool stop_requested() const { return true; }
};

CONFORMS(settings, a_token_of_either_query_stops_both, "stop_on", "join", "left_join", "right_join", "full_join", "semi_join", "anti_join",
         "group_join", "cross_join", "zip", "concat", "union_with", "union_with_by", "intersect", "intersect_by", "except", "except_by",
         "sequence_equal") {
  const auto a = source(e, few);
  const auto b = source(e, few).stop_on(stopped());
  const auto result = [](std::int64_t x, const std::vector<std::int64_t>&) { return x; };
  EXPECT_EQ(a.join(a, itself, itself).count(), 4);
  EXPECT_THROW(b.join(a, itself, itself).count(), query::cancelled);
  EXPECT_THROW(a.join(b, itself, itself).count(), query::cancelled);
  EXPECT_THROW(a.left_join(b, itself, itself).count(), query::cancelled);
  EXPECT_THROW(a.right_join(b, itself, itself).count(), query::cancelled);
  EXPECT_THROW(a.full_join(b, itself, itself).count(), query::cancelled);
  EXPECT_THROW(a.semi_join(b, itself, itself).count(), query::cancelled);
  EXPECT_THROW(a.anti_join(b, itself, itself).count(), query::cancelled);
  EXPECT_THROW(a.group_join(b, itself, itself, result).count(), query::cancelled);
  EXPECT_THROW(a.cross_join(b).count(), query::cancelled);
  EXPECT_THROW(a.zip(b).count(), query::cancelled);
  EXPECT_THROW(a.concat(b).count(), query::cancelled);
  EXPECT_THROW(a.union_with(b).count(), query::cancelled);
  EXPECT_THROW(a.union_with_by(b, itself).count(), query::cancelled);
  EXPECT_THROW(a.intersect(b).count(), query::cancelled);
  EXPECT_THROW(a.intersect_by(b, itself).count(), query::cancelled);
  EXPECT_THROW(a.except(b).count(), query::cancelled);
  EXPECT_THROW(a.except_by(b, itself).count(), query::cancelled);
  EXPECT_THROW(a.sequence_equal(b), query::cancelled);
  EXPECT_THROW(b.sequence_equal(a), query::cancelled);
}

CONFORMS(settings, what_a_function_captures_brings_its_settings, "broadcast", "where", "group_by", "order_by") {
  const auto a = source(e, few);
  const auto list = query::broadcast(source(e, few).stop_on(stopped()));
  EXPECT_THROW(a.where([list](auto x) { return list.contains(x); }).count(), query::cancelled);
  EXPECT_THROW(a.group_by([list](auto x) { return list.contains(x); }).count().count(), query::cancelled);
  EXPECT_THROW(a.order_by([list](auto x) { return list.contains(x); }).to_vector(), query::cancelled);
  EXPECT_MESSAGE("where: a query captured by reference has a session, stop token or timeout of its own; capture it by value",
                 a.where([&list](auto x) { return list.contains(x); }).count());
  const auto plain = query::broadcast(source(e, few));
  EXPECT_EQ(a.where([&plain](auto x) { return plain.contains(x); }).count(), 4);
}

CONFORMS(settings, a_loop_takes_over_those_of_its_body_and_condition, "do_while", "value_of") {
  using Rows = query::Query<std::int64_t>;
  const auto a = source(e, few);
  const Rows b = source(e, few).stop_on(stopped());
  EXPECT_EQ(a.do_while([&](Rows x) { return x.except(a); }, query::times(2)).count(), 0);
  EXPECT_THROW(a.do_while([&](Rows x) { return x.except(b); }, query::times(2)).count(), query::cancelled);
  EXPECT_THROW(a.do_while([](Rows x) { return x; }, [&](Rows, Rows) { return query::value_of(b).count() > 100; }).count(),
               query::cancelled);
  EXPECT_THROW((query::value_of(a).count() + query::value_of(b).count()).get(), query::cancelled);
}

CONFORMS(settings, each_of_several_tokens_stops_the_query, "stop_on") {
  std::stop_source first, second;
  const auto q = source(e, few).stop_on(first.get_token()).stop_on(second.get_token());
  EXPECT_EQ(q.count(), 4);
  first.request_stop();
  EXPECT_THROW(q.count(), query::cancelled);
  EXPECT_THROW(source(e, few).stop_on(std::stop_token()).stop_on(second.get_token()).stop_on(stops_at_once{}).count(), query::cancelled);
  EXPECT_THROW(source(e, few).stop_on(stops_at_once{}).stop_on(second.get_token()).count(), query::cancelled);
  second.request_stop();
  EXPECT_THROW(source(e, few).stop_on(std::stop_token()).stop_on(second.get_token()).count(), query::cancelled);
}

CONFORMS(settings, a_token_that_calls_back_stops_a_query_that_asks_another, "stop_on") {
  std::stop_source stop;
  struct never {
    bool stop_requested() const { return false; }
  };
  int rows = 0;
  const auto q = on(e, query::range(0, 1 << 20)).stop_on(stop.get_token()).stop_on(never{}).where(query::opaque([&](std::int64_t i) {
    if (i == 100) stop.request_stop();
    return true;
  }));
  EXPECT_THROW(q.for_each([&](std::int64_t) { ++rows; }), query::cancelled);
  EXPECT_LT(rows, 1 << 20);
}

CONFORMS(settings, the_earlier_deadline_counts, "timeout", "concat") {
  const auto endless = on(e, query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); }));
  EXPECT_THROW(source(e, few).timeout(1000).concat(endless.timeout(0.05)).count(), query::cancelled);
  EXPECT_THROW(endless.timeout(0.05).concat(source(e, few).timeout(1000)).count(), query::cancelled);
  EXPECT_EQ(source(e, few).timeout(1000).concat(source(e, few)).run_settings()->seconds, 1000);
  EXPECT_EQ(source(e, few).timeout(10).timeout(20).run_settings()->seconds, 20);  // of one query, the last word
}

CONFORMS(settings, one_query_that_verifies_makes_the_whole_verify, "verify", "on_progress") {
  const auto q = source(e, few);
  EXPECT_FALSE(q.concat(q).run_settings()->verify);
  EXPECT_TRUE(q.concat(q.verify()).run_settings()->verify);
  double a = -1, b = -1;
  q.on_progress([&](double f) { a = f; }).concat(q.on_progress([&](double f) { b = f; })).count();
  EXPECT_EQ(a, 1.0);
  EXPECT_EQ(b, 1.0);
}

TEST(settings, a_session_that_one_query_names_runs_all) {
  const query::Session session({.threads = 1});
  const auto named = query::from(few).in(session), other = query::from(few).as_query();
  EXPECT_EQ(other.concat(named).run_settings()->session, session.state());
  EXPECT_EQ(named.concat(other).run_settings()->session, session.state());
  EXPECT_EQ(named.concat(named).run_settings(), named.run_settings());
  EXPECT_EQ(other.concat(named).count(), 8);
}

TEST(settings, a_query_runs_in_one_session) {
  const query::Session one({.threads = 1}), two({.threads = 1});
  const auto a = query::from(few).in(one), b = query::from(few).in(two);
  const std::string wrong = ": two sessions are named, and a query runs in one; name it once, behind this verb: .in(session)";
  EXPECT_MESSAGE("join" + wrong, a.join(b, itself, itself));
  EXPECT_MESSAGE("concat" + wrong, a.concat(b));
  EXPECT_MESSAGE("zip" + wrong, a.zip(b));
  EXPECT_MESSAGE("except" + wrong, a.except(b));
  EXPECT_MESSAGE("group_join" + wrong, a.group_join(b, itself, itself, [](std::int64_t x, const std::vector<std::int64_t>&) { return x; }));
  EXPECT_MESSAGE("do_while" + wrong, a.do_while([&](query::Query<std::int64_t> x) { return x.concat(b); }, query::times(1)));
  const auto list = query::broadcast(b);
  EXPECT_MESSAGE("where" + wrong, a.where([list](auto x) { return list.contains(x); }));
  EXPECT_MESSAGE("order_by" + wrong, a.order_by([list](auto x) { return list.contains(x); }));
  EXPECT_EQ(a.in(two).concat(b).count(), 8);                 // of one query, the last word
  EXPECT_TRUE(a.sequence_equal(b));                          // two queries, each in its own session
}

}  // namespace
}  // namespace conformance
