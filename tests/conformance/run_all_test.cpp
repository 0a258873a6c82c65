// run_all: several queries in one run give what each gives alone, and what they share is computed once.
#include <algorithm>
#include <atomic>
#include <list>
#include <optional>
#include <stdexcept>
#include <stop_token>

#include <query/run_all.hpp>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "temp_folder.hpp"

namespace conformance {
namespace {

struct key_total {
  std::int32_t key;
  double price;
  std::int64_t rows;
};
QUERY_RECORD(key_total, key, price, rows);

const auto key_of_tick = [](auto t) { return t.key; };
const auto amount_of_tick = [](auto t) { return t.amount; };
const auto price_of_tick = [](auto t) { return t.price; };
const auto total_of_group = [](auto g) {
  return query::make<key_total>(g.key(), g.sum([](auto t) { return t.price; }), g.count());
};

CONFORMS(run_all, results_are_those_of_the_queries_run_alone, "run_all") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto large = source(e, d.rows).where([](auto t) { return t.amount > 0; });
    const auto groups = large.group_by(key_of_tick).select(total_of_group).order_by([](auto t) { return t.key; });
    const auto best = large.order_by(amount_of_tick).then_by([](auto t) { return t.id; }).take(7);
    const auto ids = source(e, d.rows).select([](auto t) { return t.id; });
    const auto [g, b, i, l] = query::run_all(groups, best, ids, large);
    EXPECT_ROWS(g, groups.to_vector());
    EXPECT_ROWS(b, best.to_vector());
    EXPECT_ROWS(i, selected(d.rows, [](const tick& t) { return t.id; }));
    EXPECT_ROWS(l, kept(d.rows, [](const tick& t) { return t.amount > 0; }));
  }
}

CONFORMS(run_all, records_with_strings_and_nulls_go_into_vectors, "run_all") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto rows = source(e, d.rows);
    const auto hot = rows.where([](auto t) { return t.hot; });
    const auto [all, some, names, notes] =
        query::run_all(rows, hot, hot.select([](auto t) { return t.name; }), rows.select([](auto t) { return t.note; }));
    EXPECT_ROWS(all, d.rows);
    EXPECT_ROWS(some, kept(d.rows, [](const trade& t) { return t.hot; }));
    EXPECT_ROWS(names, selected(some, [](const trade& t) { return t.name; }));
    EXPECT_ROWS(notes, selected(d.rows, [](const trade& t) { return t.note; }));
  }
}

CONFORMS(run_all, values_give_their_value, "run_all", "value_of") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows).where([](auto t) { return t.key >= 0; });
    const auto [n, sum, most, twice, keys] = query::run_all(query::value_of(q).count(), query::value_of(q).sum(price_of_tick),
                                                            query::value_of(q).max(amount_of_tick),
                                                            query::value_of(q).count() * 2, q.select(key_of_tick));
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(most)>, std::optional<std::int64_t>>);
    EXPECT_EQ(n, q.count());
    EXPECT_EQ(sum, query::value_of(q).sum(price_of_tick).get());  // every bit
    EXPECT_EQ(most, q.max(amount_of_tick));
    EXPECT_EQ(twice, 2 * n);
    EXPECT_EQ(std::ssize(keys), n);
  }
}

CONFORMS(run_all, sums_of_fractions_behind_traced_filters_have_the_bits_of_the_query_alone, "run_all") {
  const auto& rows = many_ticks();
  const auto thirds =
      source(e, rows).where([](auto t) { return t.amount > 0; }).select([](auto t) { return std::pair(t.key, t.price / 3); });
  const auto sums = thirds.group_by([](auto p) { return p.first; })
                        .select([](auto g) { return std::pair(g.key(), g.sum([](auto p) { return p.second; })); })
                        .order_by([](auto p) { return p.first; });
  const auto [total, groups, all] = query::run_all(query::value_of(thirds).sum([](auto p) { return p.second; }), sums, thirds);
  EXPECT_EQ(total, query::value_of(thirds).sum([](auto p) { return p.second; }).get());
  // A GPU adds up the rows of a group in any order, in each run.
  EXPECT_TRUE(conformance::rows_equal(groups, sums.to_vector(), e.accelerate ? 1e-9 : 0));
  EXPECT_ROWS(all, thirds.to_vector());
}

