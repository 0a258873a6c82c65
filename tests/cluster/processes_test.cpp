// Queries of a session with a cluster on this machine: what runs in other processes gives what runs in this one.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <query/query.hpp>

#include "cluster/cluster_under_test.hpp"
#include "cluster/lambdas.hpp"

namespace processes_test {

struct item {
  std::int32_t id, shelf;
  double price;
  std::string name;
  friend bool operator==(const item&, const item&) = default;
};
QUERY_RECORD(item, id, shelf, price, name);
struct shelf {
  std::int32_t number;
  std::string label;
};
QUERY_RECORD(shelf, number, label);
struct where_it_ran {
  std::int64_t process;
  std::int32_t id;
};
QUERY_RECORD(where_it_ran, process, id);

namespace {

std::vector<item> items(int n = 10000) {
  std::vector<item> all;
  for (int i = 0; i < n; ++i) all.push_back({i, i * 7 % 101, i / 8.0, "item number " + std::to_string(i % 300)});
  return all;
}
query::Session three() { return query::Session::cluster(query::tests::three_processes(), {.threads = 2, .gpu = query::gpu_use::off}); }

// Of a session, where its rows are.
template <class Q> std::set<std::int64_t> processes_of(const Q& q) {
  std::set<std::int64_t> all;
  for (const where_it_ran& w : q) all.insert(w.process);
  return all;
}
auto where(const item& i) { return where_it_ran{::getpid(), i.id}; }

class processes : public ::testing::Test {
 protected:
  std::vector<item> rows = items();
  query::Session many = three();
  std::set<std::int64_t> others() {
    auto all = processes_of(query::from(rows).in(many).select([](const item& i) { return where(i); }).to_vector());
    all.erase(::getpid());
    return all;
  }
};

TEST_F(processes, run_functions_that_were_compiled) {
  const auto all = query::from(rows).in(many).select([](const item& i) { return where(i); }).to_vector();
  ASSERT_EQ(all.size(), rows.size());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i].id, rows[i].id);
  EXPECT_EQ(processes_of(all).size(), 3u);
}

TEST_F(processes, give_what_one_gives) {
  const auto q = query::from(rows);
  const auto there = q.in(many);
  const auto cheap = [limit = 700.0](auto t) { return t.price < limit; };
  EXPECT_EQ(there.where(cheap).count(), q.where(cheap).count());
  EXPECT_EQ(there.where(cheap).to_vector(), q.where(cheap).to_vector());
  EXPECT_DOUBLE_EQ(there.select([](auto t) { return t.price; }).sum(), q.select([](auto t) { return t.price; }).sum());
  const auto by_name = [](const auto& from) {
    auto groups = from.group_by([](auto t) { return t.name; })
                      .select([](auto g) { return std::tuple(g.key(), g.count(), g.max([](auto t) { return t.price; })); })
                      .to_vector();
    std::sort(groups.begin(), groups.end());
    return groups;
  };
  EXPECT_EQ(by_name(there), by_name(q));
  std::vector<shelf> shelves;
  for (int i = 0; i < 90; ++i) shelves.push_back({i, "shelf " + std::to_string(i)});
  const auto joined = [&](const auto& from) {
    auto all = from.join(query::from(shelves), [](auto t) { return t.shelf; }, [](auto s) { return s.number; },
                         [](auto t, auto s) { return std::tuple(t.id, t.name, s.label); })
                   .to_vector();
    std::sort(all.begin(), all.end());
    return all;
  };
  EXPECT_EQ(joined(there), joined(q));
  const auto sorted = [](const auto& from) {
    return from.order_by([](auto t) { return t.shelf; }).then_by_descending([](auto t) { return t.id; }).to_vector();
  };
  EXPECT_EQ(sorted(there), sorted(q));
  EXPECT_EQ(there.select([](auto t) { return t.shelf; }).distinct().count(), 101u);
}

