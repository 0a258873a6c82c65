// Texts that users type: their meaning, the errors of invalid ones, and safety against hostile ones.
#include <chrono>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <query/query.hpp>
#include <query/times.hpp>

#include "ir/typed_text/parser.hpp"

namespace typed_text_test {

using query::ir::describe;
using query::ir::typed_text::fault;

enum class side : std::int8_t { buy, sell };
struct point {
  double x, y;
};
QUERY_RECORD(point, x, y);
struct row {
  std::int32_t symbol;
  double price;
  std::int64_t qty;
  float weight;
  std::uint32_t lots;
  std::uint64_t total;
  bool hot;
  char grade;
  side way;
  std::string name;
  std::optional<double> fee;
  std::optional<std::string> note;
  std::optional<point> at;
  point home;
  std::array<std::int32_t, 3> legs;
  std::vector<double> marks;
  std::int32_t in;
};
QUERY_RECORD(row, symbol, price, qty, weight, lots, total, hot, grade, way, name, fee, note, at, home, legs, marks, in);

struct person {
  std::chrono::year_month_day born;
  std::optional<std::chrono::year_month_day> died;
};
QUERY_RECORD(person, born, died);

template <class... V> std::string shown(const std::string& text, const V&... values) {
  try {
    return show(query::ir::typed_text::condition_of(query::parsed(text, values...), describe<row>()).root);
  } catch (const fault& f) {
    return "fault at " + std::to_string(f.at) + ", " + std::to_string(f.length) + ": " + f.why;
  }
}
std::string key(const std::string& text) {
  try {
    std::string all;
    for (const auto& k : query::ir::typed_text::sort_keys_of({text, {}}, describe<row>())) {
      all += (all.empty() ? "" : "; ") + show(k.key.root) + (k.descending ? " desc" : "");
      if (k.nulls_first) all += *k.nulls_first ? " nulls first" : " nulls last";
    }
    return all;
  } catch (const fault& f) {
    return "fault at " + std::to_string(f.at) + ": " + f.why;
  }
}

TEST(typed_text, operators_bind_as_in_sql) {
  EXPECT_EQ(shown("price > 3 and symbol in (7, 9)"), "((price > 3.0) && ((symbol == 7) || (symbol == 9)))");
  EXPECT_EQ(shown("hot or price > 1 and qty < 2"), "(hot || ((price > 1.0) && (qty < 2)))");
  EXPECT_EQ(shown("(hot or price > 1) and qty < 2"), "((hot || (price > 1.0)) && (qty < 2))");
  EXPECT_EQ(shown("not hot and not not (qty < 2)"), "iff(hot, false, (qty < 2))");
  EXPECT_EQ(shown("price + 2 * qty - 1 > 0"), "(((price + f64((2 * qty))) - 1.0) > 0.0)");
  EXPECT_EQ(shown("-price * -2 < - - 3"), "((-price * -2.0) < 3.0)");
  EXPECT_EQ(shown("qty between 1 + 1 and 5"), "((qty >= 2) && (qty <= 5))");
  EXPECT_EQ(shown("PRICE > 1"), "fault at 0, 5: no field `PRICE`; did you mean `price`?");
  EXPECT_EQ(shown("price > 1 AND Not hot"), shown("price > 1 and not hot"));
  EXPECT_EQ(shown("price > 1 && !hot || qty == 2"), shown("price > 1 and not hot or qty = 2"));
  EXPECT_EQ(shown("qty <> 1"), shown("qty != 1"));
}

TEST(typed_text, numbers_meet_as_in_cpp) {
  EXPECT_EQ(shown("weight > 0.1"), "(f64(weight) > 0.1)");
  EXPECT_EQ(shown("symbol * 2 > qty"), "(i64((symbol * 2)) > qty)");
  EXPECT_EQ(shown("symbol / 2 = 1"), "((symbol / 2) == 1)");
  EXPECT_EQ(shown("qty > 2.5e3"), "(f64(qty) > 2500.0)");
  EXPECT_EQ(shown("qty > 3000000000"), "(qty > 3000000000)");
  EXPECT_EQ(shown("symbol > 3000000000"), "(i64(symbol) > 3000000000)");
  EXPECT_EQ(shown("qty = -9223372036854775808"), "(qty == -9223372036854775808)");
  EXPECT_EQ(shown("qty > 2 * 3 + 1"), "(qty > 7)");
  EXPECT_EQ(shown("qty > 2000000000 * 2"), "(qty > 4000000000)");
  EXPECT_EQ(shown("hot = 1"), "(i32(hot) == 1)");
}

TEST(typed_text, functions_are_called_in_any_case) {
  EXPECT_EQ(shown("MAX(price, 1) > 2"), shown("max(price, 1) > 2"));
  EXPECT_EQ(shown("Min(price, 1) > 2 and LENGTH(name) > 1"), shown("min(price, 1) > 2 and length(name) > 1"));
  EXPECT_EQ(shown("SUM(price) > 2"), "fault at 0, 3: aggregates are of groups, not of rows");
}

TEST(typed_text, signed_and_unsigned_numbers_are_compared_by_value) {
  EXPECT_EQ(shown("lots > 3"), "(lots > 3)");
  EXPECT_EQ(shown("lots > -1"), "(i64(lots) > -1)");
  EXPECT_EQ(shown("lots = symbol"), "(i64(lots) == i64(symbol))");
  EXPECT_EQ(shown("total > -1"), "true");
  EXPECT_EQ(shown("-1 >= total"), "false");
  EXPECT_EQ(shown("qty < total"), "((qty < 0) || (u64(qty) < total))");
  EXPECT_EQ(shown("total < qty"), "iff((qty < 0), false, (u64(qty) > total))");
}

TEST(typed_text, fields_are_found_by_path) {
  EXPECT_EQ(shown("home.x > 1"), "(home.x > 1.0)");
  EXPECT_EQ(shown("legs[2] > 1"), "(legs[2] > 1)");
  EXPECT_EQ(shown("at.x > 1"), "(has_value(at) && (value(at).x > 1.0))");
  EXPECT_EQ(shown("\"in\" in (1)"), "(in == 1)");
  EXPECT_EQ(shown("\"price\" > 1"), "(price > 1.0)");
  EXPECT_EQ(shown("grade = 'A'"), "(grade == 65)");
  EXPECT_EQ(shown("way = 1"), "(way == 1)");
  EXPECT_EQ(shown("size(marks) > 1"), "(size(marks) > 1)");
  EXPECT_EQ(shown("length(marks) > 1 and size(name) > 1"), "((size(marks) > 1) && (size(name) > 1))");
  EXPECT_EQ(shown("length(name) > 1"), "(length(name) > 1)");
}

TEST(typed_text, nulls_follow_sql) {
  EXPECT_EQ(shown("fee > 1"), "(has_value(fee) && (value(fee) > 1.0))");
  EXPECT_EQ(shown("not fee > 1"), "(has_value(fee) && !(value(fee) > 1.0))");
  EXPECT_EQ(shown("fee is null"), "!has_value(fee)");
  EXPECT_EQ(shown("fee is not null"), "has_value(fee)");
  EXPECT_EQ(shown("price is null"), "false");
  EXPECT_EQ(shown("coalesce(fee, 0) > 1"), "(iff(has_value(fee), value(fee), 0.0) > 1.0)");
  EXPECT_EQ(shown("note like 'a%'"), "(has_value(note) && starts_with(value(note), \"a\"))");
}

TEST(typed_text, strings_end_at_their_quote) {
  EXPECT_EQ(shown("name = 'it''s'"), "(name == \"it's\")");
  EXPECT_EQ(shown("name = ''"), "(name == \"\")");
  EXPECT_EQ(shown("name = '--; drop table x' or name = '\"'"), "((name == \"--; drop table x\") || (name == \"\\\"\"))");
  EXPECT_EQ(shown("name like '%a%' and name like 'a%b'"),
            "(contains(name, \"a\") && ((starts_with(name, \"a\") && ends_with(name, \"b\")) && (size(name) >= 2)))");
  EXPECT_EQ(shown("name like 'a_' or name like 'a%b%c'"), "(like(name, \"a_\") || like(name, \"a%b%c\"))");
  EXPECT_EQ(shown("rtrim(name, '.') = ltrim(note)"),
            "(has_value(note) && (trim_end(name, \".\") == trim_start(value(note), \" \\t\\n\\x0b\\x0c\\r\")))");
  EXPECT_EQ(shown("name = 'a"), "fault at 7, 1: a string begins here and does not end: ' is missing");
}

TEST(typed_text, values_are_bound) {
  EXPECT_EQ(shown("price > ? and name = ?", 3, "x' or 'x' = 'x"), "((price > 3.0) && (name == \"x' or 'x' = 'x\"))");
  EXPECT_EQ(shown("price > $2 and qty < $2 and name = $1", std::string("n"), 2), "((price > 2.0) && ((qty < 2) && (name == \"n\")))");
  EXPECT_EQ(shown("way = ?", side::sell), "(way == 1)");
  EXPECT_EQ(shown("price > ?"), "fault at 8, 1: no value is given for this parameter: query::parsed(text, values...) has 0");
  EXPECT_EQ(shown("price > ?", 1, 2), "fault at 0, 9: the text names 1 values, and 2 are given");
  EXPECT_EQ(shown("price > $0", 1), "fault at 8, 2: parameters are numbered from $1 on");
  EXPECT_EQ(shown("price > ? and qty < $1", 1), "fault at 20, 2: parameters are either `?` or `$1`, not both in one text");
}

TEST(typed_text, sort_keys_have_directions) {
  EXPECT_EQ(key("price desc, symbol"), "price desc; symbol");
  EXPECT_EQ(key("fee nulls first, note desc nulls last, lower(name) asc"), "fee nulls first; note desc nulls last; lower(name)");
  EXPECT_EQ(key("fee * 2"), "iff(has_value(fee), some((value(fee) * 2.0)), null)");
  EXPECT_EQ(key("price > 3"), "(price > 3.0)");
  EXPECT_EQ(key("home"), "fault at 0: a sort key is a number or a string, and this is a record");
  EXPECT_EQ(key("price up"), "fault at 6: the text goes on where it should end: `and`, `or` or an operator is missing before this");
  EXPECT_EQ(key(""), "fault at 0: the text ends here, and a value is missing");
}

TEST(typed_text, faults_name_place_and_fix) {
  EXPECT_EQ(shown("prize > 3"), "fault at 0, 5: no field `prize`; did you mean `price`?");
  EXPECT_EQ(shown("price_of_it > 3"), "fault at 0, 11: no field `price_of_it`; did you mean `price`?");
  EXPECT_EQ(shown("name = \"Ada Lovelace\""), "fault at 7, 14: no field `Ada Lovelace`; strings stand in single quotes, 'Ada Lovelace'");
  EXPECT_EQ(shown("home.z > 3"), "fault at 5, 1: no field `z`; did you mean `x`?");
  EXPECT_EQ(shown("price > 'a'"),
            "fault at 6, 1: a number is not compared with a string; strings stand in quotes, 'abc', and numbers do not");
  EXPECT_EQ(shown("price"), "fault at 0, 5: a condition is needed here, and this is a number; compare it, as in `... <> 0`");
  EXPECT_EQ(shown("qty / 0 > 1"), "fault at 6, 1: an integer is divided by 0");
  EXPECT_EQ(shown("price % 2 = 0"), "fault at 6, 1: % takes integers; of others, write fmod(a, b)");
  EXPECT_EQ(shown("fee = null"), "fault at 6, 4: null has no value: write `... is null`, `... is not null`, or coalesce(a, b)");
  EXPECT_EQ(shown("1 < price < 3"), "fault at 10, 1: comparisons do not follow each other: write `a < b and b < c`");
  EXPECT_EQ(shown("(price > 3"), "fault at 0, 1: this is not closed: `)` is missing at the end");
  EXPECT_EQ(shown("price > 3)"), "fault at 9, 1: the text goes on where it should end: `and`, `or` or an operator is missing before this");
  EXPECT_EQ(shown("price >"), "fault at 7, 0: the text ends here, and a value is missing");
  EXPECT_EQ(shown(""), "fault at 0, 0: the text ends here, and a value is missing");
  EXPECT_EQ(shown("flor(price) > 1"), "fault at 0, 4: no function `flor`; did you mean `floor`?");
  EXPECT_EQ(shown("floor(price, 1) > 1"), "fault at 0, 15: `floor` takes 1 argument, and here are 2");
  EXPECT_EQ(shown("in > 1"), "fault at 0, 2: a value is missing before `in`; the field of that name is written \"in\"");
  EXPECT_EQ(shown("legs > 1"), "fault at 0, 4: this is an array, which is not compared as a whole; name an element, as in `x[0]`");
  EXPECT_EQ(shown("legs[3] > 1"), "fault at 5, 1: the array has elements 0 to 2");
  EXPECT_EQ(shown("price > 1e999"), "fault at 8, 5: this number is beyond the range of double");
  EXPECT_EQ(shown("price > 3x"), "fault at 8, 2: this is neither a number nor a name: names begin with a letter");
  EXPECT_EQ(shown("price # 3"), "fault at 6, 1: this sign has no meaning here");
  EXPECT_EQ(shown("qty > 99999999999999999999"),
            "fault at 6, 20: this number has more than 64 bits; with a point, as in 1e20 or 1.0, it is a double");
  EXPECT_EQ(shown("trim(name, 'a', 'b') = ''"), "fault at 0, 20: `trim` takes 1 or 2 arguments, and here are 3");
  EXPECT_TRUE(shown("matches(name, 'a(b')").starts_with("fault at 14, 5: matches: ")) << shown("matches(name, 'a(b')");
}

TEST(typed_text, dates_are_refused_with_their_parts) {
  using namespace std::chrono;
  const std::vector<person> people{{year_month_day(year(1906), month(12), day(9)), {}}};
  const auto rows = query::from(people);
  const auto error = [](const auto& f) -> std::string {
    try {
      (void)f();
    } catch (const query::text_error& e) {
      return e.what();
    }
    return "no error";
  };
  const std::string whole = "where: this is a date, which is not compared as a whole; compare its parts, ";
  EXPECT_TRUE(error([&] { return rows.where("born > '1900-01-01'"); }).starts_with(whole + "born.year, born.month, born.day\n"));
  EXPECT_TRUE(error([&] { return rows.where("died > '1900-01-01'"); }).starts_with(whole + "died.year, died.month, died.day\n"));
  EXPECT_TRUE(error([&] { return rows.order_by("born"); })
                  .starts_with("order_by: a sort key is a number or a string, and this is a date; sort by its parts, born.year, "
                               "born.month, born.day\n"));
  EXPECT_EQ(rows.where("born.year > 1900 and born.month = 12").order_by("born.year, born.day desc").count(), 1);
}

// As in CSV.
TEST(typed_text, numbers_that_are_too_close_to_zero_are_zero) {
  const std::string zeros(400, '0'), zero = shown("price > 0.0");
  for (const std::string& tiny : {"0." + zeros + "1", "0." + zeros + "1e5", "1" + zeros + "e-800", std::string("1e-999")})
    EXPECT_EQ(shown("price > " + tiny), zero) << tiny;
  const std::string large = "1" + zeros + ".0";
  EXPECT_EQ(shown("price > " + large), "fault at 8, 403: this number is beyond the range of double");
}

TEST(typed_text, errors_show_the_text) {
  const std::vector<point> points{{1, 2}};
  try {
    (void)query::from(points).where("x > 1\n  and z > 2");
    FAIL();
  } catch (const query::text_error& e) {
    EXPECT_EQ(std::string(e.what()).substr(0, 73), "where: no field `z`; did you mean `x`?\n      and z > 2\n          ^ (typed");
    EXPECT_EQ(e.position, 12u);
    EXPECT_EQ(e.length, 1u);
  }
  const std::string before(500, ' ');
  try {
    (void)query::from(points).order_by(before + "x, q\xc3\xbc desc" + before);
    FAIL();
  } catch (const query::text_error& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("..."), what.npos);
    EXPECT_LT(what.size(), 400u);
    EXPECT_EQ(e.position, 503u);
  }
}

