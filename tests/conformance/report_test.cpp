// report: the rows that each named filter reads and keeps are those of the query as it is written, on every engine.
#include <atomic>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>
#include <stop_token>

#include <query/report.hpp>

#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "temp_folder.hpp"

namespace conformance {
namespace {

struct expected {
  std::string name;
  std::int64_t in, passed;
  std::string input = {};
  std::int64_t first = -1;  // rows that the first filter of the input read; -1: those of the first in the list
};
double percent(std::int64_t part, std::int64_t all) { return all ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0; }

void expect_report(const query::filter_report& r, const std::vector<expected>& wanted) {
  ASSERT_EQ(r.filters.size(), wanted.size()) << r.to_string();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const query::filter_count& f = r.filters[i];
    const expected& w = wanted[i];
    SCOPED_TRACE(w.name);
    EXPECT_EQ(f.name, w.name);
    EXPECT_EQ(f.input, w.input);
    EXPECT_EQ(f.rows_in, w.in);
    EXPECT_EQ(f.rows_passed, w.passed);
    EXPECT_DOUBLE_EQ(f.percent, percent(w.passed, w.in));
    EXPECT_DOUBLE_EQ(f.cumulated, percent(w.passed, w.first < 0 ? wanted.front().in : w.first));
  }
}

const auto amount_of_tick = [](auto t) { return t.amount; };
const auto key_of_tick = [](auto t) { return t.key; };
const auto positive = [](auto t) { return t.amount > 0; };
const auto small_key = [](auto t) { return t.key < 5; };
const auto even = [](auto t) { return t.id % 2 == 0; };

CONFORMS(report, counts_are_those_of_the_filters_in_the_order_of_the_query, "report", "named") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto first = kept(d.rows, positive);
    const auto second = kept(first, even);
    const auto third = kept(second, small_key);
    const auto q = source(e, d.rows).where(positive).named("positive").where(even).where(small_key).named("small key");
    expect_report(query::report(q), {{"positive", std::ssize(d.rows), std::ssize(first)},
                                     {"small key", std::ssize(second), std::ssize(third)}});
    EXPECT_EQ(q.count(), std::ssize(third));
  }
}

CONFORMS(report, filters_see_what_projections_make, "report", "select") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto doubled = selected(d.rows, [](const tick& t) { return std::pair(t.key, 2 * t.amount); });
    const auto large = kept(doubled, [](const auto& p) { return p.second > 4; });
    const auto sums = selected(large, [](const auto& p) { return p.first + p.second; });
    const auto odd = kept(sums, [](std::int64_t x) { return x % 2 != 0; });
    expect_report(query::report(source(e, d.rows)
                                    .select([](auto t) { return std::pair(t.key, 2 * t.amount); })
                                    .where([](auto p) { return p.second > 4; })
                                    .named("large")
                                    .select([](auto p) { return p.first + p.second; })
                                    .where([](auto x) { return x % 2 != 0; })
                                    .named("odd")
                                    .select([](auto x) { return x * 3; })),
                  {{"large", std::ssize(d.rows), std::ssize(large)}, {"odd", std::ssize(sums), std::ssize(odd)}});
  }
}

CONFORMS(report, a_filter_is_asked_about_rows_that_passed_those_before_it, "report") {
  const auto& rows = many_ticks();
  const auto divides = kept(rows, [](const tick& t) { return t.key != 0; });
  const auto odd = kept(divides, [](const tick& t) { return 1000 / t.key % 2 != 0; });
  expect_report(query::report(source(e, rows).where([](auto t) { return t.key != 0; }).named("divides").where([](auto t) {
    return 1000 / t.key % 2 != 0;
  }).named("odd")),
                {{"divides", std::ssize(rows), std::ssize(divides)}, {"odd", std::ssize(divides), std::ssize(odd)}});
}