TEST_F(processes, read_columns_and_captured_collections) {
  std::vector<std::int32_t> ids(5000), shelves(5000);
  for (int i = 0; i < 5000; ++i) ids[static_cast<std::size_t>(i)] = i, shelves[static_cast<std::size_t>(i)] = i % 13;
  const auto rates = query::broadcast(std::vector<double>{0.5, 1.5, 2.5});
  const auto q = query::from(ids);
  const auto scaled = [&](const auto& from) {
    return from.select([rates](auto i) { return rates.sum(i, [](auto x, auto r) { return x * r; }); }).to_vector();
  };
  EXPECT_EQ(scaled(q.in(many)), scaled(q));
  const auto largest = query::broadcast(query::from(rows).where([](auto t) { return t.id > 9990; }).select([](auto t) { return t.id; }));
  const auto near = [&](const auto& from) {
    return from.where([largest](auto i) { return largest.any(i, [](auto x, auto l) { return x + 6000 == l; }); }).to_vector();
  };
  EXPECT_EQ(near(q.in(many)), near(q));
}

TEST_F(processes, iterate) {
  const auto q = query::from(rows).select([](auto t) { return t.price; });
  const auto halved = [](const auto& from) {
    return from
        .do_while([](query::Query<double> now) { return now.select([](auto x) { return x / 2; }); },
                  [](query::Query<double>, query::Query<double> after) { return query::value_of(after).max() > 1.0; })
        .to_vector();
  };
  EXPECT_EQ(halved(query::from(rows).in(many).select([](auto t) { return t.price; })), halved(q));
}

// ---------------------------------------------------------------- what stays here
TEST_F(processes, leave_captures_by_reference_where_they_mean_something) {
  double limit = 100;
  const auto q = query::from(rows).in(many).where([&](const item& t) { return t.price < limit; });
  const std::string plan = q.explain();
  EXPECT_NE(plan.find("in one process: where (processes_test.cpp:"), plan.npos) << plan;
  EXPECT_NE(plan.find("captures an address"), plan.npos) << plan;
  EXPECT_EQ(q.count(), 800u);
  limit = 50;
  EXPECT_EQ(q.count(), 400u);
}

struct undescribed {
  int id;
  const char* text;
};
TEST_F(processes, leave_rows_that_nobody_described) {
  const auto q = query::from(rows).in(many).select([](const item& t) { return undescribed{t.id, "text"}; });
  EXPECT_NE(q.explain().find("in one partition: rows of"), std::string::npos) << q.explain();
  EXPECT_STREQ(q.to_vector()[5].text, "text");
}

// Their bytes may be addresses, be it that functions give what is described.
struct named {
  std::string name;
  int n;
};
TEST_F(processes, leave_sources_that_nobody_described) {
  std::vector<named> all;
  for (int i = 0; i < 1000; ++i) all.push_back({"name " + std::to_string(i), i});
  const auto q = query::from(all).in(many).where([](const named& x) { return x.name == "name " + std::to_string(x.n); });
  EXPECT_EQ(q.count(), 1000u);
  EXPECT_NE(q.explain("count").find("in one process: rows of"), std::string::npos) << q.explain("count");
  const std::vector<const char*> texts(1000, "text");
  EXPECT_EQ(query::from(texts).in(many).where([](const char* t) { return t[0] == 't'; }).count(), 1000u);
}

// Whatever lay in the memory of a closure, and whatever its captures are. clang++ 14 cannot clear what lies between captures.
#ifndef __clang__
TEST_F(processes, take_functions_whatever_they_capture) {
  const double limit = 700;
  const bool flag = true;
  for (int i = 0; i < 100; ++i) {
    std::vector<std::string> used(50, std::string(100, 'x'));  // memory with addresses in it, given back
    used.clear();
    const auto nothing = query::from(rows).in(many).where([](auto t) { return t.id >= 0; });
    const auto constants = query::from(rows).in(many).where([=](auto t) { return flag && t.price < limit; }).select([](auto t) {
      return t.price;
    });
    for (const std::string& plan : {nothing.explain("count"), constants.explain("min")})
      ASSERT_NE(plan.find("cluster graph"), plan.npos) << plan;
  }
}
#endif

