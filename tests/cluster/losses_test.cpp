// Processes that are killed at any moment of a query: the answer stays right, and nothing is left behind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <query/query.hpp>

#include "cluster/cluster_under_test.hpp"
#include "runtime/session_state.hpp"
#include "temp_folder.hpp"

namespace losses_test {

struct point {
  std::int32_t id, shelf;
  double x, y;
  friend bool operator==(const point&, const point&) = default;
};
QUERY_RECORD(point, id, shelf, x, y);
struct center {
  std::int32_t id;
  double x, y;
  friend bool operator==(const center&, const center&) = default;
};
QUERY_RECORD(center, id, x, y);
struct shelf_key {
  bool even;
  std::int32_t shelf;
  friend bool operator==(const shelf_key&, const shelf_key&) = default;
};
QUERY_RECORD(shelf_key, even, shelf);
struct facts {
  shelf_key key;
  std::int32_t least;
  bool large;
  double mean;
  std::optional<double> variance;
  std::int32_t first, last;
  shelf_key first_key;
  point best;
  bool any;
  std::int64_t n;
  friend bool operator==(const facts&, const facts&) = default;
};
QUERY_RECORD(facts, key, least, large, mean, variance, first, last, first_key, best, any, n);

namespace {

std::vector<point> points(int n) {
  std::mt19937 g(3);
  std::vector<point> all;
  for (int i = 0; i < n; ++i)
    all.push_back({i, static_cast<std::int32_t>(g() % 5000), static_cast<double>(g() % 1000 + i % 4 * 3000),
                   static_cast<double>(g() % 1000)});
  return all;
}

// Integers in doubles: sums are exact, in whatever order.
std::vector<center> clusters(const query::Query<point>& all) {
  std::vector<center> first;
  for (int i = 0; i < 4; ++i) first.push_back({i, 500.0 + 2500 * i, 500});
  return query::from(first)
      .do_while(
          [all](query::Query<center> now) {
            const auto centers = query::broadcast(now);
            const auto distance = [](auto p, auto c) { return (p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y); };
            return all.group_by([centers, distance](auto p) { return centers.arg_min(p, distance); })
                .select([](auto g) {
                  return query::make<center>(g.key(), query::floor(g.sum([](auto p) { return p.x; }) / g.count()),
                                             query::floor(g.sum([](auto p) { return p.y; }) / g.count()));
                })
                .order_by([](auto c) { return c.id; });
          },
          query::times(8))
      .to_vector();
}

class losses : public ::testing::Test {
 protected:
  query::Session many = query::Session::cluster(query::tests::three_processes(), {.threads = 1, .gpu = query::gpu_use::off});
  query::Session one{{.threads = 2, .gpu = query::gpu_use::off}};
  std::mt19937 random{static_cast<std::uint32_t>(std::atoi(std::getenv("QUERY_TEST_SEED") ? std::getenv("QUERY_TEST_SEED") : "7"))};
  int kills = std::getenv("QUERY_TEST_KILLS") ? std::atoi(std::getenv("QUERY_TEST_KILLS")) : 12;

