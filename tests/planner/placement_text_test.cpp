// What explain() says of places where no GPU is, or none was asked for.
#include "planner/plan_fixture.hpp"

namespace planner_test {
namespace {

const query::Session without_gpu({.threads = 2, .gpu = query::gpu_use::off});
const auto large = [](auto t) { return t.qty > 100; };

bool says(const std::string& plan, const std::string& words) { return plan.find(words) != std::string::npos; }

TEST(placement_text, accelerated_rows_and_folds_say_why_they_run_on_the_cpu) {
  const std::string why = without_gpu.gpu_status();
  ASSERT_FALSE(why.empty());
  const auto q = query::from(trades).in(without_gpu).as_accelerated().where(large);
  EXPECT_TRUE(says(q.explain(), "rows: cpu: " + why)) << q.explain();
  EXPECT_TRUE(says(q.explain("count"), "count: cpu: " + why)) << q.explain("count");
  EXPECT_TRUE(says(q.select([](auto t) { return t.price; }).explain("sum"), "sum: cpu: " + why));
  EXPECT_TRUE(says(q.order_by([](auto t) { return t.qty; }).explain(), "cpu: " + why));
  const std::string several = q.order_by([](auto t) { return t.qty; }).take(7).distinct().explain();
  EXPECT_EQ(several.find(why), several.rfind(why)) << several;
  EXPECT_TRUE(says(several, "cpu: no GPU, as above")) << several;
  EXPECT_TRUE(says(q.verify().explain(), "rows: cpu: not on gpu: verified queries run natively"));
  const auto plain = query::from(trades).in(without_gpu).where(large);
  EXPECT_FALSE(says(plain.explain(), "rows: cpu")) << plain.explain();
  EXPECT_FALSE(says(query::from(trades).in(without_gpu).as_accelerated().explain(), "rows: cpu")) << "nothing is computed";
}

TEST(placement_text, joins_and_sets_say_which_side_has_the_hash_table) {
  const auto q = query::from(trades);
  const auto key = [](auto t) { return t.symbol; };
  const auto first = [](const auto& a, const auto&) { return a.has_value(); };
  const std::string right = "hash table of its right side, which the left side probes\n";
  const std::string keys = "hash table of the keys of its right side, which the left side probes\n";
  const std::string both = "hash table of the keys of both sides\n";
  const auto check = [](const std::string& plan, const std::string& words) { EXPECT_TRUE(says(plan, words)) << plan; };
  check(q.full_join(q, key, key, first).explain(), right);
  check(q.right_join(q, key, key, first).explain(), right);
  check(q.group_join(q, key, key, [](auto t, auto rows) { return t.qty + query::cast<std::int64_t>(rows.size()); }).explain(), right);
  check(q.intersect_by(q, key).explain(), keys);
  check(q.except_by(q, key).explain(), keys);
  check(q.union_with_by(q, key).explain(), both);
  check(q.join(q, key, key, [](auto a, auto) { return a; }).explain(), "probes the hash table of its right side");
}

TEST(placement_text, loops_speak_of_their_driver_only_where_a_gpu_was_asked_for) {
  const auto body = [](query::Query<Trade> rows) { return rows.order_by([](auto t) { return t.qty; }); };
  const auto loop = [&](const auto& q) { return q.do_while(body, query::times(2)).explain(); };
  const std::string plain = loop(query::from(trades).in(without_gpu)), asked = loop(query::from(trades).in(without_gpu).as_accelerated());
  EXPECT_TRUE(std::regex_search(plain, std::regex("do_while\\(2 times\\) +cpu\n"))) << plain;
  EXPECT_TRUE(std::regex_search(asked, std::regex("do_while\\(2 times\\) +cpu: "))) << asked;
}

}  // namespace
}  // namespace planner_test
