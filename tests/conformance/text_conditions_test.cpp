// Conditions and sort keys that users type: as loops over std::vector answer them, and as lambdas do, on every engine.
#include <algorithm>
#include <cmath>
#include <functional>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

struct asked {
  const char* text;
  std::function<bool(const trade&)> holds;
};
bool begins(const std::string& s, std::string_view with) { return std::string_view(s).substr(0, with.size()) == with; }
bool ends(const std::string& s, std::string_view with) {
  return s.size() >= with.size() && std::string_view(s).substr(s.size() - with.size()) == with;
}

const std::vector<asked>& numbers() {
  static const std::vector<asked> all = {
      {"key > 0 and amount <> 7", [](const trade& t) { return t.key > 0 && t.amount != 7; }},
      {"price > 0 or hot", [](const trade& t) { return t.price > 0 || t.hot; }},
      {"not hot and not (key = 1 or key = 2)", [](const trade& t) { return !t.hot && t.key != 1 && t.key != 2; }},
      {"key in (1, 3, -5, 2147483647)",
       [](const trade& t) { return t.key == 1 || t.key == 3 || t.key == -5 || t.key == 2147483647; }},
      {"key not in (1, 3)", [](const trade& t) { return t.key != 1 && t.key != 3; }},
      {"price between -1 and 10.5", [](const trade& t) { return t.price >= -1 && t.price <= 10.5; }},
      {"price not between -1 and 10.5", [](const trade& t) { return !(t.price >= -1 && t.price <= 10.5); }},
      {"price = price", [](const trade& t) { return t.price == t.price; }},
      {"price >= 0 and price <= 0", [](const trade& t) { return t.price == 0; }},
      {"isnan(price) or isinf(price)", [](const trade& t) { return std::isnan(t.price) || std::isinf(t.price); }},
      {"price * 2 + key > 3", [](const trade& t) { return t.price * 2 + t.key > 3; }},
      {"key % 3 = 0", [](const trade& t) { return t.key % 3 == 0; }},
      {"key / 2 = 1", [](const trade& t) { return t.key / 2 == 1; }},
      {"abs(price) < 5", [](const trade& t) { return std::abs(t.price) < 5; }},
      {"least(price, 1.5) = 1.5", [](const trade& t) { return std::min(t.price, 1.5) == 1.5; }},
      {"legs[0] < legs[2] or legs[1] = 0", [](const trade& t) { return t.legs[0] < t.legs[2] || t.legs[1] == 0; }},
      {"way = 7 or way = -1", [](const trade& t) { return t.way == side::sell || t.way == side::buy; }},
      {"length(name) > -1", [](const trade&) { return true; }},
      {"length(name) <= amount",
       [](const trade& t) { return t.amount >= 0 && query::length(t.name) <= static_cast<std::size_t>(t.amount); }},
      {"true", [](const trade&) { return true; }},
      {"1 > 2 or false", [](const trade&) { return false; }},
      {"(key > 1) = hot", [](const trade& t) { return (t.key > 1) == t.hot; }},
      {"iff(hot, key, 0) > 0", [](const trade& t) { return (t.hot ? t.key : 0) > 0; }},
  };
  return all;
}
const std::vector<asked>& strings_and_nulls() {
  static const std::vector<asked> all = {
      {"name = 'ab' or length(name) > 15", [](const trade& t) { return t.name == "ab" || query::length(t.name) > 15; }},
      {"name < 'b' and name <> ''", [](const trade& t) { return t.name < "b" && !t.name.empty(); }},
      {"name like 'a%'", [](const trade& t) { return begins(t.name, "a"); }},
      {"name like '%b'", [](const trade& t) { return ends(t.name, "b"); }},
      {"name like '%b%'", [](const trade& t) { return t.name.find('b') != t.name.npos; }},
      {"name like 'a%b'", [](const trade& t) { return t.name.size() > 1 && begins(t.name, "a") && ends(t.name, "b"); }},
      {"name not like 'a%'", [](const trade& t) { return !begins(t.name, "a"); }},
      {"name like '%'", [](const trade&) { return true; }},
      {"lower(name) = 'ab'",
       [](const trade& t) { return t.name == "ab" || t.name == "Ab" || t.name == "aB" || t.name == "AB"; }},
      {"name in ('ab', 'it''s', '')", [](const trade& t) { return t.name == "ab" || t.name == "it's" || t.name.empty(); }},
      {"lot is null", [](const trade& t) { return !t.lot; }},
      {"lot is not null and way <> 0", [](const trade& t) { return t.lot && t.way != side::none; }},
      {"lot > 3", [](const trade& t) { return t.lot && *t.lot > 3; }},
      {"lot < 3", [](const trade& t) { return t.lot && *t.lot < 3; }},
      {"not lot < 3", [](const trade& t) { return t.lot && *t.lot >= 3; }},
      {"not (lot < 3 or hot)", [](const trade& t) { return t.lot && *t.lot >= 3 && !t.hot; }},
      {"not (lot < 3 and hot)", [](const trade& t) { return !t.hot || (t.lot && *t.lot >= 3); }},
      {"(lot < 3) is null", [](const trade& t) { return !t.lot; }},
      {"lot <> 3", [](const trade& t) { return t.lot && *t.lot != 3; }},
      {"lot in (1, 2, 3)", [](const trade& t) { return t.lot && *t.lot >= 1 && *t.lot <= 3; }},
      {"lot not in (1, 2, 3)", [](const trade& t) { return t.lot && (*t.lot < 1 || *t.lot > 3); }},
      {"key in (lot, 1)", [](const trade& t) { return t.key == 1 || (t.lot && t.key == *t.lot); }},
      {"lot + 0.5 > key", [](const trade& t) { return t.lot && *t.lot + 0.5 > t.key; }},
      {"coalesce(lot, 0) > key or coalesce(note, name) = 'ab'",
       [](const trade& t) { return t.lot.value_or(0) > t.key || t.note.value_or(t.name) == "ab"; }},
      {"note = name", [](const trade& t) { return t.note && *t.note == t.name; }},
      {"note like 'a%' or note is null", [](const trade& t) { return !t.note || begins(*t.note, "a"); }},
      {"length(note) > 2", [](const trade& t) { return t.note && query::length(*t.note) > 2; }},
      {"lot between 1 and 5", [](const trade& t) { return t.lot && *t.lot >= 1 && *t.lot <= 5; }},
  };
  return all;
}

