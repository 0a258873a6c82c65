// Queries whose columns are named when the program runs: select, group_by and their terminal verbs, as loops answer them.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <thread>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/rows.hpp"
#include "temp_folder.hpp"

namespace conformance {
namespace {

using line = std::vector<std::string>;

std::string shown(const query::cell& c) {
  using kind = query::cell::kind;
  switch (c.what) {
    case kind::null: return "null";
    case kind::boolean: return c.integer ? "true" : "false";
    case kind::integer: return std::to_string(c.integer);
    case kind::natural: return std::to_string(c.natural);
    case kind::number: return text(c.number);
    default: return "'" + c.text + "'";
  }
}
std::vector<line> lines(const query::dynamic_query& q) {
  std::vector<line> all;
  for (const auto& row : q.rows()) {
    line l;
    for (const query::cell& c : row) l.push_back(shown(c));
    all.push_back(std::move(l));
  }
  return all;
}
std::vector<line> sorted(std::vector<line> all) {
  std::sort(all.begin(), all.end());
  return all;
}
template <class T> std::string shown(const std::optional<T>& x) { return x ? std::to_string(*x) : "null"; }
std::string shown(const std::optional<std::string>& x) { return x ? "'" + *x + "'" : "null"; }
std::string shown(bool x) { return x ? "true" : "false"; }

CONFORMS(dynamic_query, select_gives_rows_of_these_columns, "as_dynamic") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<line> expected, first;
    for (const trade& t : d.rows) {
      first.push_back({"'" + t.name + "'"});
      if (t.key <= 0) continue;
      expected.push_back({"'" + t.name + "'", text(t.price * 2), shown(t.lot), shown(t.note), shown(t.hot), std::to_string(t.legs[1]),
                          std::to_string(static_cast<int>(t.way)), t.lot ? std::to_string(*t.lot % 7) : "null", shown(t.price > 1)});
    }
    const auto q = source(e, d.rows).as_dynamic();
    const auto made = q.where("key > 0").select("name, price * 2 as twice, lot, note, hot, legs[1] as leg, way, lot % 7, "
                                                "price > 1 as dear");
    EXPECT_EQ(made.names(), (line{"name", "twice", "lot", "note", "hot", "leg", "way", "lot % 7", "dear"}));
    EXPECT_EQ(lines(made), expected);
    EXPECT_EQ(made.count(), static_cast<std::int64_t>(expected.size()));
    EXPECT_EQ(lines(q.select("name")), first);
  }
}

CONFORMS(dynamic_query, verbs_follow_each_other, "as_dynamic") {
  const auto q = source(e, few_trades()).as_dynamic();
  std::vector<trade> rows = few_trades();
  std::stable_sort(rows.begin(), rows.end(), [](const trade& a, const trade& b) {
    return a.key != b.key ? a.key > b.key : a.name != b.name ? a.name < b.name : a.id < b.id;
  });
  std::vector<line> expected;
  for (const trade& t : rows)
    if (t.hot && t.name.size() > 1) expected.push_back({std::to_string(t.key), "'" + t.name + "'", std::to_string(t.id)});
  const auto made =
      q.select("id, key, name, hot").where("hot").order_by("key desc, name, id").select("key, name, id").where("length(name) > 1");
  EXPECT_EQ(lines(made), expected);
  const std::size_t n = expected.size();
  ASSERT_GT(n, 5u);
  EXPECT_EQ(lines(made.skip(2).take(3)), std::vector<line>(expected.begin() + 2, expected.begin() + 5));
  EXPECT_EQ(lines(made.take(n + 10)).size(), n);
  EXPECT_EQ(lines(q.select("*").select("key, name, id").order_by("id")).size(), few_trades().size());
}