// Within a function, in a process that has no rows of the query around it.
TEST_F(processes, run_queries_within_functions) {
  const auto sum_of = [](int n) { return query::from(std::vector<int>{1, 2, n}).sum(); };
  const auto own = query::from(rows).in(many).where([sum_of](const item& t) { return sum_of(3) + t.id > 9000; });
  EXPECT_EQ(own.count(), 1005u);  // 8995 and on
  const auto lazy = query::broadcast(query::from(rows).where([](auto t) { return t.id < 3; }).select([](auto t) { return t.id; }));
  const auto nested = query::from(rows).in(many).where([lazy](const item& t) {
    return query::from(std::vector<int>{1, 2, 3}).where([lazy](auto x) { return lazy.contains(x); }).count() + t.id == 2u;
  });
  try {
    EXPECT_EQ(nested.count(), 1u);
  } catch (const query::user_error& e) {
    EXPECT_NE(std::string(e.what()).find("captures the rows of a lazy query around it"), std::string::npos) << e.what();
  }
}

// Estimates of memory look at columns that are here: others have addresses, and no memory.
TEST_F(processes, columns_that_nobody_reads_are_not_there) {
  std::vector<std::int32_t> id(1000), shelf(1000);
  std::vector<double> price(1000);
  std::vector<std::string> name(1000, "a name that is longer than a short string");
  for (int i = 0; i < 1000; ++i) id[static_cast<std::size_t>(i)] = i;
  const auto all = query::from(query::columns<item>(id, shelf, price, name)).in(many);
  const auto other = query::from(rows).take(2);
  const auto pairs = all.cross_join(other, [](auto a, auto b) { return query::make<item>(a.id, b.shelf, a.price, b.name); });
  EXPECT_EQ(pairs.count(), 2000u);
  EXPECT_EQ(pairs.where([](auto t) { return t.id >= 0; }).to_vector().size(), 2000u);
}

TEST_F(processes, stop_while_rows_are_on_their_way) {
  const auto first = others();
  std::vector<std::int64_t> many_rows(3'000'000, 1);
  const auto q = query::from(many_rows).in(many).where([](auto x) { return x > 0; });
  EXPECT_EQ(q.count(), many_rows.size());
  for (const std::int64_t p : first) ::kill(static_cast<pid_t>(p), SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(q.timeout(0.5).count(), query::cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  EXPECT_EQ(q.count(), many_rows.size());
}

int changed_by_main = 1;
TEST_F(processes, tell_a_function_that_reads_what_another_process_does_not_have) {
  changed_by_main = 2;
  const auto q = query::from(rows).in(many).where([](auto t) { return t.id < changed_by_main; });
  try {
    q.count();
    ADD_FAILURE() << "nothing noticed";
  } catch (const query::user_error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("where: "), text.npos) << text;
    EXPECT_NE(text.find("capture"), text.npos) << text;
  }
}

TEST_F(processes, run_functions_of_shared_objects) {
  EXPECT_EQ(cluster_lambdas::cheap_items(query::from(rows).select([](auto t) { return t.price; }).in(many), 10.0), 80u);
#ifndef __clang__
  EXPECT_EQ(cluster_lambdas::plan(query::from(rows).select([](auto t) { return t.price; }).in(many), 10.0).find("in one process"),
            std::string::npos);
#endif
}

TEST(cluster, of_one_is_this_process) {
  const auto one = query::Session::cluster("local:1");
  EXPECT_EQ(query::from(std::vector{1, 2, 3}).in(one).sum(), 6);
}
TEST(cluster, names_are_checked) {
  for (const char* wrong : {"local", "local:", "local:0", "local:-1", "local:x", "local:2x", "local:99999", "ray:",
                            "ray:1.2.3.4", "ray::5"}) {
    try {
      query::Session::cluster(wrong);
      ADD_FAILURE() << wrong;
    } catch (const query::user_error& e) {
      EXPECT_NE(std::string(e.what()).find(std::string("found '") + wrong), std::string::npos) << e.what();
    }
  }
}

// ---------------------------------------------------------------- errors, ends
struct own_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
TEST_F(processes, throw_what_functions_throw) {
  const auto q = query::from(rows).in(many);
  const auto throws = [](const item& t) -> double {
    if (t.id == 9000) throw std::out_of_range("item 9000");
    return t.price;
  };
  EXPECT_THROW(q.select(throws).sum(), std::out_of_range);
  const auto throws_own = [](const item& t) -> double {
    if (t.id == 9000) throw own_error("own");
    return t.price;
  };
  try {
    q.select(throws_own).sum();
    ADD_FAILURE();
  } catch (const query::remote_error& e) {
    EXPECT_NE(std::string(e.what()).find("process 3 of " + query::tests::three_processes() + " threw"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("own_error: own"), std::string::npos) << e.what();
  }
  EXPECT_EQ(q.count(), rows.size());
}

TEST_F(processes, stop_when_they_are_told_to) {
  const auto slow = [](const item& t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return t.price;
  };
  const auto q = query::from(rows).in(many).select(slow);
  EXPECT_EQ(query::from(rows).in(many).count(), rows.size());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(q.timeout(0.3).sum(), query::cancelled);
  std::stop_source stop;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop.request_stop();
  });
  EXPECT_THROW(q.stop_on(stop.get_token()).sum(), query::cancelled);
  later.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
  EXPECT_EQ(query::from(rows).in(many).count(), rows.size());
}