template <class Ask> void answers(const engine_config& e, const std::vector<asked>& questions, const Ask& also) {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    for (const asked& a : questions) {
      SCOPED_TRACE(a.text);
      std::vector<trade> expected;
      std::copy_if(d.rows.begin(), d.rows.end(), std::back_inserter(expected), a.holds);
      also(source(e, d.rows).where(a.text), expected);
    }
  }
}

CONFORMS(text_conditions, where_keeps_the_rows_for_which_a_text_is_true, "where") {
  answers(e, numbers(), [](const auto& q, const std::vector<trade>& expected) { EXPECT_ROWS(q.to_vector(), expected); });
}
CONFORMS(text_conditions, nulls_are_neither_true_nor_false, "where") {
  answers(e, strings_and_nulls(), [](const auto& q, const std::vector<trade>& expected) { EXPECT_ROWS(q.to_vector(), expected); });
}
CONFORMS(text_conditions, verbs_go_on_behind_a_text, "where", "select", "count") {
  answers(e, {numbers()[0], strings_and_nulls()[12], strings_and_nulls()[3]}, [](const auto& q, const std::vector<trade>& expected) {
    std::vector<std::string> names;
    std::int64_t sum = 0;
    for (const trade& t : expected)
      if (!t.hot) {
        names.push_back(t.name);
        sum += t.id;
      }
    EXPECT_EQ(q.count(), static_cast<std::int64_t>(expected.size()));
    EXPECT_ROWS(q.where([](auto t) { return !t.hot; }).select([](auto t) { return t.name; }).to_vector(), names);
    EXPECT_ROWS(q.where("hot = false").select([](auto t) { return t.name; }).to_vector(), names);
    EXPECT_EQ(q.where("not hot").sum([](auto t) { return query::cast<std::int64_t>(t.id); }), sum);
  });
}