CONFORMS(report, records_with_strings_and_nulls_are_counted, "report", "values") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto hot = kept(d.rows, [](const trade& t) { return t.hot; });
    const auto named = kept(hot, [](const trade& t) { return t.name.size() > 3; });
    const auto with_lot = kept(named, [](const trade& t) { return t.lot.has_value(); });
    const auto large = kept(with_lot, [](const trade& t) { return *t.lot > 2; });
    expect_report(query::report(source(e, d.rows)
                                    .where([](auto t) { return t.hot; })
                                    .named("hot")
                                    .where([](auto t) { return t.name.size() > 3u; })
                                    .named("long name")
                                    .select([](auto t) { return t.lot; })
                                    .values()
                                    .named("lot")
                                    .where([](auto lot) { return lot > 2; })
                                    .named("large lot")),
                  {{"hot", std::ssize(d.rows), std::ssize(hot)},
                   {"long name", std::ssize(hot), std::ssize(named)},
                   {"lot", std::ssize(named), std::ssize(with_lot)},
                   {"large lot", std::ssize(with_lot), std::ssize(large)}});
  }
}

CONFORMS(report, no_rows_and_rows_that_are_all_refused_give_zeros, "report") {
  const std::vector<tick> none;
  const auto refused = [&](const std::vector<tick>& rows) {
    return query::report(source(e, rows)
                             .where([](auto t) { return t.id < 0; })
                             .named("none")
                             .where(positive)
                             .named("traced")
                             .where([](const tick& t) { return t.amount > 0; })
                             .named("opaque")
                             .order_by(amount_of_tick)
                             .where(even)
                             .named("sorted"));
  };
  expect_report(refused(none), {{"none", 0, 0}, {"traced", 0, 0}, {"opaque", 0, 0}, {"sorted", 0, 0}});
  const auto& rows = many_ticks();
  expect_report(refused(rows), {{"none", std::ssize(rows), 0}, {"traced", 0, 0}, {"opaque", 0, 0}, {"sorted", 0, 0}});
}

CONFORMS(report, opaque_filters_are_called_once_for_each_row_that_they_read, "report") {
  static std::atomic<std::int64_t> calls, more_calls;
  const auto& rows = many_ticks();
  const auto first = kept(rows, positive);
  const auto second = kept(first, small_key);
  const auto third = kept(second, even);
  const auto filtered = [](const auto& q) {
    return q.where([](const tick& t) {
              ++calls;
              return t.amount > 0;
            })
        .named("positive")
        .where(small_key)
        .named("small key")
        .where([](const tick& t) {
          ++more_calls;
          return t.id % 2 == 0;
        })
        .named("even");
  };
  const std::vector<expected> wanted{{"positive", std::ssize(rows), std::ssize(first)},
                                     {"small key", std::ssize(first), std::ssize(second)},
                                     {"even", std::ssize(second), std::ssize(third)}};
  const auto check = [&](const auto& q) {
    calls = more_calls = 0;
    expect_report(query::report(filtered(q)), wanted);
    if (in_processes(e)) return;
    EXPECT_EQ(calls, std::ssize(rows));
    EXPECT_EQ(more_calls, std::ssize(second));
  };
  check(source(e, rows));
  check(on(e, query::generate([&rows, i = std::size_t{0}]() mutable {
    return i < rows.size() ? std::optional(rows[i++]) : std::nullopt;
  })));
}

CONFORMS(report, generators_are_read_once, "report", "generate") {
  std::int64_t next = 0;
  const auto numbers = on(e, query::generate([&next] { return next < 5000 ? std::optional(next++) : std::nullopt; }));
  const auto q = numbers.where([](auto x) { return x % 2 == 0; })
                     .named("even")
                     .order_by([](auto x) { return -x; })
                     .where([](auto x) { return x % 3 == 0; })
                     .named("of three")
                     .where([](const std::int64_t& x) { return x >= 600; })
                     .named("large");
  expect_report(query::report(q), {{"even", 5000, 2500}, {"of three", 2500, 834}, {"large", 834, 734}});
  EXPECT_EQ(next, 5000);
}

