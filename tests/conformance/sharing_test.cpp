// Queries as values: stored as Query<T>, returned, reused; sources and captures that change between runs; cached, fork,
// concurrent runs.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include <tbb/parallel_for.h>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "runtime/session_state.hpp"
#include "temp_folder.hpp"

namespace conformance {
namespace {

query::Query<tick> large_ones(const query::Query<tick>& q, std::int64_t limit) {
  return q.where([limit](auto t) { return t.amount > limit; });
}

CONFORMS(sharing, queries_can_be_stored_returned_and_run_again, "Query", "as_query") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const query::Query<tick> q = large_ones(source(e, d.rows).where([](auto t) { return t.key != 1; }), 100);
    const auto wanted = kept(d.rows, [](const tick& t) { return t.key != 1 && t.amount > 100; });
    for (int run = 0; run < 3; ++run) EXPECT_ROWS(q.to_vector(), wanted);
    EXPECT_EQ(q.count(), static_cast<std::int64_t>(wanted.size()));
    query::Query<std::int32_t> keys = q.select([](auto t) { return t.key; });
    EXPECT_ROWS(keys.to_vector(), selected(wanted, [](const tick& t) { return t.key; }));
    keys = keys.where([](auto k) { return k > 0; });
    EXPECT_ROWS(keys.to_vector(), kept(selected(wanted, [](const tick& t) { return t.key; }), [](auto k) { return k > 0; }));
    const auto erased = q.where([](auto t) { return t.key > 0; }).as_query();
    EXPECT_EQ(erased.count(), std::ssize(kept(wanted, [](const tick& t) { return t.key > 0; })));
    const std::vector<query::Query<tick>> several = {q, q.take(3), q.order_by([](auto t) { return t.amount; })};
    EXPECT_EQ(several[2].count(), q.count());
  }
}

CONFORMS(sharing, a_query_that_was_moved_from_is_still_one, "Query") {
  const auto& rows = many_ticks();
  const auto wanted = std::ssize(kept(rows, [](const tick& t) { return t.amount > 100; }));
  auto q = source(e, rows).where([limit = std::vector<std::int64_t>{100}](const auto& t) { return t.amount > limit[0]; });
  auto sorted = q.order_by([](auto t) { return t.amount; });
  auto total = query::value_of(q.select([](auto t) { return t.amount; })).count();
  const auto q2 = std::move(q);
  const auto sorted2 = std::move(sorted);
  const auto total2 = std::move(total);
  EXPECT_EQ(q2.count(), wanted);
  EXPECT_EQ(q.count(), wanted);
  EXPECT_EQ(sorted2.count(), wanted);
  EXPECT_EQ(std::ssize(sorted.then_by([](auto t) { return t.id; }).to_vector()), wanted);
  EXPECT_EQ(total2.get(), wanted);
  EXPECT_EQ(total.get(), wanted);
}

CONFORMS(sharing, a_source_may_change_between_runs, "from") {
  std::vector<tick> rows = small_ticks()[3].rows;
  const auto q = source(e, rows).where([](auto t) { return t.key > 0; });
  const auto sums = source(e, rows).count_by([](auto t) { return t.key; });
  EXPECT_EQ(q.count(), std::ssize(kept(rows, [](const tick& t) { return t.key > 0; })));
  rows = small_ticks()[5].rows;  // moves and grows
  EXPECT_ROWS(q.to_vector(), kept(rows, [](const tick& t) { return t.key > 0; }));
  EXPECT_EQ(sums.count(), std::ssize(grouped(rows, [](const tick& t) { return t.key; })));
  rows.clear();
  EXPECT_TRUE(q.to_vector().empty());
}