CONFORMS(run_all, queries_that_are_verified_run_together, "run_all", "verify") {
  const auto& rows = many_ticks();
  std::int64_t next = 0;
  const auto numbers = on(e, query::generate([&next] { return next < 3000 ? std::optional(next++) : std::nullopt; }));
  const auto large = source(e, rows).verify().where([](auto t) { return t.amount > 0; });
  const auto [l, n, sum, odd] =
      query::run_all(large, query::value_of(large).count(), query::value_of(numbers).sum([](auto x) { return x; }),
                     numbers.where([](auto x) { return x % 2 == 1; }));
  EXPECT_ROWS(l, kept(rows, [](const tick& t) { return t.amount > 0; }));
  EXPECT_EQ(n, std::ssize(l));
  EXPECT_EQ(sum, 3000 * 2999 / 2);
  EXPECT_EQ(std::ssize(odd), 1500);
}

CONFORMS(run_all, an_opaque_function_that_queries_share_is_called_once_for_each_row, "run_all") {
  static std::atomic<std::int64_t> calls;
  const auto& rows = many_ticks();
  const auto wanted = kept(rows, [](const tick& t) { return t.amount > 0; });
  const auto large = source(e, rows).where(query::opaque([](const tick& t) {
    ++calls;
    return t.amount > 0;
  }));
  const query::Query<tick> erased = large;
  const auto check = [&](const auto& q) {
    calls = 0;
    const auto [counts, ids, alternate, direct, n] =
        query::run_all(q.count_by(key_of_tick), q.select([](auto t) { return t.id; }),
                       q.where([](auto t) { return t.id % 2 == 0; }).select([](auto t) { return t.amount; }).reverse(), q,
                       query::value_of(q).count());
    if (!in_processes(e)) {
      EXPECT_EQ(calls, std::ssize(rows));
    }
    EXPECT_EQ(std::ssize(counts), std::ssize(grouped(wanted, [](const tick& t) { return t.key; })));
    EXPECT_ROWS(ids, selected(wanted, [](const tick& t) { return t.id; }));
    auto backwards = selected(kept(wanted, [](const tick& t) { return t.id % 2 == 0; }), [](const tick& t) { return t.amount; });
    std::reverse(backwards.begin(), backwards.end());
    EXPECT_ROWS(alternate, backwards);
    EXPECT_ROWS(direct, wanted);
    EXPECT_EQ(n, std::ssize(wanted));
  };
  check(large);
  check(erased);
}

CONFORMS(run_all, a_query_without_a_loop_that_ends_where_it_is_shared_is_cut, "run_all") {
  static std::atomic<std::int64_t> calls;
  calls = 0;
  const auto& rows = many_ticks();
  const auto doubled = source(e, rows).select(query::opaque([](const tick& t) {
    ++calls;
    return 2 * t.amount;
  }));
  const auto [plus, positive] = query::run_all(doubled.select([](auto x) { return x + 1; }), doubled.where([](auto x) { return x > 0; }));
  if (!in_processes(e)) {
    EXPECT_EQ(calls, std::ssize(rows));
  }
  EXPECT_ROWS(plus, selected(rows, [](const tick& t) { return 2 * t.amount + 1; }));
  EXPECT_ROWS(positive, kept(selected(rows, [](const tick& t) { return 2 * t.amount; }), [](std::int64_t x) { return x > 0; }));
}

CONFORMS(run_all, row_numbers_behind_a_shared_filter_count_its_rows, "run_all") {
  const auto& rows = many_ticks();
  const auto large = source(e, rows).where(query::opaque([](const tick& t) { return t.amount > 0; }));
  const auto numbered = large.select(amount_of_tick).select([](auto x, auto i) { return x * 3 + i; });
  const auto [counts, numbers] = query::run_all(large.count_by(key_of_tick), numbered);
  const std::vector<tick> left = kept(rows, [](const tick& t) { return t.amount > 0; });
  std::vector<std::int64_t> wanted;
  for (const tick& t : left) wanted.push_back(t.amount * 3 + std::ssize(wanted));
  EXPECT_ROWS(numbers, wanted);
  EXPECT_EQ(std::ssize(counts), std::ssize(grouped(left, [](const tick& t) { return t.key; })));
  EXPECT_NE(query::together(large.count_by(key_of_tick), numbered).explain().find("query 2:"), std::string::npos);
}