CONFORMS(report, filters_after_sorts_groups_joins_and_sets_are_counted, "report") {
  const auto& rows = many_ticks();
  const auto large = kept(rows, positive);
  const auto groups = grouped(large, [](const tick& t) { return t.key; });
  const auto often = kept(groups, [](const auto& g) { return g.second.size() > 100; });
  const auto q = source(e, rows)
                     .where(positive)
                     .named("positive")
                     .order_by(amount_of_tick)
                     .where(even)
                     .named("even");
  const auto evens = kept(large, even);
  expect_report(query::report(q), {{"positive", std::ssize(rows), std::ssize(large)}, {"even", std::ssize(large), std::ssize(evens)}});

  const auto counts = source(e, rows).where(positive).named("positive").count_by(key_of_tick).where([](auto p) {
    return std::get<1>(p) > 100;
  }).named("often");
  expect_report(query::report(counts), {{"positive", std::ssize(rows), std::ssize(large)},
                                        {"often", std::ssize(groups), std::ssize(often)}});

  const auto first = source(e, rows).skip(10).take(1000).where(positive).named("positive").distinct_by(key_of_tick).where(small_key).named(
      "small key");
  const std::vector<tick> taken(rows.begin() + 10, rows.begin() + 1010);
  const auto keys = first_of_each(kept(taken, positive), [](const tick& t) { return t.key; });
  expect_report(query::report(first), {{"positive", 1000, std::ssize(kept(taken, positive))},
                                       {"small key", std::ssize(keys), std::ssize(kept(keys, small_key))}});
}

CONFORMS(report, filters_of_other_inputs_name_their_input, "report", "join", "concat") {
  const auto& rows = many_ticks();
  for (const auto& d : rates()) {
    SCOPED_TRACE(d.name);
    const auto large = kept(rows, positive);
    const auto factors = kept(d.rows, [](const rate& r) { return r.factor > 1; });
    std::int64_t pairs = 0, some = 0;
    const auto all = matches(large, factors, [](const tick& t) { return t.key; }, [](const rate& r) { return r.key; });
    for (std::size_t i = 0; i < all.size(); ++i) {
      pairs += std::ssize(all[i]);
      if (large[i].id % 2 == 0) some += std::ssize(all[i]);
    }
    const auto q = source(e, rows)
                       .where(positive)
                       .named("positive")
                       .join(query::from(d.rows).where([](auto r) { return r.factor > 1; }).named("factor"), key_of_tick,
                             [](auto r) { return r.key; }, [](auto t, auto r) { return std::pair(t.id, r.factor); })
                       .where([](auto p) { return p.first % 2 == 0; })
                       .named("even");
    expect_report(query::report(q), {{"positive", std::ssize(rows), std::ssize(large)},
                                     {"factor", std::ssize(d.rows), std::ssize(factors), "input 2 of join", std::ssize(d.rows)},
                                     {"even", pairs, some}});
  }
  const std::vector<std::int64_t> a{1, 2, 3, 4}, b{5, 6, 7}, c{8, 9};
  const auto odd = [](auto x) { return x % 2 != 0; };
  const auto inner = query::from(b).concat(query::from(c).where(odd).named("odd in c"));
  expect_report(query::report(source(e, a).concat(inner).where(odd).named("odd").where([](auto x) { return x > 3; }).named("large")),
                {{"odd in c", 2, 1, "input 2 of concat in input 2 of concat", 2}, {"odd", 8, 5, "", 8}, {"large", 5, 3, "", 8}});
}