TEST_F(processes, that_are_killed_are_replaced) {
  const auto first = others();
  ASSERT_EQ(first.size(), 2u);
  // In the middle of a query.
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    ::kill(static_cast<pid_t>(*first.begin()), SIGKILL);
  });
  const auto slow = [](const item& t) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    return t.id;
  };
  const std::int64_t sum = query::from(rows).in(many).select(slow).sum();
  killer.join();
  EXPECT_EQ(sum, 10000ll * 9999 / 2);
  const auto second = others();
  EXPECT_EQ(second.size(), 2u);
  EXPECT_NE(first, second);
  // Between queries.
  for (const std::int64_t p : second) ::kill(static_cast<pid_t>(p), SIGKILL);
  EXPECT_EQ(query::from(rows).in(many).select(slow).sum(), sum);
}

TEST_F(processes, that_do_not_answer_are_replaced) {
  const auto first = others();
  ::kill(static_cast<pid_t>(*first.begin()), SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(query::from(rows).in(many).where([](auto t) { return t.id >= 0; }).count(), rows.size());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_FALSE(others().contains(*first.begin()));
}

TEST_F(processes, that_functions_end_are_an_error) {
  const auto ends = [](const item& t) {
    if (t.id == 9999) ::_exit(7);
    return t.id;
  };
  try {
    query::from(rows).in(many).select(ends).sum();
    ADD_FAILURE();
  } catch (const query::cluster_error& e) {
    EXPECT_NE(std::string(e.what()).find("process 3 of " + query::tests::three_processes()), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("ended with status 7"), std::string::npos) << e.what();
  }
  EXPECT_EQ(query::from(rows).in(many).count(), rows.size());
}

TEST_F(processes, end_with_their_session) {
  std::set<std::int64_t> there;
  {
    auto session = three();
    there = processes_of(query::from(rows).in(session).select([](const item& i) { return where(i); }).to_vector());
    there.erase(::getpid());
    ASSERT_EQ(there.size(), 2u);
  }
  for (const std::int64_t p : there) EXPECT_NE(::kill(static_cast<pid_t>(p), 0), 0) << p;
}

}  // namespace
}  // namespace processes_test