  // f(session) runs a query; a process, or several, are killed at some moment of it.
  template <class F> void survives(F f, std::size_t at_once = 1) {
    const auto expected = f(one);
    f(many);  // processes are started
    const auto begin = std::chrono::steady_clock::now();
    f(many);
    const auto takes = std::chrono::steady_clock::now() - begin;
    int hits = 0;
    for (int i = 0; i < kills; ++i) {
      auto all = query::tests::containers();
      if (all.size() != 2) f(many), all = query::tests::containers();  // one was killed behind its query
      ASSERT_EQ(all.size(), 2u);  // the query does not stay in this process
      std::shuffle(all.begin(), all.end(), random);
      const pid_t victim = all[0];
      const auto after = takes * static_cast<int>(random() % 100) / 100;
      std::thread killer([&] {
        std::this_thread::sleep_for(after);
        for (std::size_t k = 0; k < at_once; ++k) ::kill(all[k], SIGKILL);
      });
      try {
        EXPECT_EQ(f(many), expected) << "kill " << i;
      } catch (const std::exception& e) {
        ADD_FAILURE() << "kill " << i << ": " << e.what();
      }
      killer.join();
      if (HasFailure()) return;
      const auto now = query::tests::containers();
      hits += std::find(now.begin(), now.end(), victim) == now.end();
    }
    EXPECT_GT(hits, 0);  // at least one was replaced within its query
  }
};

TEST_F(losses, of_loops) {
  const std::vector<point> rows = points(60000);
  survives([&](query::Session& s) { return clusters(query::from(rows).in(s)); });
}

// The rows of a round are in all processes: those of a lost one are computed again from the last round that was saved, or from the first.
TEST_F(losses, of_loops_whose_rows_stay_in_their_processes) {
  std::vector<center> first, links;
  for (int i = 0; i < 12000; ++i) first.push_back({i, i * 1.0, 1});
  for (int i = 0; i < 24000; ++i) links.push_back({i * 7919 % 12000, i * 104729.0, 1.0 / 3});
  const auto id = [](auto c) { return c.id; };
  const auto to = [](auto l) { return query::cast<std::int32_t>(query::floor(l.x - query::floor(l.x / 12000) * 12000)); };
  kills /= 2;
  for (const double interval : {20.0, 0.0}) {
    many.state()->interval_of_saving = interval;
    many.state()->most_broadcast = one.state()->most_broadcast = 1024;
    const std::uint64_t saved = many.state()->saved_rounds;
    survives([&](query::Session& s) {
      auto all = query::from(first)
                     .in(s)
                     .do_while(
                         [&](query::Query<center> now) {
                           return query::from(links)
                               .join(now, id, id, [to](auto l, auto c) { return query::make<center>(to(l), c.x, c.y); })
                               .group_by(id)
                               .select([](auto g) {
                                 return query::make<center>(g.key(), query::floor(g.sum([](auto c) { return c.x; }) / 2),
                                                            g.max([](auto c) { return c.y; }));
                               });
                         },
                         query::times(8))
                     .to_vector();
      std::sort(all.begin(), all.end(), [](const center& a, const center& b) { return a.id < b.id; });
      return all;
    });
    if (interval == 0) {
      EXPECT_GT(many.state()->saved_rounds, saved + 8);
    }
  }
}

// Of two queries in three, the rows are there when a process is killed.
TEST_F(losses, of_cached_rows) {
  const std::vector<point> rows = points(60000);
  for (const bool grouped : {false, true}) {
    const auto made = [&](query::Session& s) -> query::Query<center> {
      const auto all = query::from(rows).in(s);
      if (!grouped) return all.select([](auto p) { return query::make<center>(p.id, p.x + p.y, p.y); }).cached();
      return all.group_by([](auto p) { return p.shelf; })
          .select([](auto g) {
            return query::make<center>(g.key(), g.sum([](auto p) { return p.x; }), g.sum([](auto p) { return p.y; }));
          })
          .cached();
    };
    query::Query<center> kept;
    int asked = 0;
    survives([&](query::Session& s) {
      query::Query<center> here = made(s);
      if (&s == &many) here = kept = asked++ % 3 ? kept : here;
      return here.where([](auto c) { return c.x > 500; }).order_by([](auto c) { return c.id; }).to_vector();
    });
  }
}

TEST_F(losses, of_windows_and_partitions) {
  const std::vector<point> rows = points(60000);
  const auto shelf = [](auto p) { return p.shelf; };
  kills /= 2;
  survives([&](query::Session& s) {
    return query::from(rows).in(s).over(shelf).order_by([](const auto& p) { return p.x; }).select([](const auto& p, auto w) {
      return query::make<center>(p.id, query::cast<double>(w.row_number()), w.cum_sum([](const auto& o) { return o.y; }));
    }).to_vector();
  });
  const auto of_partition = [](std::span<const point> all) {
    center c{static_cast<std::int32_t>(all.size()), 0, 0};
    for (const point& p : all) c.x = c.x / 2 + p.x, c.y += p.y;  // as the rows follow each other
    return c;
  };
  survives([&](query::Session& s) { return query::from(rows).in(s).hash_partitioned_by(shelf, 40).apply(of_partition).to_vector(); });
  survives([&](query::Session& s) {
    return query::from(rows).in(s).where([](auto p) { return p.x > 900; }).partitioned(40).apply(of_partition).to_vector();
  });
}

TEST_F(losses, of_joins_and_groups) {
  const std::vector<point> rows = points(60000);
  std::vector<center> shelves;
  for (int i = 0; i < 5000; ++i) shelves.push_back({i, i * 2.0, 0});
  survives([&](query::Session& s) {
    auto all = query::from(rows)
                   .in(s)
                   .join(query::from(shelves), [](auto p) { return p.shelf; }, [](auto c) { return c.id; },
                         [](auto p, auto c) { return query::make<center>(p.shelf % 100, p.x + c.x, p.y); })
                   .group_by([](auto c) { return c.id; })
                   .select([](auto g) {
                     return query::make<center>(g.key(), g.sum([](auto c) { return c.x; }), g.max([](auto c) { return c.y; }));
                   })
                   .to_vector();
    std::sort(all.begin(), all.end(), [](const center& a, const center& b) { return a.id < b.id; });
    return all;
  });
}

TEST_F(losses, of_folds_and_sorts) {
  const std::vector<point> rows = points(200000);
  survives([&](query::Session& s) {
    const double sum = query::from(rows).in(s).where([](auto p) { return p.shelf % 3 == 0; }).select([](auto p) { return p.x; }).sum();
    auto best = query::from(rows).in(s).order_by([](auto p) { return p.y; }).select([](auto p) { return p.id; }).take(1000).to_vector();
    best.push_back(static_cast<std::int32_t>(sum));
    return best;
  });
}

// The fold is behind exchanges, which are computed again for who lost them.
TEST_F(losses, of_folds_behind_exchanges) {
  const std::vector<point> rows = points(60000);
  std::vector<center> shelves;
  for (int i = 0; i < 5000; ++i) shelves.push_back({i, i * 2.0, 0});
  survives([&](query::Session& s) {
    s.state()->most_broadcast = 0;
    return query::from(rows)
        .in(s)
        .join(query::from(shelves), [](auto p) { return p.shelf; }, [](auto c) { return c.id; }, [](auto p, auto c) { return p.x + c.x; })
        .sum();
  });
}

// Rows that stay in their process are lost with it, and those that went to all are in all.
TEST_F(losses, of_joins_that_were_revised) {
  const std::vector<point> rows = points(60000);
  std::vector<center> shelves;
  for (int i = 0; i < 5000; ++i) shelves.push_back({i, i * 2.0, 0});
  const auto joined = [&](const query::Session& s) {
    const auto few = query::from(shelves).in(s).where([](auto c) { return c.id % 50 == 0; });
    return query::from(rows).in(s).join(few, [](auto p) { return p.shelf; }, [](auto c) { return c.id; },
                                        [](auto p, auto c) { return query::make<center>(p.id, p.x + c.x, p.y); });
  };
  many.state()->most_broadcast = 4096;
  const std::uint64_t before = many.state()->sent_rows;
  const auto q = joined(many);
  (void)q.sum([](auto c) { return c.x; });
  EXPECT_LT(many.state()->sent_rows - before, 1000u);
  const std::string plan = q.explain();
  EXPECT_NE(plan.find("in the last run: 100 rows went to each partition"), std::string::npos) << plan;
  EXPECT_NE(plan.find("rows change process by "), std::string::npos) << plan;
  survives([&](query::Session& s) {
    auto all = joined(s).to_vector();
    std::sort(all.begin(), all.end(), [](const center& a, const center& b) { return a.id < b.id; });
    return all;
  });
}

// Rows of a heavy key are in all processes, and so are those that they look up.
TEST_F(losses, of_joins_with_heavy_keys) {
  std::vector<point> rows = points(60000);
  for (point& p : rows)
    if (p.id % 5 < 3) p.shelf = 17;
  std::vector<center> shelves;
  for (int i = 0; i < 10000; ++i) shelves.push_back({i % 5000, i * 2.0, 0});
  const auto joined = [&](const query::Session& s) {
    const auto all = query::from(shelves).in(s).where([](auto c) { return c.x >= 0; });
    return query::from(rows).in(s).left_join(all, [](auto p) { return p.shelf; }, [](auto c) { return c.id; }, [](auto p, auto c) {
      return query::make<center>(p.id, p.x + query::iff(c.has_value(), c->x, -1.0), p.y);
    });
  };
  many.state()->most_broadcast = 0;
  many.state()->least_spread = 1000;
  const auto q = joined(many);
  (void)q.count();
  const std::string plan = q.explain();
  EXPECT_NE(plan.find("; 1 heavy key spread, with about "), std::string::npos) << plan;
  // Pairs of a row are in their order, wherever it is.
  survives([&](query::Session& s) {
    auto all = joined(s).to_vector();
    std::stable_sort(all.begin(), all.end(), [](const center& a, const center& b) { return a.id < b.id; });
    return all;
  });
}

TEST_F(losses, of_all_processes_at_once) {
  const std::vector<point> rows = points(60000);
  survives(
      [&](query::Session& s) {
        s.state()->most_broadcast = 0;
        auto all = query::from(rows).in(s).group_by([](auto p) { return p.shelf % 50; }).select([](auto g) {
          return query::make<center>(g.key(), g.sum([](auto p) { return p.x; }), g.max([](auto p) { return p.y; }));
        });
        return all.join(all, [](auto c) { return c.id; }, [](auto c) { return c.id; }, [](auto a, auto b) { return a.x + b.y; })
            .order_by([](auto x) { return x; })
            .to_vector();
      },
      2);
}

// Files that processes know each other by.
struct marks {
  std::array<char, 200> folder{};
  bool make(char name) const {
    const int file = ::open(path(name).c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0) ::close(file);
    return file >= 0;
  }
  bool there(char name) const { return ::access(path(name).c_str(), F_OK) == 0; }
  std::string path(char name) const { return std::string(folder.data()) + '/' + name; }
};

// The first partition's function waits for what the process in the place of the lost one does.
TEST_F(losses, are_replaced_while_the_leader_works_on_its_own_task) {
  if (query::tests::on_ray()) GTEST_SKIP() << "its processes may be elsewhere and have other files";
  const query::tests::temp_folder folder("losses_marks");
  marks known;
  folder.name().copy(known.folder.data(), known.folder.size() - 1);
  const pid_t leader = ::getpid();
  const auto seen = query::opaque([known, leader](std::int64_t x) {
    if (::getpid() == leader) {
      for (int i = 0; i < 3000 && !known.there('r'); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return std::int64_t{known.there('r')};
    }
    if (x == 10) {
      if (known.make('k')) ::raise(SIGKILL);
      known.make('r');
    }
    return std::int64_t{1};
  });
  std::vector<std::int64_t> rows(30);
  std::iota(rows.begin(), rows.end(), 0);
  const auto q = query::from(rows).in(many).select(seen);
  EXPECT_EQ(q.to_vector(), std::vector<std::int64_t>(30, 1));
  EXPECT_TRUE(known.there('k'));
  EXPECT_NE(q.explain().find("1 process was lost"), std::string::npos) << q.explain();
}

// A loss that is heard of while the leader works on its task takes the steps of the round.
TEST_F(losses, in_a_round_while_the_leader_works_on_its_own_task) {
  if (query::tests::on_ray()) GTEST_SKIP() << "its processes may be elsewhere";
  const query::tests::temp_folder folder("losses_round_marks");
  marks known;
  folder.name().copy(known.folder.data(), known.folder.size() - 1);
  many.state()->most_broadcast = 1024;
  std::vector<center> first;
  for (int i = 0; i < 20000; ++i) first.push_back({i, i * 1.0, 1});
  (void)query::from(first).in(many).where([](auto c) { return c.id % 2 == 0; }).count();  // processes are started
  const auto all = query::tests::containers();
  ASSERT_EQ(all.size(), 2u);
  const pid_t leader = ::getpid(), victim = all[0];
  const auto slow = query::opaque([known, leader, victim](std::int32_t x) {
    if (::getpid() == leader && known.make('k')) {
      ::kill(victim, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(500));  // for it to be heard of
    }
    return x;
  });
  const auto run = [&](const query::Session& s) {
    auto rows = query::from(first)
                    .in(s)
                    .do_while(
                        [slow](query::Query<center> now) {
                          return now.group_by([](auto c) { return c.id / 2 * 2 + c.id % 2; })
                              .select([](auto g) {
                                return query::make<center>(g.key(), g.max([](auto c) { return c.x; }), g.max([](auto c) { return c.y; }));
                              })
                              .select([slow](auto c) { return query::make<center>(slow(c.id), c.x + 1, c.y); });
                        },
                        query::times(5))
                    .to_vector();
    std::sort(rows.begin(), rows.end(), [](const center& a, const center& b) { return a.id < b.id; });
    return rows;
  };
  const auto got = run(many);
  EXPECT_TRUE(known.there('k'));
  EXPECT_EQ(got, run(one));
}

// What the first partition has of a round goes when nobody may have to be sent it once more.
TEST_F(losses, while_the_leader_works_on_the_last_vertex_of_a_round) {
  const std::vector<point> rows = points(20000);
  const pid_t here = ::getpid();
  int calls = 0, kill_at = 0;
  const auto run = [&](const query::Session& s) {
    const auto killing = query::opaque([&](const center& c) {
      if (::getpid() == here && c.id == 0 && kill_at && ++calls == kill_at) {
        ::kill(query::tests::containers().at(0), SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
      return c;
    });
    const auto all = query::from(rows).in(s);
    std::vector<center> first;
    for (int i = 0; i < 4; ++i) first.push_back({i, 500.0 + 2500 * i, 500});
    // The function that captures by reference runs in this process: behind a sort of few rows, of which it reads some.
    return query::from(first)
        .do_while(
            [&](query::Query<center> now) {
              const auto centers = query::broadcast(now);
              const auto distance = [](auto p, auto c) { return (p.x - c.x) * (p.x - c.x); };
              return all.group_by([centers, distance](auto p) { return centers.arg_min(p, distance); })
                  .select([](auto g) {
                    return query::make<center>(g.key(), query::floor(g.sum([](auto p) { return p.x; }) / g.count()), 0.0);
                  })
                  .order_by([](auto c) { return c.id; })
                  .take(100)
                  .select(killing);
            },
            query::times(5))
        .to_vector();
  };
  const auto expected = run(one);
  for (const int round : {1, 2, 5}) {
    kill_at = 0;
    EXPECT_EQ(run(many), expected);
    kill_at = round;
    calls = 0;
    EXPECT_EQ(run(many), expected) << round;
    EXPECT_GE(calls, round);
  }
}

// Is in the file, once it is there, that a process of the cluster has begun to work on it.
struct marker {
  char file[48];
  pid_t leader;
  // The first process to come waits to be killed.
  void stay_behind() const {
    if (::getpid() == leader) return;
    const int fd = ::open(file, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd < 0) return;
    const pid_t me = ::getpid();
    if (::write(fd, &me, sizeof me) == sizeof me) std::this_thread::sleep_for(std::chrono::seconds(20));
    ::close(fd);
  }
  void kill_who_stays() const {
    pid_t p = 0;
    for (int i = 0; i < 1000 && !p; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(&p), sizeof p);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the leader has its rows by then
    if (p) ::kill(p, SIGKILL);
  }
};

// f(marker) runs a query in which a process stays behind, and is killed if it may.
template <class F> auto after_a_loss(F f, bool kill) {
  marker m{"/tmp/query_losses_XXXXXX", ::getpid()};
  ::close(::mkstemp(m.file));
  if (kill) ::unlink(m.file);
  std::thread killer([&] {
    if (kill) m.kill_who_stays();
  });
  struct end {
    std::thread* killer;
    const marker* m;
    ~end() {
      killer->join();
      ::unlink(m->file);
    }
  } const ends{&killer, &m};
  return f(m);
}

// Sums that are not exact: rows that are computed again have to be the same to the last bit. `salt` is what a process adds of its own.
template <class Salt> double sum_after_a_loss(const query::Session& s, Salt salt, bool kill) {
  const std::vector<point> rows = points(30000);
  return after_a_loss(
      [&](marker m) {
        return query::from(rows)
            .in(s)
            .select(query::opaque([salt](const point& p) { return center{p.shelf % 50, p.x / 3 + salt(), p.y}; }))
            .group_by([](auto c) { return c.id; })
            .select([](auto g) {
              return query::make<center>(g.key(), g.sum([](auto c) { return c.x / 7; }), g.max([](auto c) { return c.y; }));
            })
            .select(query::opaque([m](const center& c) {
              m.stay_behind();
              return c.x * 1.1 + c.y;
            }))
            .sum();
      },
      kill);
}

TEST_F(losses, rows_that_are_computed_again_are_the_same) {
  const auto nothing = [] { return 0.0; };
  const double expected = sum_after_a_loss(many, nothing, false);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sum_after_a_loss(many, nothing, true), expected);
}

TEST_F(losses, rows_that_come_out_another_way_are_an_error) {
  // The same number of rows, and of bytes.
  const auto differs = [] {
    static const auto mine = static_cast<double>(std::random_device{}() % 1000);
    return mine;
  };
  EXPECT_GT(sum_after_a_loss(many, differs, false), 0);
  try {
    sum_after_a_loss(many, differs, true);
    ADD_FAILURE() << "they were taken";
  } catch (const query::cluster_error& e) {
    EXPECT_NE(std::string(e.what()).find("come out another way"), std::string::npos) << e.what();
  }
}

// Bytes between the members of a state, and those of rows that it keeps, may be any.
TEST_F(losses, states_that_are_computed_again_are_the_same) {
  const std::vector<point> rows = points(30000);
  const auto run = [&](const query::Session& s, bool kill) {
    return after_a_loss(
        [&](marker m) {
          auto all = query::from(rows)
                         .in(s)
                         .select([](auto p) { return query::make<point>(p.id, p.shelf % 80, p.x / 3, p.y); })
                         .group_by([](auto p) { return query::make<shelf_key>(p.shelf % 2 == 0, p.shelf); })
                         .select([](auto g) {
                           return query::make<facts>(
                               g.key(), g.min([](auto p) { return p.id; }), g.max([](auto p) { return p.x > 500; }),
                               g.mean([](auto p) { return p.x / 7; }), g.variance([](auto p) { return p.y; }),
                               g.first([](auto p) { return p.id; }), g.last([](auto p) { return p.shelf; }),
                               g.first([](auto p) { return query::make<shelf_key>(p.id > 2, p.shelf); }),
                               g.arg_min([](auto p) { return p.y; }), g.any([](auto p) { return p.x > 900; }), g.count());
                         })
                         .select(query::opaque([m](const facts& f) {
                           m.stay_behind();
                           return f;
                         }))
                         .to_vector();
          std::sort(all.begin(), all.end(), [](const facts& a, const facts& b) { return a.key.shelf < b.key.shelf; });
          return all;
        },
        kill);
  };
  for (const bool interpret : {false, true}) {
    const auto s = query::Session::cluster(query::tests::three_processes(),
                                           {.threads = 1, .interpret = interpret, .gpu = query::gpu_use::off});
    const auto expected = run(s, false);
    EXPECT_EQ(expected.size(), 80u);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(run(s, true) == expected) << interpret;
  }
}

TEST_F(losses, are_explained) {
  const std::vector<point> rows = points(1000);
  const auto slow = query::from(rows)
                        .in(many)
                        .group_by([](auto p) { return p.shelf % 5; })
                        .select([](auto g) { return query::make<center>(g.key(), g.sum([](auto p) { return p.x; }), 0.0); })
                        .select(query::opaque([](const center& c) {
                          std::this_thread::sleep_for(std::chrono::milliseconds(100));
                          return static_cast<double>(c.id);
                        }));
  EXPECT_EQ(slow.sum(), 10);
  EXPECT_EQ(slow.explain().find("was lost"), std::string::npos);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::kill(query::tests::containers().at(0), SIGKILL);
  });
  EXPECT_EQ(slow.sum(), 10);
  killer.join();
  EXPECT_NE(slow.explain().find("in the last run: 1 process was lost, "), std::string::npos) << slow.explain();
  EXPECT_NE(slow.explain().find("ran again"), std::string::npos);
  EXPECT_EQ(slow.sum(), 10);
  EXPECT_EQ(slow.explain().find("was lost"), std::string::npos) << slow.explain();
}

TEST_F(losses, leave_no_process) {
  { const auto s = query::Session::cluster(query::tests::three_processes()); EXPECT_EQ(query::from(points(100)).in(s).count(), 100u); }
  EXPECT_TRUE(query::tests::containers().empty());
}

}  // namespace
}  // namespace losses_test