CONFORMS(report, a_query_that_meets_itself_is_listed_once, "report", "join") {
  const auto& rows = small_ticks()[3].rows;
  const auto large = source(e, rows).where(positive).named("positive");
  const auto id = [](auto t) { return t.id; };
  const auto twice = large.join(large.where(even).named("even"), id, id, [](auto t, auto u) { return t.amount + u.amount; });
  const auto kept_rows = kept(rows, positive);
  expect_report(query::report(twice), {{"positive", std::ssize(rows), std::ssize(kept_rows)},
                                       {"even", std::ssize(kept_rows), std::ssize(kept(kept_rows, even)), "input 2 of join",
                                        std::ssize(kept_rows)}});
}

CONFORMS(report, a_verb_after_a_filter_changes_no_counts, "report", "take") {
  const auto& rows = many_ticks();
  const auto large = kept(rows, positive);
  const auto evens = kept(large, even);
  const auto q = source(e, rows).where(positive).named("positive").where(even).named("even");
  const std::vector<expected> wanted{{"positive", std::ssize(rows), std::ssize(large)}, {"even", std::ssize(large), std::ssize(evens)}};
  expect_report(query::report(q.take(3)), wanted);
  expect_report(query::report(query::value_of(q).sum(amount_of_tick)), wanted);
  expect_report(query::report(q.select([](auto t) { return t.id; }).order().take(1)), wanted);
  expect_report(query::report(q.as_ordered()), wanted);
}

CONFORMS(report, filters_by_captured_rows_and_by_text_are_counted, "report", "broadcast") {
  const auto& rows = many_ticks();
  const std::vector<std::int32_t> keys{1, 3, 4};
  const auto known = [&](const tick& t) { return std::find(keys.begin(), keys.end(), t.key) != keys.end(); };
  const auto first = kept(rows, known);
  const auto second = kept(first, positive);
  const auto wanted_keys = query::broadcast(keys);
  expect_report(query::report(source(e, rows)
                                  .where([wanted_keys](auto t) {
                                    return wanted_keys.any(t, [](auto row, auto k) { return k == row.key; });
                                  })
                                  .named("known")
                                  .where("amount > 0")
                                  .named("positive")
                                  .where(even)
                                  .named("even")),
                {{"known", std::ssize(rows), std::ssize(first)},
                 {"positive", std::ssize(first), std::ssize(second)},
                 {"even", std::ssize(second), std::ssize(kept(second, even))}});
}

CONFORMS(report, elements_and_row_numbers_are_counted_where_they_are, "report", "select_many") {
  const auto& rows = many_ticks();
  const auto n = std::ssize(rows);
  const auto large = std::ssize(kept(rows, positive));
  std::int64_t odd = 0, third = 0;
  for (const tick& t : rows) {
    if (t.amount <= 0) continue;
    for (const std::int64_t x : {std::int64_t{t.id}, std::int64_t{t.id} + 1}) odd += x % 2 != 0;
  }
  expect_report(query::report(source(e, rows)
                                  .where(positive)
                                  .named("positive")
                                  .select_many([](const tick& t) { return std::vector<std::int64_t>{t.id, std::int64_t{t.id} + 1}; })
                                  .where([](auto x) { return x % 2 != 0; })
                                  .named("odd")),
                {{"positive", n, large}, {"odd", 2 * large, odd}});
  for (std::int64_t i = 0; i < large; ++i) third += i % 3 == 0;
  const auto numbered = source(e, rows).where(positive).named("positive").where([](auto, auto i) { return i % 3 == 0; }).named("third");
  expect_report(query::report(numbered), {{"positive", n, large}, {"third", large, third}});
  const auto more = query::report(numbered.as_query().where([](auto t) { return t.id >= 0; }).named("all"));
  expect_report(more, {{"positive", n, large}, {"third", large, third}, {"all", third, third}});
}