CONFORMS(text_conditions, batches_and_parts_meet_at_their_borders, "where") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<tick> kept;
    double sum = 0;
    for (const tick& t : d.rows)
      if (t.amount % 3 == 0 && t.price > 1) {
        kept.push_back(t);
        sum += t.price;
      }
    const auto q = source(e, d.rows).where("amount % 3 = 0 and price > 1");
    EXPECT_ROWS(q.to_vector(), kept);
    EXPECT_EQ(q.sum([](auto t) { return t.price; }), sum);
    EXPECT_EQ(source(e, d.rows).select([](auto t) { return t; }).where("amount % 3 = 0 and price > 1").count(),
              static_cast<std::int64_t>(kept.size()));
  }
}

CONFORMS(text_conditions, rows_may_come_as_columns, "where", "columns", "order_by") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<std::int32_t> ids, keys;
    std::vector<std::int64_t> amounts;
    std::vector<double> prices;
    std::vector<tick> kept;
    double sum = 0;
    for (const tick& t : d.rows) {
      ids.push_back(t.id), keys.push_back(t.key), amounts.push_back(t.amount), prices.push_back(t.price);
      if (t.amount % 3 != 0 || t.price <= 1) continue;
      kept.push_back(t);
      sum += t.price;
    }
    const auto q = source(e, query::columns<tick>(ids, keys, amounts, prices)).where("amount % 3 = 0 and price > 1");
    EXPECT_ROWS(q.to_vector(), kept);
    EXPECT_EQ(q.count(), static_cast<std::int64_t>(kept.size()));
    EXPECT_EQ(q.sum([](auto t) { return t.price; }), sum);
    std::erase_if(kept, [](const tick& t) { return t.key == 1; });
    EXPECT_ROWS(q.where([](auto t) { return t.key != 1; }).to_vector(), kept);
    EXPECT_ROWS(q.where("key <> 1").where([](auto t) { return t.id >= 0; }).to_vector(), kept);
    std::stable_sort(kept.begin(), kept.end(), [](const tick& a, const tick& b) { return a.price > b.price; });
    EXPECT_ROWS(q.where("key <> 1").order_by("price desc").to_vector(), kept);
  }
}

CONFORMS(text_conditions, values_from_outside_are_bound, "where") {
  const auto& rows = few_trades();
  std::vector<trade> expected;
  const std::string name = "a' or 'a' = 'a";
  for (const trade& t : rows)
    if (t.price > 2.5 && t.key <= 3 && t.name != name && t.way != side::buy) expected.push_back(t);
  const auto q = source(e, rows);
  EXPECT_ROWS(q.where(query::parsed("price > ? and key <= ? and name <> ? and way <> ?", 2.5, 3, name, side::buy)).to_vector(), expected);
  const auto numbered = query::parsed("name <> $2 and key <= $3 and price > $1 and way <> $4", 2.5, name, 3, side::buy);
  EXPECT_ROWS(q.where(numbered).to_vector(), expected);
}

CONFORMS(text_conditions, rows_that_are_no_records_are_called_value, "where", "order_by") {
  std::vector<double> doubles;
  std::vector<std::optional<std::int32_t>> lots;
  std::vector<double> large;
  std::vector<std::optional<std::int32_t>> few;
  for (const trade& t : few_trades()) {
    doubles.push_back(t.price);
    lots.push_back(t.lot);
    if (t.price > 1) large.push_back(t.price);
    if (t.lot && *t.lot < 4) few.push_back(t.lot);
  }
  EXPECT_ROWS(source(e, doubles).where("value > 1").to_vector(), large);
  EXPECT_ROWS(source(e, lots).where("value < 4").to_vector(), few);
  std::stable_sort(large.begin(), large.end(), std::greater<>());
  EXPECT_ROWS(source(e, doubles).where("value > 1").order_by("value desc").to_vector(), large);
}