CONFORMS(dynamic_query, group_by_gives_keys_and_aggregates, "as_dynamic") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    struct state {
      std::int64_t rows = 0, amount = 0, lots = 0, lot = 0, hot = 0;
      std::optional<std::int32_t> least;
      std::string name;
      std::int32_t last = 0;
    };
    std::map<std::int32_t, state> by_key;
    std::map<std::pair<std::string, bool>, state> by_two;
    std::map<std::optional<std::string>, state> by_note;
    const auto add = [](state& s, const trade& t) {
      s.name = s.rows == 0 ? t.name : std::max(s.name, t.name);
      ++s.rows;
      s.amount = static_cast<std::int64_t>(static_cast<std::uint64_t>(s.amount) + static_cast<std::uint64_t>(t.amount % 1000));
      s.hot += t.hot;
      s.last = t.id;
      if (!t.lot) return;
      ++s.lots;
      s.lot += *t.lot % 1000;
      s.least = s.least ? std::min(*s.least, *t.lot) : *t.lot;
    };
    for (const trade& t : d.rows) add(by_key[t.key], t), add(by_two[{t.name, t.hot}], t), add(by_note[t.note], t);
    std::vector<line> keys, pairs, notes;
    for (const auto& [k, s] : by_key)
      keys.push_back({std::to_string(k), std::to_string(s.amount), std::to_string(s.rows), std::to_string(s.lots), std::to_string(s.lot),
                      shown(s.least), "'" + s.name + "'", std::to_string(s.hot)});
    for (const auto& [k, s] : by_two)
      pairs.push_back({"'" + k.first + "'", shown(k.second), std::to_string(s.rows), std::to_string(s.amount + s.rows)});
    for (const auto& [k, s] : by_note) notes.push_back({shown(k), std::to_string(s.rows)});

    const auto q = source(e, d.rows).as_dynamic();
    const auto made = q.group_by("key", "sum(amount % 1000) as total, count() as rows, count(lot) as lots, sum(lot % 1000) as lot, "
                                        "min(lot) as least, max(name) as name, count_if(hot) as hot");
    EXPECT_EQ(made.names(), (line{"key", "total", "rows", "lots", "lot", "least", "name", "hot"}));
    EXPECT_EQ(sorted(lines(made)), sorted(keys));
    EXPECT_EQ(made.count(), static_cast<std::int64_t>(keys.size()));
    EXPECT_EQ(sorted(lines(q.group_by("name, hot", "count(*) as n, sum(amount % 1000) + count() as both"))), sorted(pairs));
    EXPECT_EQ(sorted(lines(q.group_by("note", "count() as n"))), sorted(notes));
    std::vector<line> large;
    for (const line& l : keys)
      if (std::stoll(l[2]) > 1) large.push_back({l[0], l[1]});
    std::sort(large.begin(), large.end(), [](const line& a, const line& b) { return std::stoll(a[0]) > std::stoll(b[0]); });
    EXPECT_EQ(lines(made.where("rows > 1").order_by("key desc").select("key, total")), large);
  }
}

CONFORMS(dynamic_query, aggregates_are_those_of_groups, "as_dynamic") {
  const auto group = [](auto g) {
    return std::tuple(g.key(), g.mean([](auto t) { return t.amount % 100; }), g.stddev([](auto t) { return t.key; }),
                      g.count_distinct([](auto t) { return t.name; }), g.median([](auto t) { return t.id; }),
                      g.mean([](auto t) { return t.lot; }));
  };
  std::vector<line> expected;
  const auto number = [](std::optional<double> x) { return x ? text(*x) : std::string("null"); };
  for (const auto& [key, mean, deviation, names, median, lots] :
       source(e, few_trades()).group_by([](auto t) { return t.key; }).select(group).to_vector())
    expected.push_back({std::to_string(key), text(mean), number(deviation), std::to_string(names), text(median), number(lots)});
  const auto made = source(e, few_trades())
                        .as_dynamic()
                        .group_by("key", "mean(amount % 100) as a, stddev(key) as b, count_distinct(name) as c, median(id) as d, "
                                         "avg(lot) as e");
  EXPECT_EQ(sorted(lines(made)), sorted(expected));
}

struct payment {
  std::int32_t key;
  std::optional<double> fee;
};
QUERY_RECORD(payment, key, fee);