CONFORMS(report, twenty_filters_are_counted_together, "report") {
  for (const bool opaque : {false, true}) {
    SCOPED_TRACE(opaque ? "opaque" : "traced");
    auto left = many_ticks();
    query::Query<tick> q = source(e, many_ticks());
    std::vector<expected> wanted;
    for (std::int32_t i = 0; i < 20; ++i) {
      const auto f = [i](auto t) { return (t.id + i) % 23 != 0; };
      const auto in = std::ssize(left);
      left = kept(left, f);
      if (opaque && i % 3 == 0) q = q.where([f](const tick& t) { return f(t); });
      else q = q.where(f);
      if (i == 7) continue;
      q = q.named("filter " + std::to_string(i));
      wanted.push_back({"filter " + std::to_string(i), in, std::ssize(left)});
    }
    expect_report(query::report(q), wanted);
  }
}

CONFORMS(report, random_queries_count_what_loops_count, "report") {
  std::mt19937_64 random(seed());
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(seed()));
    const auto& d = ticks()[random() % ticks().size()];
    auto left = d.rows;
    query::Query<tick> q = source(e, d.rows);
    std::vector<expected> wanted;
    const int verbs = 1 + static_cast<int>(random() % 12);
    for (int i = 0; i <= verbs; ++i) {
      const auto m = static_cast<std::int32_t>(2 + random() % 5);
      const auto f = [m](auto t) { return (t.id + t.key) % m != 0; };
      const auto in = std::ssize(left);
      const bool last = i == verbs;  // one filter has a name
      switch (last ? 0 : random() % 6) {
        case 0:
        case 1: q = q.where(f); break;
        case 2: q = q.where([f](const tick& t) { return f(t); }); break;
        case 3:
          q = q.select([m](auto t) { return query::make<tick>(t.id, t.key + m, t.amount, t.price); });
          for (tick& t : left) t.key += m;
          continue;
        case 4:
          q = q.order_by([](auto t) { return -t.id; });
          std::stable_sort(left.begin(), left.end(), [](const tick& a, const tick& b) { return a.id > b.id; });
          continue;
        default: {
          const std::size_t n = left.size() - left.size() / 8;
          q = q.take(n);
          left.resize(n);
          continue;
        }
      }
      left = kept(left, f);
      if (!last && random() % 3 == 0) continue;
      const std::string name = std::to_string(i);
      q = q.named(name);
      wanted.push_back({name, in, std::ssize(left)});
    }
    expect_report(query::report(q), wanted);
    EXPECT_EQ(q.count(), std::ssize(left));
  }
}

CONFORMS(report, files_are_counted, "report", "read_csv") {
  const query::tests::temp_folder folder("report");
  const auto& rows = many_ticks();
  const std::string path = folder.name() + "/ticks.csv";
  query::from(rows).write_csv(path);
  const auto large = kept(rows, positive);
  const auto evens = kept(large, even);
  const auto q = on(e, query::read_csv<tick>(path)).where(positive).named("positive").where([](const tick& t) {
    return t.id % 2 == 0;
  }).named("even");
  expect_report(query::report(q), {{"positive", std::ssize(rows), std::ssize(large)}, {"even", std::ssize(large), std::ssize(evens)}});
}

CONFORMS(report, verified_queries_compare_their_filters, "report", "verify") {
  const auto& rows = many_ticks();
  const auto large = kept(rows, positive);
  const auto evens = kept(large, even);
  expect_report(query::report(source(e, rows).where(positive).named("positive").where(even).named("even").where(small_key).verify()),
                {{"positive", std::ssize(rows), std::ssize(large)}, {"even", std::ssize(large), std::ssize(evens)}});
  const auto differs = [](auto t) {
    if constexpr (std::is_same_v<decltype(t), tick>) return t.id < 0;
    else return t.id >= 0;
  };
  if (!e.accelerate && !in_partitions(e)) {
    EXPECT_THROW(query::report(source(e, rows).where(positive).where(differs).named("differs").where(even).verify()), query::error);
  }
}