CONFORMS(sharing, captures_by_reference_may_change_between_runs, "where", "select", "group_by") {
  const auto& rows = many_ticks();
  std::int64_t limit = 0;
  std::string word = "ab";
  const auto q = source(e, rows).where([&limit](auto t) { return t.amount > limit; });
  const auto sums = source(e, rows).group_by([&limit](auto t) { return t.amount > limit; }).count();
  const auto& named = few_trades();
  const auto names = source(e, named).where([&word](auto t) { return t.name == word; });
  const auto late = source(e, rows).aggregate([&limit](auto g) { return g.sum([&limit](auto t) { return t.amount + limit; }); });
  for (const std::int64_t l : {0, 500, -1000, 2000}) {
    limit = l;
    word += 'c';
    if (l == 500) word = "a";
    SCOPED_TRACE(l);
    EXPECT_ROWS(q.to_vector(), kept(rows, [&](const tick& t) { return t.amount > l; }));
    EXPECT_EQ(sums.count(), std::ssize(grouped(rows, [&](const tick& t) { return t.amount > l; })));
    EXPECT_ROWS(names.to_vector(), kept(named, [&](const trade& t) { return t.name == word; }));
    std::int64_t total = 0;
    for (const tick& t : rows) total += t.amount + l;
    EXPECT_EQ(late.to_vector(), std::vector<std::int64_t>{total});
  }
}

CONFORMS(sharing, cached_rows_are_computed_once, "cached") {
  if (in_processes(e)) return;  // calls are counted in each process
  static std::atomic<int> calls;
  calls = 0;
  const auto& rows = many_ticks();
  const auto wanted = kept(rows, [](const tick& t) { return t.amount > 0; });
  {
    const auto q = source(e, rows).where(query::opaque([](const tick& t) {
      ++calls;
      return t.amount > 0;
    })).cached();
    EXPECT_EQ(calls, 0);
    EXPECT_ROWS(q.to_vector(), wanted);
    EXPECT_EQ(q.count(), std::ssize(wanted));
    EXPECT_ROWS(q.take(5).to_vector(), std::vector<tick>(wanted.begin(), wanted.begin() + 5));
    EXPECT_EQ(calls, std::ssize(rows));
  }
}

CONFORMS(sharing, words_behind_cached_leave_its_rows_as_they_are, "cached", "as_ordered") {
  if (in_processes(e)) return;  // calls are counted in each process
  static std::atomic<int> calls;
  calls = 0;
  const auto& rows = many_ticks();
  const auto wanted = kept(rows, [](const tick& t) { return t.amount > 0; });
  const auto made = [&] {
    return source(e, rows).where(query::opaque([](const tick& t) {
      ++calls;
      return t.amount > 0;
    })).cached();
  };
  using rows_of_it = query::Query<tick>;
  std::vector<rows_of_it> marked;
  {
    const rows_of_it q = made();
    marked = {q.as_accelerated(), q.named("kept"), q.fast_math(), q.as_ordered(), q.on(query::engine::cpu), q};
  }
  for (const rows_of_it& q : marked) {
    EXPECT_ROWS(q.to_vector(), wanted);
    EXPECT_EQ(q.count(), std::ssize(wanted));
  }
  EXPECT_EQ(calls, std::ssize(rows));
  // In one query, too, and where the first reader wants least.
  calls = 0;
  const rows_of_it plain = made();
  EXPECT_EQ(plain.concat(plain.named("again")).concat(plain.as_accelerated()).concat(plain.as_ordered()).count(), 4 * std::ssize(wanted));
  EXPECT_EQ(calls, std::ssize(rows));
}

CONFORMS(sharing, what_cached_rows_were_made_of_does_not_run_again, "cached") {
  if (in_processes(e)) return;  // calls are counted in each process
  static std::atomic<int> calls;
  calls = 0;
  const auto& rows = many_ticks();
  const auto groups = grouped(rows, [](const tick& t) { return t.key; });
  const auto keys = source(e, rows).select(query::opaque([](const tick& t) {
    ++calls;
    return t.key;
  })).distinct().order_by([](auto k) { return k; }).cached();
  std::vector<std::int32_t> wanted;
  for (const auto& g : groups) wanted.push_back(g.first);
  std::sort(wanted.begin(), wanted.end());
  EXPECT_ROWS(keys.to_vector(), wanted);
  EXPECT_EQ(keys.count(), std::ssize(wanted));
  EXPECT_EQ(keys.named("again").sum(), std::accumulate(wanted.begin(), wanted.end(), std::int64_t{0}));
  EXPECT_EQ(calls, std::ssize(rows));
}