CONFORMS(run_all, sorts_and_joins_that_queries_share_run_once, "run_all") {
  static std::atomic<std::int64_t> calls;
  const auto& rows = many_ticks();
  const auto sorted = source(e, rows).order_by(query::opaque([](const tick& t) {
    ++calls;
    return t.amount;
  })).as_ordered();
  auto wanted = rows;
  std::stable_sort(wanted.begin(), wanted.end(), [](const tick& a, const tick& b) { return a.amount < b.amount; });
  calls = 0;
  const auto [all, first, middle] = query::run_all(sorted, sorted.take(10), sorted.skip(100).take(5).select([](auto t) { return t.id; }));
  if (!in_partitions(e)) {
    EXPECT_EQ(calls, std::ssize(rows));
  }
  EXPECT_ROWS(all, wanted);
  EXPECT_ROWS(first, std::vector<tick>(wanted.begin(), wanted.begin() + 10));
  EXPECT_ROWS(middle, selected(std::vector<tick>(wanted.begin() + 100, wanted.begin() + 105), [](const tick& t) { return t.id; }));

  const auto& right = rates()[3].rows;
  const auto joined = source(e, rows).join(source(e, right), key_of_tick, [](auto r) { return r.key; },
                                           [](auto t, auto r) { return std::pair(t.key, t.amount * r.factor); });
  const auto by_key = joined.count_by([](auto p) { return p.first; });
  const auto [counts, pairs, sum] = query::run_all(by_key, joined, query::value_of(joined).sum([](auto p) { return p.second; }));
  EXPECT_SAME_ROWS(counts, by_key.to_vector());
  EXPECT_SAME_ROWS(pairs, joined.to_vector());
  EXPECT_EQ(sum, joined.sum([](auto p) { return p.second; }));
}