TEST(typed_text, deep_and_long_texts_end_in_an_error) {
  const auto is_fault = [](const std::string& s) { return s.starts_with("fault at "); };
  EXPECT_TRUE(is_fault(shown(std::string(1'000'000, '('))));
  EXPECT_TRUE(is_fault(shown(std::string(60'000, '('))));
  EXPECT_TRUE(is_fault(shown(std::string(60'000, '-') + "1 > 0")));
  EXPECT_TRUE(is_fault(shown(std::string(15'000, '!') + "hot")));
  std::string sum = "qty", conditions = "hot", values = "qty in (0", nested = "hot", calls = "price";
  for (int i = 1; i < 5000; ++i) sum += " + qty";
  EXPECT_TRUE(is_fault(shown(sum + " > 0")));
  for (int i = 1; i < 3000; ++i) conditions += " or qty = " + std::to_string(i);
  EXPECT_FALSE(is_fault(shown(conditions)));
  for (int i = 1; i < 1000; ++i) values += ", " + std::to_string(i);
  EXPECT_FALSE(is_fault(shown(values + ")")));
  EXPECT_TRUE(is_fault(shown(values + ", 1)")));
  for (int i = 0; i < 90; ++i) nested = "(" + nested + " and qty > 1 or price < 2)";
  (void)shown(nested);
  for (int i = 0; i < 500; ++i) calls = "abs(" + calls + ")";
  EXPECT_TRUE(is_fault(shown(calls + " > 1")));
  std::string joined = "name";
  for (int i = 0; i < 16; ++i) joined += " + name";
  EXPECT_FALSE(is_fault(shown(joined + " = 'a'")));
  EXPECT_EQ(shown(joined + " + name = 'a'"), "fault at 117, 1: more than 16 strings are joined by + in one text");
  EXPECT_TRUE(is_fault(shown(joined + " = 'a' or name + 'b' = 'c'")));
  std::string nots;
  for (int i = 0; i < 10'001; ++i) nots += "not ";
  EXPECT_EQ(shown(nots + "hot"), "!hot");
}

// Any text gives an expression, or an error that points into it.
TEST(typed_text, random_texts_do_no_harm) {
  const std::vector<std::string> words = {
      "price", "symbol", "qty",  "fee",  "note", "name",  "hot",   "home", ".",    "x",    "legs",  "[",      "]",     "1",   "0",
      "2.5",   "'a'",    "'%a'", "''",   "(",    ")",     ",",     "and",  "or",   "not",  "in",    "like",   "is",    "null", "between",
      "=",     "<>",     "<",    ">=",   "+",    "-",     "*",     "/",    "%",    "!",    "abs",   "lower",  "size",  "min", "coalesce",
      "iff",   "true",   "?",    "$1",   "desc", "nulls", "first", "\"",   "'",    "\n",   "\xff",  "way",    "grade", "at",  "marks",
      "total", "lots",   "-1",   "18446744073709551615", "9223372036854775808", "weight", "1e308", "isnan"};
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 g(seed);
  std::vector<row> rows(40);
  for (row& r : rows) {
    r.symbol = static_cast<std::int32_t>(g() % 5) - 2;
    r.price = g() % 4 ? static_cast<double>(g() % 9) : std::numeric_limits<double>::quiet_NaN();
    r.qty = g() % 4 ? static_cast<std::int64_t>(g() % 5) : std::numeric_limits<std::int64_t>::min();
    r.total = g() % 4 ? g() % 5 : std::numeric_limits<std::uint64_t>::max();
    r.name = g() % 2 ? "a" : "";
    if (g() % 2) r.fee = 1.5;
    if (g() % 2) r.note = "x";
    if (g() % 2) r.at = point{1, 2};
  }
  int right = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string text;
    if (i % 3) {
      for (std::size_t n = g() % 12; n > 0; --n) text += words[g() % words.size()] + " ";
    } else {  // a right one, with one change
      text = "price > 3 and (symbol in (7, 9) or not fee < 2.5) and name like 'a%' and coalesce(note, name) <> 'x' and legs[1] = 2";
      const std::size_t at = g() % text.size();
      if (g() % 2) text.erase(at, 1 + g() % 4);
      else text[at] = static_cast<char>(g() % 256);
    }
    const bool named = text.find_first_of("?$") != text.npos;
    const query::text_expression given = named ? query::parsed(text, 1) : query::parsed(text);
    for (const bool keys : {false, true}) {
      try {
        if (keys) (void)query::ir::typed_text::sort_keys_of(given, describe<row>());
        else if (query::ir::typed_text::condition_of(given, describe<row>()).root) {
          ++right;
          (void)query::from(rows).where(given).count();
        }
      } catch (const fault& f) {
        ASSERT_LE(f.at, text.size()) << text;
        ASSERT_LE(f.at + f.length, text.size()) << text << ": " << f.why;
        ASSERT_FALSE(f.why.empty());
        (void)query::ir::typed_text::show_fault(text, f);
      } catch (const query::user_error&) {  // a division by zero
      }
    }
  }
  EXPECT_GT(right, 100);
}

}  // namespace typed_text_test