CONFORMS(text_conditions, order_by_takes_keys_as_text, "order_by", "then_by") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    EXPECT_ROWS(q.order_by("key").to_vector(), q.order_by([](auto t) { return t.key; }).to_vector());
    EXPECT_ROWS(q.order_by("name desc, price").to_vector(),
                q.order_by_descending([](auto t) { return t.name; }).then_by([](auto t) { return t.price; }).to_vector());
    EXPECT_ROWS(q.order_by("lot").then_by("note desc nulls first, id desc").to_vector(),
                q.order_by([](auto t) { return t.lot; })
                    .then_by_descending([](auto t) { return t.note; }, query::nulls::first)
                    .then_by_descending([](auto t) { return t.id; })
                    .to_vector());
    EXPECT_ROWS(q.order_by("lot", query::nulls::first).to_vector(),
                q.order_by([](auto t) { return t.lot; }, query::nulls::first).to_vector());
    EXPECT_ROWS(q.order_by("price * 2 - key desc, way").to_vector(),
                q.order_by_descending([](auto t) { return t.price * 2 - t.key; }).then_by([](auto t) { return t.way; }).to_vector());
    const auto thirds = [](const trade& t) { return t.lot ? std::optional<std::int32_t>(*t.lot % 3) : std::optional<std::int32_t>(); };
    EXPECT_ROWS(q.order_by("hot, lot % 3 desc").then_by([](auto t) { return t.id; }).to_vector(),
                q.order_by([](auto t) { return t.hot; }).then_by_descending(thirds).then_by([](auto t) { return t.id; }).to_vector());
  }
}

// Types that have the layout of others, and are others.
enum class level : std::int32_t { low = -1, none, high = 4 };
struct reading {
  std::int32_t id;
  std::int32_t number;
  level at;
  std::optional<std::int32_t> perhaps;
  std::optional<level> before;
  long plain;
  long long qty;
  std::optional<long long> more;
};
QUERY_RECORD(reading, id, number, at, perhaps, before, plain, qty, more);

CONFORMS(text_conditions, types_that_look_alike_are_told_apart, "where", "order_by") {
  std::vector<reading> rows;
  constexpr level levels[] = {level::low, level::none, level::high};
  for (std::int32_t i = 0; i < 300; ++i) {
    reading r{i, i * 7 % 5 - 2, levels[i * 11 % 3], {}, {}, i * 13 % 17, i * 5 % 23 - 11, {}};
    if (i % 3) r.perhaps = i % 4;
    if (i % 4) r.before = levels[i % 3];
    if (i % 5) r.more = i * 3 % 29;
    rows.push_back(r);
  }
  const auto ids = [](const auto& q) { return q.select([](auto t) { return t.id; }).to_vector(); };
  const auto q = source(e, rows);
  EXPECT_ROWS(ids(q.order_by("qty, id")), ids(q.order_by([](auto t) { return t.qty; }).then_by([](auto t) { return t.id; })));
  EXPECT_ROWS(ids(q.order_by("at desc, number, id")), ids(q.order_by_descending([](auto t) { return t.at; })
                                                              .then_by([](auto t) { return t.number; })
                                                              .then_by([](auto t) { return t.id; })));
  EXPECT_ROWS(ids(q.order_by("perhaps, before, more desc, plain + qty, id")),
              ids(q.order_by([](auto t) { return t.perhaps; })
                      .then_by([](auto t) { return t.before; })
                      .then_by_descending([](auto t) { return t.more; })
                      .then_by([](auto t) { return t.plain + t.qty; })
                      .then_by([](auto t) { return t.id; })));
  const auto kept = [&](auto holds) {
    std::vector<std::int32_t> all;
    for (const reading& r : rows)
      if (holds(r)) all.push_back(r.id);
    return all;
  };
  EXPECT_ROWS(ids(q.where("number > 0 and at = 4")), kept([](const reading& r) { return r.number > 0 && r.at == level::high; }));
  EXPECT_ROWS(ids(q.where("perhaps = 1 and before = -1")),
              kept([](const reading& r) { return r.perhaps == 1 && r.before == level::low; }));
  EXPECT_ROWS(ids(q.where("qty > plain - 5 and more < 20")),
              kept([](const reading& r) { return r.qty > r.plain - 5 && r.more && *r.more < 20; }));
}