CONFORMS(run_all, a_generator_that_can_be_read_once_gives_all_queries_its_rows, "run_all", "generate") {
  for (const std::int64_t n : {0, 1, 1023, 1025, 100'000}) {
    SCOPED_TRACE(n);
    std::int64_t next = 0;  // the generator goes on where it was, however often it is opened
    const auto numbers = on(e, query::generate([&next, n] { return next < n ? std::optional(next++) : std::nullopt; }));
    const auto odd = numbers.where([](auto x) { return x % 2 == 1; });
    const auto [all, sum, some, first, remainders] =
        query::run_all(numbers, query::value_of(numbers).sum([](auto x) { return x; }), odd, numbers.take(3),
                       numbers.group_by([](auto x) { return x % 7; }).count());
    std::vector<std::int64_t> wanted(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = static_cast<std::int64_t>(i);
    EXPECT_ROWS(all, wanted);
    EXPECT_EQ(sum, n * (n - 1) / 2);
    EXPECT_ROWS(some, kept(wanted, [](std::int64_t x) { return x % 2 == 1; }));
    EXPECT_ROWS(first, std::vector<std::int64_t>(wanted.begin(), wanted.begin() + std::min<std::int64_t>(n, 3)));
    EXPECT_EQ(std::ssize(remainders), std::min<std::int64_t>(n, 7));
    EXPECT_EQ(next, n);
  }
}

CONFORMS(run_all, an_endless_generator_runs_as_far_as_the_query_that_goes_furthest, "run_all", "generate") {
  std::int64_t next = 0;
  const auto naturals = on(e, query::generate([&next] { return std::optional(next++); }));
  const auto [few, squares, far] = query::run_all(naturals.take(3), naturals.select([](auto x) { return x * x; }).take_while([](auto x) {
    return x < 50;
  }), naturals.skip(5000).take(2));
  EXPECT_ROWS(few, std::vector<std::int64_t>{0, 1, 2});
  EXPECT_ROWS(squares, std::vector<std::int64_t>{0, 1, 4, 9, 16, 25, 36, 49});
  EXPECT_ROWS(far, std::vector<std::int64_t>{5000, 5001});
  EXPECT_LT(next, 200'000);
}

CONFORMS(run_all, the_same_query_twice_and_containers_are_queries, "run_all") {
  const auto& rows = small_ticks()[3].rows;
  const auto keys = source(e, rows).select(key_of_tick).distinct();
  const std::list<int> list{3, 1, 2};
  const auto [a, b, numbers, moved] = query::run_all(keys, keys, list, std::vector<int>{7, 8});
  EXPECT_ROWS(a, b);
  EXPECT_SAME_ROWS(a, keys.to_vector());
  EXPECT_ROWS(numbers, std::vector<int>{3, 1, 2});
  EXPECT_ROWS(moved, std::vector<int>{7, 8});
  const auto [alone] = query::run_all(keys);
  EXPECT_SAME_ROWS(alone, a);
}

CONFORMS(run_all, loops_and_captured_queries_are_parts_like_others, "run_all", "do_while", "broadcast") {
  const auto& rows = many_ticks();
  const auto amounts = source(e, rows).select(amount_of_tick);
  const auto most = query::broadcast(query::value_of(amounts).max());
  const auto near = amounts.where([most](auto x) { return x == most.value(x); });
  const auto halved = amounts.do_while([](auto now) { return now.select([](auto x) { return x / 2; }); }, query::times(3));
  const auto [n, h, m] = query::run_all(query::value_of(near).count(), halved, query::value_of(amounts).max());
  EXPECT_EQ(n, near.count());
  EXPECT_ROWS(h, selected(rows, [](const tick& t) { return t.amount / 2 / 2 / 2; }));
  EXPECT_EQ(m, amounts.max());
}

// In a session of its own.
TEST(run_all, results_beyond_the_memory_limit_go_through_files) {
  std::vector<tick> rows;
  for (int i = 0; i < 8; ++i) rows.insert(rows.end(), many_ticks().begin(), many_ticks().end());
  query::Session small({.threads = 2, .memory_limit = rows.size() * sizeof(tick) * 5 / 4, .gpu = query::gpu_use::off});
  const auto q = query::from(rows).in(small);
  const auto by_amount = q.order_by(amount_of_tick).then_by_descending(price_of_tick);
  const auto by_price = q.order_by(price_of_tick);
  const auto groups = q.group_by([](auto t) { return t.id; }).count();
  const auto [a, p, g] = query::run_all(by_amount, by_price, groups);
  EXPECT_ROWS(a, by_amount.to_vector());
  EXPECT_ROWS(p, by_price.to_vector());
  EXPECT_SAME_ROWS(g, groups.to_vector());
}

CONFORMS(run_all, files_are_read_once, "run_all", "read_csv") {
  const query::tests::temp_folder folder("run_all_files");
  const std::string path = folder.name() + "/ticks.csv";
  query::from(small_ticks()[3].rows).write_csv(path);
  const auto ticks_of_file = on(e, query::read_csv<tick>(path));
  const auto together = query::together(ticks_of_file.count_by(key_of_tick), query::value_of(ticks_of_file).sum(amount_of_tick));
  const std::string plan = together.explain();
  std::size_t vertices = 0;
  const std::string machine = plan.substr(plan.find("machine graph"));
  for (std::size_t at = machine.find(" read_csv"); at != std::string::npos; at = machine.find(" read_csv", at + 1)) ++vertices;
  EXPECT_EQ(vertices, 1u) << plan;
  const auto [counts, sum] = together.get();
  EXPECT_EQ(std::ssize(counts), std::ssize(grouped(small_ticks()[3].rows, [](const tick& t) { return t.key; })));
  EXPECT_EQ(sum, source(e, small_ticks()[3].rows).sum(amount_of_tick));
}

CONFORMS(run_all, errors_end_all_and_name_the_query, "run_all", "stop_on", "timeout") {
  const auto& rows = many_ticks();
  const auto good = source(e, rows).order_by(amount_of_tick);
  const std::int32_t bad = rows[40'000].key;
  const auto thrown = good.select(query::opaque([bad](const tick& t) -> std::int64_t {
    if (t.key == bad) throw std::out_of_range("a row of the user's");
    return t.amount;
  }));
  EXPECT_THROW(query::run_all(good, thrown), std::out_of_range);
  const auto empty = query::value_of(source(e, rows).where([](auto t) { return t.id < 0; })).first();
  const auto message = [](const auto& run) -> std::string {
    try {
      run();
    } catch (const query::error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const std::string of_first = message([&] { query::run_all(good, query::value_of(good).count(), empty); });
  EXPECT_NE(of_first.find("first"), std::string::npos) << of_first;
  EXPECT_NE(of_first.find(", in query 3 of run_all"), std::string::npos) << of_first;

  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(query::run_all(good, good.stop_on(stop.get_token()).take(1)), query::cancelled);
  EXPECT_THROW(query::run_all(good.timeout(0), source(e, rows)), query::cancelled);
  query::Session other({.threads = 1, .gpu = query::gpu_use::off});
  const std::string two = message([&] { query::run_all(good, good, query::from(rows).in(other)); });
  EXPECT_NE(two.find("queries 1 and 3 name two sessions"), std::string::npos) << two;
}

CONFORMS(run_all, the_plan_shows_what_is_shared, "run_all", "explain") {
  const auto& rows = many_ticks();
  const auto sorted = source(e, rows).order_by(amount_of_tick);
  const auto both = query::together(sorted.take(10), sorted.count_by(key_of_tick));
  const std::string plan = both.explain();
  EXPECT_NE(plan.find("query 2:"), std::string::npos) << plan;
  EXPECT_NE(plan.find("query 2: the rows of v"), std::string::npos) << plan;
  EXPECT_NE(plan.find("common_subplans: computed once for 2 readers"), std::string::npos) << plan;
  both.get();
  EXPECT_NE(both.explain().find("ran in"), std::string::npos) << both.explain();
}

}  // namespace
}  // namespace conformance