CONFORMS(sharing, cached_rows_in_any_order_do_not_serve_who_wants_them_in_order, "cached", "as_ordered", "distinct") {
  if (in_processes(e)) return;  // calls are counted in each process
  static std::atomic<int> calls;
  calls = 0;
  const auto& rows = many_ticks();
  std::vector<std::int32_t> wanted;
  for (const tick& t : rows)
    if (std::find(wanted.begin(), wanted.end(), t.key) == wanted.end()) wanted.push_back(t.key);
  const auto keys = source(e, rows).select(query::opaque([](const tick& t) {
    ++calls;
    return t.key;
  })).distinct().cached();
  EXPECT_EQ(keys.count(), std::ssize(wanted));
  EXPECT_EQ(calls, std::ssize(rows));
  EXPECT_ROWS(keys.as_ordered().to_vector(), wanted);
  EXPECT_ROWS(keys.select([](auto k) { return k; }).as_ordered().to_vector(), wanted);
  EXPECT_EQ(calls, 2 * std::ssize(rows));
  EXPECT_EQ(keys.count(), std::ssize(wanted));  // of those in order
  EXPECT_EQ(calls, 2 * std::ssize(rows));
  // Readers of both kinds in one query, the one that takes any order first.
  calls = 0;
  const auto others = source(e, rows).select(query::opaque([](const tick& t) {
    ++calls;
    return t.key;
  })).distinct().cached();
  const auto first = others.take(1000000);
  std::vector<std::int32_t> twice = wanted;
  twice.insert(twice.end(), wanted.begin(), wanted.end());
  EXPECT_ROWS(first.concat(others.as_ordered()).skip(std::ssize(wanted)).to_vector(), wanted);
  EXPECT_EQ(calls, std::ssize(rows));
}

CONFORMS(sharing, cached_rows_whose_making_ended_early_are_made_by_the_next_reader, "cached", "stop_on") {
  const auto& rows = many_ticks();
  const auto wanted = kept(rows, [](const tick& t) { return t.amount > 0; });
  std::atomic<bool> first = true;
  std::stop_source stop;
  const auto thrown = source(e, rows).where(query::opaque([&](const tick& t) {
    if (t.id == 60000 && first.exchange(false)) throw std::out_of_range("row 60000");
    return t.amount > 0;
  })).cached();
  EXPECT_THROW(thrown.count(), std::out_of_range);
  EXPECT_ROWS(thrown.to_vector(), wanted);
  const auto stopped = source(e, rows).where(query::opaque([&](const tick& t) {
    if (t.id == 1000) stop.request_stop();
    return t.amount > 0;
  })).cached();
  EXPECT_THROW(stopped.stop_on(stop.get_token()).count(), query::cancelled);
  EXPECT_ROWS(stopped.to_vector(), wanted);
  EXPECT_EQ(stopped.count(), std::ssize(wanted));
}

CONFORMS(sharing, fork_computes_shared_rows_once, "fork") {
  if (in_processes(e)) return;  // calls are counted in each process
  static std::atomic<int> calls;
  calls = 0;
  const auto& rows = many_ticks();
  const auto wanted = kept(rows, [](const tick& t) { return t.amount > 0; });
  const auto shared = source(e, rows).where(query::opaque([](const tick& t) {
    ++calls;
    return t.amount > 0;
  }));
  const auto [n, keys] = shared.fork([](auto q) { return q.select([](auto t) { return t.id; }); },
                                     [](auto q) { return q.count_by([](auto t) { return t.key; }); });
  EXPECT_ROWS(n.to_vector(), selected(wanted, [](const tick& t) { return t.id; }));
  EXPECT_EQ(keys.count(), std::ssize(grouped(wanted, [](const tick& t) { return t.key; })));
  EXPECT_EQ(calls, std::ssize(rows));
}