// The line of a plan that shows a function of this role.
std::string function_in(const std::string& plan, const std::string& role) {
  const std::size_t at = plan.find(role + ": ");
  return at == plan.npos ? plan : plan.substr(at, plan.find('\n', at) - at);
}

CONFORMS(text_conditions, a_text_has_the_expression_of_its_lambda, "where", "order_by") {
  const auto q = source(e, few_trades());
  const auto same = [&](const char* text, const auto& lambda) {
    EXPECT_EQ(function_in(q.where(text).explain(), "predicate"), function_in(q.where(lambda).explain(), "predicate")) << text;
  };
  same("price > 3", [](auto t) { return t.price > 3; });
  same("price > 3 and key = 7 and amount < 5", [](auto t) { return t.price > 3 && t.key == 7 && t.amount < 5; });
  same("price * key + 1 >= key - 2", [](auto t) { return t.price * t.key + 1 >= t.key - 2; });
  same("key in (7, 9, 11)", [](auto t) { return t.key == 7 || t.key == 9 || t.key == 11; });
  same("lot > 3", [](auto t) { return t.lot.has_value() && *t.lot > 3; });
  same("not hot", [](auto t) { return !t.hot; });
  same("not hot and price < 2.5", [](auto t) { return !t.hot && t.price < 2.5; });
  same("name like 'a%'", [](auto t) { return t.name.starts_with("a"); });
  same("upper(name) <> 'X'", [](auto t) { return query::upper(t.name) != "X"; });
  same("sqrt(abs(price)) < legs[1]", [](auto t) { return query::sqrt(query::abs(t.price)) < t.legs[1]; });
  same("coalesce(lot, 0) > 1", [](auto t) { return t.lot.value_or(0) > 1; });
  same("3 > -price and amount > -3", [](auto t) { return 3 > -t.price && t.amount > -3; });
  EXPECT_EQ(function_in(q.order_by("price desc").explain(), "key"),
            function_in(q.order_by_descending([](auto t) { return t.price; }).explain(), "key"));
  EXPECT_EQ(function_in(q.order_by("lot").explain(), "key"), function_in(q.order_by([](auto t) { return t.lot; }).explain(), "key"));
}

CONFORMS(text_conditions, conditions_go_below_sorts_and_joins, "where", "order_by", "join") {
  const auto left = source(e, few_trades());
  const auto right = source(e, rates().back().rows);
  const auto keyed = [](auto x) { return x.key; };
  const auto joined = left.join(right, keyed, keyed, [](auto t, auto) { return t; }).as_ordered();
  EXPECT_ROWS(joined.where("price > 1 and key <> 2").to_vector(),
              joined.where([](auto t) { return t.price > 1 && t.key != 2; }).to_vector());
  EXPECT_ROWS(left.order_by("price").where("price > 1 and key <> 2").to_vector(),
              left.order_by([](auto t) { return t.price; }).where([](auto t) { return t.price > 1 && t.key != 2; }).to_vector());
  EXPECT_ROWS(left.order_by("price desc, id").take(5).to_vector(),
              left.order_by_descending([](auto t) { return t.price; }).then_by([](auto t) { return t.id; }).take(5).to_vector());
}

CONFORMS(text_conditions, divisions_by_zero_name_the_verb, "where") {
  const auto q = source(e, few_trades());
  EXPECT_THROW((void)q.where("amount / (key - key) > 1").to_vector(), query::user_error);
  EXPECT_NO_THROW((void)q.where("key <> 0 and amount / key > 1").to_vector());
}

}  // namespace
}  // namespace conformance