CONFORMS(dynamic_query, conditions_of_groups_pass_over_nulls, "as_dynamic") {
  const std::vector<payment> rows{{1, 2.0}, {1, {}}, {2, {}}, {3, 1.0}, {3, {}}, {3, 5.0}};
  const auto made = source(e, rows).as_dynamic().group_by(
      "key", "all(fee > 1) as whole, any(fee > 1) as some, count_if(fee > 1) as n, all(not fee > 1) as none, all(fee is null) as nulls");
  EXPECT_EQ(sorted(lines(made)), (std::vector<line>{{"1", "true", "true", "1", "false", "false"},
                                                    {"2", "true", "false", "0", "true", "true"},
                                                    {"3", "false", "true", "1", "false", "false"}}));
}

CONFORMS(dynamic_query, rows_of_any_number_of_columns_share_layouts, "as_dynamic") {
  const auto q = source(e, few_trades()).as_dynamic();
  std::string columns = "price";
  for (std::size_t n = 1; n < 255; ++n) {
    EXPECT_EQ(q.select(columns).names().size(), n);
    EXPECT_EQ(q.select(columns + ", name").names().size(), n + 1);
    columns += ", price as p" + std::to_string(n);
  }
  std::vector<line> expected;
  for (const trade& t : few_trades()) {
    expected.emplace_back(255, text(t.price));
    expected.back().push_back("'" + t.name + "'");
  }
  EXPECT_EQ(lines(q.select(columns + ", name")), expected);
}

CONFORMS(dynamic_query, threads_plan_one_query_at_once, "as_dynamic") {
  const auto made = source(e, few_trades())
                        .as_dynamic()
                        .where("key > 0")
                        .group_by("key, hot", "sum(amount % 1000) + count() as both, max(name) as name")
                        .where("both > 0");
  const std::vector<line> expected = sorted(lines(made));
  std::vector<std::vector<line>> found(4);
  std::vector<std::thread> threads;
  for (auto& all : found) threads.emplace_back([&] { all = sorted(lines(made)); });
  for (std::thread& t : threads) t.join();
  for (const auto& all : found) EXPECT_EQ(all, expected);
}

CONFORMS(dynamic_query, tables_and_files_name_the_columns, "as_dynamic") {
  const auto made = source(e, few_trades()).as_dynamic().where("id < 3").select("id, id * 2 as twice, 'x' as letter");
  const std::string table = made.table({.ascii = true});
  EXPECT_NE(table.find("twice"), table.npos) << table;
  EXPECT_NE(table.find("letter"), table.npos) << table;
  const query::tests::temp_folder folder("dynamic_query");
  const std::string path = (std::filesystem::path(folder.name()) / "made.csv").string();
  made.write_csv(path);
  std::ifstream in(path);
  std::stringstream written;
  written << in.rdbuf();
  EXPECT_EQ(written.str(), "id,twice,letter\n0,0,x\n1,2,x\n2,4,x\n");
}

CONFORMS(dynamic_query, faults_point_into_their_text, "as_dynamic") {
  const auto q = source(e, few_trades()).as_dynamic();
  const auto position = [&](auto ask) {
    try {
      ask();
    } catch (const query::text_error& x) {
      return static_cast<int>(x.position);
    }
    return -1;
  };
  EXPECT_EQ(position([&] { (void)q.select("key, prize"); }), 5);
  EXPECT_EQ(position([&] { (void)q.select("key, price as key"); }), 5);
  EXPECT_EQ(position([&] { (void)q.select("sum(price)"); }), 0);
  EXPECT_EQ(position([&] { (void)q.group_by("key", "price"); }), 0);
  EXPECT_EQ(position([&] { (void)q.group_by("key", "sum(name)"); }), 0);
  EXPECT_EQ(position([&] { (void)q.group_by("key", "count() as key"); }), 0);
  EXPECT_EQ(position([&] { (void)q.group_by("key", "sum(max(price))"); }), 4);
  EXPECT_EQ(position([&] { (void)q.select("key").where("price > 3"); }), 0);
}

}  // namespace
}  // namespace conformance