CONFORMS(sharing, checkpoints_are_the_same_rows, "checkpoint") {
  const query::tests::temp_folder folder("checkpoints_of_engines");
  e.session.state()->options.checkpoint_folder = folder.name();
  int number = 0;
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const std::string name = "rows-" + std::to_string(number++);
    const auto made = [&] { return source(e, d.rows).where([](auto t) { return t.key != 1; }).checkpoint(name); };
    const auto wanted = kept(d.rows, [](const tick& t) { return t.key != 1; });
    const auto first = made();
    EXPECT_ROWS(first.to_vector(), wanted);
    const auto from_files = made();
    EXPECT_ROWS(from_files.to_vector(), wanted);
    const auto positive = kept(wanted, [](const tick& t) { return t.key > 0; });
    EXPECT_EQ(from_files.where([](auto t) { return t.key > 0; }).count(), std::ssize(positive));
    const auto loop = [&] {
      return source(e, d.rows)
          .do_while([](auto now) { return now.where([](auto t) { return t.id % 5 != 1; }).reverse(); }, query::times(5))
          .checkpoint(name + ".loop");
    };
    auto rounds = kept(d.rows, [](const tick& t) { return t.id % 5 != 1; });
    std::reverse(rounds.begin(), rounds.end());
    EXPECT_ROWS(loop().to_vector(), rounds);
    EXPECT_ROWS(loop().to_vector(), rounds);  // from a round on, if one was kept
  }
  e.session.state()->options.checkpoint_folder.clear();
}

CONFORMS(sharing, one_query_may_run_in_several_threads, "Query") {
  const auto& rows = many_ticks();
  const auto q = source(e, rows).where([](auto t) { return t.amount > 0; }).group_by([](auto t) { return t.key; })
                     .aggregate([](auto g) { return g.sum([](auto t) { return t.amount; }); }).as_ordered();
  const auto wanted = selected(q.to_vector(), [](const auto& r) { return std::pair(std::get<0>(r), std::get<1>(r)); });
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int run = 0; run < 5; ++run)
          if (selected(q.to_vector(), [](const auto& r) { return std::pair(std::get<0>(r), std::get<1>(r)); }) != wanted) ++wrong;
      });
  }
  EXPECT_EQ(wrong, 0);
}

CONFORMS(sharing, queries_may_run_inside_tasks_of_the_program, "Query") {
  const auto& rows = many_ticks();
  const auto wanted = std::ssize(kept(rows, [](const tick& t) { return t.amount > 0; }));
  const auto q = source(e, rows).where([](auto t) { return t.amount > 0; });
  std::atomic<int> wrong = 0;
  tbb::parallel_for(0, 16, [&](int) {
    if (q.count() != wanted || std::ssize(q.order_by([](auto t) { return t.key; }).to_vector()) != wanted) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

CONFORMS(sharing, a_function_may_run_a_query_of_its_own, "select", "count") {
  const auto& rows = small_ticks()[3].rows;
  const std::vector<std::int32_t> keys = {-3, -2, -1, 0, 1, 2, 3, 4};
  const auto counts =
      selected(keys, [&](std::int32_t k) { return std::count_if(rows.begin(), rows.end(), [k](const tick& t) { return t.key == k; }); });
  const auto q =
      source(e, keys).select([&](const std::int32_t& k) { return source(e, rows).where([k](auto t) { return t.key == k; }).count(); });
  EXPECT_ROWS(q.to_vector(), std::vector<std::int64_t>(counts.begin(), counts.end()));
}

}  // namespace
}  // namespace conformance