CONFORMS(report, filters_of_loops_and_of_captured_queries_are_left_out, "report", "do_while") {
  const std::vector<std::int64_t> rows{1, 2, 3, 4, 5, 6};
  const auto q = source(e, rows)
                     .where([](auto x) { return x > 1; })
                     .named("start")
                     .do_while([](auto r) { return r.where([](auto x) { return x < 6; }).named("round"); }, query::times(2))
                     .where([](auto x) { return x % 2 == 0; })
                     .named("end");
  expect_report(query::report(q), {{"start", 6, 5}, {"end", 4, 2}});
}

CONFORMS(report, ends_with_the_errors_of_terminal_verbs, "report", "stop_on", "timeout") {
  const auto& rows = many_ticks();
  const auto q = source(e, rows).where(positive).named("positive");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(query::report(q.stop_on(stop.get_token())), query::cancelled);
  EXPECT_THROW(query::report(q.timeout(0)), query::cancelled);
  const auto bad = rows[40'000].id;
  const auto thrown = source(e, rows).where([bad](const tick& t) {
    if (t.id == bad) throw std::out_of_range("a row of the user's");
    return true;
  });
  EXPECT_THROW(query::report(thrown.named("thrown")), std::out_of_range);
  try {
    query::report(q.where([](auto t) { return 1 / (t.id - t.id) > 0; }).named("divides").where(even).named("even"));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const query::user_error& error) {
    EXPECT_NE(std::string(error.what()).find("division"), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find("run_all"), std::string::npos) << error.what();
  }
}

TEST(report, says_what_to_do_for_a_query_without_a_named_filter) {
  const auto q = query::from(many_ticks());
  EXPECT_MESSAGE("report: no filter of the query has a name; write where(f).named(\"price\")", query::report(q));
  EXPECT_MESSAGE("report: no filter of the query has a name", query::report(q.where(even).select(key_of_tick).named("a projection")));
}

TEST(report, names_the_function_of_row_numbers_that_a_filter_is_compiled_with) {
  const auto numbered = query::from(many_ticks()).where([](auto, auto i) { return i % 3 == 0; });
  try {
    query::report(numbered.named("third").where(even).named("even"));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const query::user_error& error) {
    EXPECT_NE(std::string(error.what()).find("report: the rows of the filter \"third\" cannot be counted"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("write as_query() after that function (report_test.cpp:"), std::string::npos) << error.what();
  }
}

TEST(report, is_a_table) {
  const std::vector<int> rows{1, 2, 3, 4, 5, 6, 7, 8}, others{1, 2, 3};
  const auto q = query::from(rows).where([](auto x) { return x > 2; }).named("more than 2").where([](auto x) { return x % 2 == 0; }).named(
      "even");
  std::ostringstream text;
  text << query::report(q);
  EXPECT_EQ(text.str(),
            "filter       rows in  passed  percent  cumulated\n"
            "more than 2        8       6   75.00%     75.00%\n"
            "even               6       3   50.00%     37.50%\n");
  const auto both = q.concat(query::from(others).where([](auto x) { return x > 2; }).named("東京"));
  EXPECT_EQ(query::report(both).to_string(),
            "filter       input              rows in  passed  percent  cumulated\n"
            "more than 2                           8       6   75.00%     75.00%\n"
            "even                                  6       3   50.00%     37.50%\n"
            "東京         input 2 of concat        3       1   33.33%     33.33%\n");
}

TEST(report, filters_are_counted_where_memory_is_short) {
  const query::Session small({.threads = 2, .memory_limit = 8u << 20, .gpu = query::gpu_use::off});
  const auto q = query::generate([i = std::int64_t{0}]() mutable { return i < 3'000'000 ? std::optional(i++) : std::nullopt; })
                     .in(small)
                     .where([](auto x) { return x % 2 == 0; })
                     .named("even")
                     .where([](auto x) { return x % 3 == 0; })
                     .named("of six");
  expect_report(query::report(q), {{"even", 3'000'000, 1'500'000}, {"of six", 1'500'000, 500'000}});
}

}  // namespace
}  // namespace conformance
