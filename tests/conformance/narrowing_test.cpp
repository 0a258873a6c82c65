// query::make: integers that may not fit their field are looked at, on every engine; query::cast lets them wrap.
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/checking.hpp"
#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"

namespace conformance {
namespace {

struct payment {
  std::int64_t id;
  std::int64_t amount;
  std::uint64_t size;
  std::int32_t way;
  std::optional<std::int64_t> fee;
};
QUERY_RECORD(payment, id, amount, size, way, fee);
struct small_payment {
  std::int64_t id;
  std::int32_t amount;
};
QUERY_RECORD(small_payment, id, amount);
struct two_numbers {
  std::int64_t id, amount;
};
QUERY_RECORD(two_numbers, id, amount);
struct words {
  std::int32_t id;
  std::vector<std::string> parts;
  std::optional<std::vector<std::string>> all;
};
QUERY_RECORD(words, id, parts, all);
struct named_amount {
  std::string name;
  std::int32_t amount;
};
QUERY_RECORD(named_amount, name, amount);
struct bytes {
  std::int8_t low;
  std::uint8_t high;
  bool flag;
  std::uint32_t natural;
};
QUERY_RECORD(bytes, low, high, flag, natural);
struct with_spare {
  std::int16_t first;
  std::optional<std::int16_t> spare;
};
QUERY_RECORD(with_spare, first, spare);
struct with_parts {
  std::optional<std::int16_t> fee;
  std::array<std::int16_t, 2> parts;
};
QUERY_RECORD(with_parts, fee, parts);
struct floats {
  float single;
  double wide;
};
QUERY_RECORD(floats, single, wide);

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max(), least = std::numeric_limits<std::int32_t>::min();

std::vector<payment> payments() {
  std::vector<payment> all;
  for (std::int64_t i = 0; i < 3000; ++i)
    all.push_back({i, i % 2 ? most - i : least + i, static_cast<std::uint64_t>(i % 256), static_cast<std::int32_t>(i % 2), i % 100});
  return all;
}
// The query is a user_error of a number that does not fit `part`, which names the verb and the place.
template <class F> void expect_misfit(const char* verb, const std::string& part, F f, const std::string& number = {}) {
  SCOPED_TRACE(part);
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const query::user_error& e) {
    const std::string what = e.what();
    EXPECT_TRUE(what.starts_with(verb)) << what;
    EXPECT_NE(what.find("does not fit " + part), what.npos) << what;
    EXPECT_NE(what.find("narrowing_test.cpp:"), what.npos) << what;
    if (!number.empty()) {
      EXPECT_NE(what.find(number), what.npos) << what;
    }
  }
}

CONFORMS(narrowing, integers_that_fit_are_kept, "select") {
  std::vector<small_payment> expected;
  for (const payment& p : payments()) expected.push_back({p.id, static_cast<std::int32_t>(p.amount)});
  EXPECT_ROWS(source(e, payments()).select([](auto p) { return query::make<small_payment>(p.id, p.amount); }).to_vector(), expected);

  std::vector<bytes> ends = {{-128, 255, true, 4294967295u}, {127, 0, false, 0}};
  const std::vector<std::array<std::int64_t, 4>> numbers = {{-128, 255, 1, 4294967295}, {127, 0, 0, 0}};
  EXPECT_ROWS(source(e, numbers).select([](auto a) { return query::make<bytes>(a[0], a[1], a[2], a[3]); }).to_vector(), ends);
}

CONFORMS(narrowing, an_integer_that_does_not_fit_is_a_user_error, "select", "where") {
  auto rows = payments();
  rows[2000].amount = most + 1;
  const auto made = source(e, rows).select([](auto p) { return query::make<small_payment>(p.id, p.amount); });
  const std::string its_fields = "The row: {id: 2000, amount: 2147483648}";
  expect_misfit("select: ", "small_payment.amount", [&] { (void)made.to_vector(); }, its_fields);
  // Verbs that are one native loop are named by the one that reads them.
  expect_misfit("", "small_payment.amount", [&] { (void)made.sum([](auto p) { return p.amount; }); });
  expect_misfit("", "small_payment.amount", [&] { (void)made.count([](auto p) { return p.amount > 0; }); }, its_fields);
  rows[2000].amount = least - 1;
  expect_misfit("select: ", "small_payment.amount", [&] { (void)made.to_vector(); });
  // A row that is filtered out, or another path of the function, is not looked at.
  const auto big = source(e, rows).where([](auto p) { return p.amount >= -2147483648; });
  const auto small = big.select([](auto p) { return query::make<small_payment>(p.id, p.amount); });
  EXPECT_EQ(small.count([](auto p) { return p.amount != 5; }), 2999);
  const auto guarded = source(e, rows).select([](auto p) {
    if (p.amount < -2147483648) return query::make<small_payment>(p.id, 0);
    return query::make<small_payment>(p.id, p.amount);
  });
  EXPECT_EQ(guarded.where([](auto p) { return p.id == 2000; }).single().amount, 0);
}

CONFORMS(narrowing, columns_name_the_row, "to_columns", "select", "join") {
  std::vector<std::int64_t> ids(3000), amounts(3000, 5);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
  amounts[2500] = 4'000'000'000;
  const auto rows = on(e, query::from(query::columns<two_numbers>(ids, amounts)));
  const auto made = rows.select([](auto r) { return query::make<small_payment>(r.id, r.amount); });
  const std::string its_fields = "The row: {id: 2500, amount: 4000000000}";
  expect_misfit("select: ", "small_payment.amount", [&] { (void)made.to_columns(); }, its_fields);
  expect_misfit("select: ", "small_payment.amount", [&] { (void)made.to_vector(); }, its_fields);
  const auto pairs = rows.join(std::vector<std::int64_t>{7, 2500}, [](auto r) { return r.id; }, [](auto x) { return x; },
                               [](auto r, auto) { return query::make<small_payment>(r.id, r.amount); });
  expect_misfit("join: ", "small_payment.amount", [&] { (void)pairs.to_vector(); }, its_fields);
  expect_misfit("join: ", "small_payment.amount", [&] { (void)pairs.to_columns(); }, its_fields);
}

CONFORMS(narrowing, a_row_with_texts_is_shown, "select") {
  const std::vector<std::string> texts(2000, "a text that is not stored in place");
  const auto made = source(e, texts).select([](auto t) {
    return query::make<named_amount>(t + "!", query::cast<std::int64_t>(query::length(t)) * 1'000'000'000);
  });
  expect_misfit("select: ", "named_amount.amount", [&] { (void)made.to_vector(); }, "stored in place!\", amount: 34000000000}");
}

CONFORMS(narrowing, to_map_names_itself, "to_map") {
  const std::vector<std::int64_t> large = {4'000'000'000};
  const auto q = source(e, large);
  expect_misfit("to_map: ", "small_payment.amount",
                [&] { (void)q.to_map([](auto x) { return x; }, [](auto x) { return query::make<small_payment>(x, x); }); }, "4000000000");
}

CONFORMS(narrowing, every_pair_of_integer_types_is_looked_at, "select") {
  const auto one = [&](std::int64_t low, std::int64_t high, std::int64_t flag, std::int64_t natural, const char* part) {
    const std::vector<std::array<std::int64_t, 4>> rows = {{1, 1, 1, 1}, {low, high, flag, natural}};
    expect_misfit("select: ", part, [&] {
      (void)source(e, rows).select([](auto a) { return query::make<bytes>(a[0], a[1], a[2], a[3]); }).to_vector();
    });
  };
  one(128, 1, 1, 1, "bytes.low");
  one(-129, 1, 1, 1, "bytes.low");
  one(1, 256, 1, 1, "bytes.high");
  one(1, -1, 1, 1, "bytes.high");
  one(1, 1, 2, 1, "bytes.flag");
  one(1, 1, -1, 1, "bytes.flag");
  one(1, 1, 1, -1, "bytes.natural");
  one(1, 1, 1, 4294967296, "bytes.natural");
  // Of the same width, but of another sign.
  const std::vector<std::uint64_t> huge = {1, ~std::uint64_t{0}};
  expect_misfit("select: ", "small_payment.id", [&] {
    (void)source(e, huge).select([](auto x) { return query::make<small_payment>(x, 1); }).to_vector();
  });
  const std::vector<std::int32_t> negative = {-1};
  expect_misfit("select: ", "bytes.natural", [&] {
    (void)source(e, negative).select([](auto x) { return query::make<bytes>(1, 1, true, x); }).to_vector();
  });
}

CONFORMS(narrowing, nulls_and_arrays_are_looked_into, "select") {
  auto rows = payments();
  rows[7].fee = std::nullopt;
  const auto made = [&] {
    return source(e, rows).select([](auto p) { return query::make<with_parts>(p.fee, std::array{p.id, p.id + 1}); });
  };
  std::vector<with_parts> expected;
  for (const payment& p : rows) {
    const auto id = static_cast<std::int16_t>(p.id);
    expected.push_back({p.fee ? std::optional(static_cast<std::int16_t>(*p.fee)) : std::nullopt, {id, static_cast<std::int16_t>(id + 1)}});
  }
  EXPECT_ROWS(made().to_vector(), expected);
  rows[2999].id = 32767;
  expect_misfit("select: ", "with_parts.parts", [&] { (void)made().to_vector(); }, "The row: {fee: 99, parts: [32767, 32768]}");
  rows[2999].id = 40000;
  expect_misfit("select: ", "with_parts.parts", [&] { (void)made().to_vector(); }, "The row: {fee: 99, parts: [40000, ...]}");
  rows[2999].id = 0;
  rows[2999].fee = 40000;
  expect_misfit("select: ", "with_parts.fee", [&] { (void)made().to_vector(); }, "The row: {fee: 40000, parts: ");
}

// What does not fit beside the number that is named is shown as it was given, by compiled and by interpreted functions.
CONFORMS(narrowing, all_numbers_of_the_row_are_shown_as_given, "select") {
  const std::vector<payment> rows = {{40000, -40000, 1, 1, std::nullopt}};
  const auto one = [](auto p) { return p.id / 40000; };
  const auto numbers = [=](auto p) { return query::make<bytes>(p.id / 100 - 100, 255 + one(p), one(p) - 1, one(p) - 8); };
  const auto some = [=](auto p) { return query::make<with_spare>(p.id * one(p), p.amount); };
  const auto none = [=](auto p) { return query::make<with_spare>(p.id * one(p), p.fee); };
  const auto throws = [&](const auto& q) {
    const auto natural = "The row: {low: 300, high: 256, flag: false, natural: -7}";
    expect_misfit("select: ", "bytes.low", [&] { (void)q.select(numbers).to_vector(); }, natural);
    expect_misfit("select: ", "with_spare.first", [&] { (void)q.select(some).to_vector(); }, "The row: {first: 40000, spare: -40000}");
    expect_misfit("select: ", "with_spare.first", [&] { (void)q.select(none).to_vector(); }, "The row: {first: 40000, spare: null}");
  };
  throws(source(e, rows));
  if (!e.accelerate) throws(source(checking(e), rows));
}

CONFORMS(narrowing, constants_are_known, "select") {
  const auto rows = source(e, payments());
  const auto made = rows.select([](auto) { return query::make<bytes>(-128, 255, 1, 7L); }).first();
  EXPECT_EQ(text(made), text(bytes{-128, 255, true, 7}));
  const auto wrong = [](auto) { return query::make<bytes>(1, 1, true, -7); };
  EXPECT_EQ(rows.where([](auto p) { return p.id < 0; }).select(wrong).count(), 0);
  expect_misfit("select: ", "bytes.natural", [&] { (void)rows.select(wrong).to_vector(); });
}

CONFORMS(narrowing, a_cast_lets_integers_wrap, "select") {
  const std::vector<std::int64_t> rows = {4000000000, -1};
  const auto made =
      source(e, rows)
          .select([](auto x) {
            return query::make<bytes>(query::cast<std::int8_t>(x), query::cast<std::uint8_t>(x), x > 0, query::cast<std::uint32_t>(x));
          })
          .to_vector();
  const std::vector<bytes> expected = {{static_cast<std::int8_t>(4000000000), static_cast<std::uint8_t>(4000000000), true, 4000000000u},
                                       {-1, 255, false, 4294967295u}};
  EXPECT_ROWS(made, expected);
}

CONFORMS(narrowing, sums_of_groups_are_looked_at, "group_by", "aggregate") {
  auto rows = payments();
  for (payment& p : rows) p.amount = 1000;
  const auto totals = [&] {
    return source(e, rows).group_by([](auto p) { return p.way; }).select([](auto g) {
      return query::make<small_payment>(g.key(), g.sum([](auto p) { return p.amount; }));
    });
  };
  const std::vector<small_payment> expected = {{0, 1500000}, {1, 1500000}};
  EXPECT_SAME_ROWS(totals().to_vector(), expected);
  rows[1].amount = 4000000000;
  expect_misfit("group_by: ", "small_payment.amount", [&] { (void)totals().to_vector(); }, "The row: {id: 1, amount: 4001499000}");
}

CONFORMS(narrowing, is_looked_at_in_verbs_of_several_rows, "over", "group_by.top", "asof_join", "join_where", "zip", "cross_join", "chunk",
         "window", "group_join", "reduce") {
  const std::vector<payment> rows = {{1, 5, 1, 1, 1}, {2, 4'000'000'000, 1, 2, 1}};
  const auto q = source(e, rows);
  const auto id = [](auto p) { return p.id; };
  const auto amount = [](auto p) { return p.amount; };
  const auto made = [](auto p) { return query::make<small_payment>(p.id, p.amount); };
  const auto of_left = [made](auto l, auto) { return made(l); };
  const auto of_right = [made](auto, auto r) { return made(r); };
  const auto not_after = [](auto l, auto r) { return l.id <= r.id; };
  const auto throws = [](const char* verb, auto f) {
    SCOPED_TRACE(verb);
    expect_misfit(verb, "small_payment.amount", f);
  };
  throws("over: ", [&] { (void)q.over(id).select([made](auto p, auto) { return made(p); }).to_vector(); });
  throws("over: ", [&] {
    (void)q.over().select([=](auto p, auto w) { return query::make<small_payment>(p.id, w.cum_sum(amount)); }).to_vector();
  });
  throws("over: ", [&] { (void)q.over(made).take(1).to_vector(); });
  throws("top: ", [&] { (void)q.group_by(id).top(1, [made](auto p) { return made(p).amount; }).to_vector(); });
  throws("asof_join: ", [&] { (void)q.asof_join(rows, id, id, of_left).to_vector(); });
  throws("asof_join: ", [&] { (void)q.asof_join(rows, id, id, id, id, of_left).to_vector(); });
  throws("asof_join: ", [&] { (void)q.asof_join(rows, made, made, id, id).to_vector(); });
  throws("join_where: ", [&] { (void)q.join_where(rows, not_after, of_right).to_vector(); });
  throws("join_where: ", [&] {
    (void)q.join_where(rows, [](const payment& l, const payment& r) { return l.id <= r.id; }, of_right).to_vector();
  });
  throws("zip: ", [&] { (void)q.zip(rows, rows, [made](auto, auto, auto c) { return made(c); }).to_vector(); });
  throws("zip: ", [&] { (void)q.zip(rows, rows, rows, [made](auto, auto, auto, auto d) { return made(d); }).to_vector(); });
  throws("cross_join: ", [&] { (void)q.cross_join(rows, of_right).to_vector(); });
  throws("chunk", [&] { (void)q.chunk(2, [made](auto run) { return made(run[1]); }).to_vector(); });
  throws("window", [&] { (void)q.window(1, [made](auto run) { return made(run[0]); }).to_vector(); });
  throws("group_join: ", [&] {
    (void)q.group_join(rows, id, id, [=](auto l, auto m) { return query::make<small_payment>(l.id, query::sum(m, amount)); }).to_vector();
  });
  throws("reduce: ", [&] { (void)q.reduce([=](auto g) { return query::make<small_payment>(1, g.sum(amount)); }); });
}

CONFORMS(narrowing, floating_point_numbers_round, "select") {
  const std::vector<double> rows = {0.1, 1e300};
  const auto made = source(e, rows).select([](auto x) { return query::make<floats>(x, 3); }).to_vector();
  EXPECT_EQ(made[0].single, 0.1f);
  EXPECT_EQ(made[1].single, std::numeric_limits<float>::infinity());
  EXPECT_EQ(made[1].wide, 3.0);
}

// A list of views becomes a list of strings, too, as when a verb stores it.
CONFORMS(narrowing, lists_of_views_become_lists_of_strings, "select") {
  const std::vector<std::string> texts = {"first,second", "", "a text that is not stored in place"};
  const auto made = source(e, texts).select([](const std::string& t) {
    const std::string_view v = t;
    return query::make<words>(1, std::vector<std::string_view>{v.substr(0, 3), v}, std::optional(std::vector<std::string_view>{v}));
  });
  std::vector<words> expected;
  for (const std::string& t : texts) expected.push_back({1, {t.substr(0, 3), t}, std::vector<std::string>{t}});
  EXPECT_ROWS(made.to_vector(), expected);
}

CONFORMS(narrowing, errors_name_the_verb_that_was_written, "unpivot", "over") {
  const std::vector<payment> rows = {{7, 4000000000, 1, 1, 1}};
  const auto q = source(e, rows);
  const auto id = [](auto p) { return p.id; };
  expect_misfit("unpivot: ", "small_payment.amount, which is i32", [&] {
    (void)q.unpivot([](auto p) { return query::make<small_payment>(p.id, p.amount); }, query::field("id", id)).to_vector();
  });
  const auto way = [](const auto& p) { return p.way; };
  EXPECT_MESSAGE("over: lag, lead: the value for where there is no row, 4294967297, does not fit the others, which are integers of 32 bits",
                 q.over().select([=](const auto&, auto w) { return w.lead(way, 1, std::int64_t{4'294'967'297}); }).to_vector());
}

// A row whose other fields cannot be computed, and one of a nested computation, are not shown; the number and the field are.
CONFORMS(narrowing, the_number_is_named_where_no_row_can_be, "select") {
  const std::vector<payment> rows = {{7, 4000000000, 1, 1, 1}};
  const auto other = query::broadcast(std::vector<std::int64_t>{3'000'000'000});
  const auto nested = source(e, rows).select([other](auto p) {
    return other.sum(p, [](auto r, auto x) { return query::make<small_payment>(r.id, x).amount; });
  });
  expect_misfit("select: ", "small_payment.amount, which is i32", [&] { (void)nested.to_vector(); });
}

// Rows and keys that are written as values: an integer that does not fit is an error as a row, and is not found where it is asked for.
CONFORMS(narrowing, values_for_rows, "append", "prepend", "default_if_empty", "first_or_default", "last_or_default", "single_or_default",
         "element_at_or_default", "contains", "to_lookup", "to_map", "to_set") {
  const std::vector<std::int32_t> rows = {1, 2, 3};
  const auto q = source(e, rows);
  const std::int64_t large = 4'294'967'297, negative = -5'000'000'000;  // of 32 bits the first is 1
  const auto none = [](auto x) { return x > 9; };
  const auto itself = [](auto x) { return x; };
  EXPECT_MESSAGE("append: 4294967297 does not fit the rows, which are integers of 32 bits", q.append(large));
  EXPECT_MESSAGE("prepend: -5000000000 does not fit the rows", q.prepend(negative));
  EXPECT_MESSAGE("default_if_empty: 4294967297 does not fit the rows", q.default_if_empty(large));
  EXPECT_MESSAGE("first_or_default: 4294967297 does not fit", q.first_or_default(large));
  EXPECT_MESSAGE("first_or_default: 18446744073709551615 does not fit", q.first_or_default(none, ~std::uint64_t{0}));
  EXPECT_MESSAGE("last_or_default: 4294967297 does not fit", q.last_or_default(large));
  EXPECT_MESSAGE("last_or_default: 4294967297 does not fit", q.last_or_default(none, large));
  EXPECT_MESSAGE("single_or_default: 4294967297 does not fit", q.take(1).single_or_default(large));
  EXPECT_MESSAGE("single_or_default: 4294967297 does not fit", q.single_or_default(none, large));
  EXPECT_MESSAGE("element_at_or_default: 4294967297 does not fit", q.element_at_or_default(7, large));
  EXPECT_MESSAGE("contains: 4294967297 does not fit", q.contains(large, [](std::int32_t a, std::int32_t b) { return a == b; }));
  EXPECT_FALSE(q.contains(large));
  EXPECT_TRUE(q.contains(std::uint64_t{1}));
  EXPECT_FALSE(query::value_of(q).contains(large).get());
  EXPECT_TRUE(query::value_of(q).contains(std::int64_t{3}).get());
  const auto lookup = q.to_lookup(itself);
  EXPECT_FALSE(lookup.contains(large));
  EXPECT_TRUE(lookup[large].empty());
  EXPECT_EQ(lookup[std::int64_t{1}].size(), 1u);
  const auto map = q.to_map(itself);
  EXPECT_FALSE(map.contains(large));
  EXPECT_EQ(map.find(large), nullptr);
  EXPECT_THROW((void)map.at(large), query::user_error);
  EXPECT_EQ(map.at(std::int64_t{2}), 2);
  EXPECT_FALSE(q.to_set().contains(large));
  EXPECT_TRUE(q.to_set().contains(std::int64_t{2}));
  EXPECT_ROWS(q.append(std::int64_t{4}).prepend(std::uint8_t{0}).default_if_empty(std::size_t{5}).to_vector(),
              (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(q.first_or_default(none, std::int64_t{-7}), -7);
  EXPECT_EQ(q.where(none).last_or_default(), 0);
  EXPECT_EQ(q.element_at_or_default(7, -8), -8);

  const std::vector<std::optional<std::int32_t>> perhaps = {1, std::nullopt, 2};
  const auto p = source(e, perhaps);
  EXPECT_MESSAGE("append: 4294967297 does not fit the rows, which are integers of 32 bits", p.append(large));
  EXPECT_MESSAGE("prepend: -5000000000 does not fit the rows", p.prepend(std::optional(negative)));
  EXPECT_MESSAGE("first_or_default: 4294967297 does not fit", p.first_or_default(large));
  EXPECT_FALSE(p.contains(large));
  EXPECT_FALSE(p.contains(std::optional(large)));
  EXPECT_TRUE(p.contains(std::int64_t{2}));
  EXPECT_TRUE(p.contains(std::nullopt));
  EXPECT_FALSE(query::value_of(p).contains(large).get());
  EXPECT_FALSE(p.to_lookup(itself).contains(large));
  EXPECT_TRUE(p.to_lookup(itself).contains(std::nullopt));
  EXPECT_FALSE(p.to_map(itself).contains(large));
  EXPECT_FALSE(p.to_set().contains(large));
  EXPECT_ROWS(p.append(std::int64_t{4}).append(std::nullopt).to_vector(),
              (std::vector<std::optional<std::int32_t>>{1, std::nullopt, 2, 4, std::nullopt}));

  const std::vector<std::uint8_t> bytes = {200};
  EXPECT_MESSAGE("append: -56 does not fit the rows, which are integers of 8 bits", source(e, bytes).append(-56));
  EXPECT_FALSE(source(e, bytes).contains(-56));
  EXPECT_TRUE(source(e, bytes).contains(200));
}

}  // namespace
}  // namespace conformance
