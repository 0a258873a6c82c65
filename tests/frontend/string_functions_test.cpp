// The functions of query/strings.hpp on plain strings: what they answer on empty, long and broken ones.
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <query/errors.hpp>
#include <query/functions.hpp>

#include "regular_expressions.hpp"

namespace {

using namespace std::string_literals;
using strings = std::vector<std::string>;

TEST(string_functions, count_code_points) {
  EXPECT_EQ(query::length(""), 0u);
  EXPECT_EQ(query::length("abc"s), 3u);
  EXPECT_EQ(query::length("h\u00e9\u20ac\U0001F600"), 4u);
  EXPECT_EQ(query::length("a\0b"s), 3u);
  EXPECT_EQ(query::length("\x80\x80"), 1u);         // the first byte begins one, whatever it is
  EXPECT_EQ(query::length("\xff\xff\x80z"), 3u);    // no UTF-8
  EXPECT_EQ(query::length(std::string(100'000, 'x')), 100'000u);
  EXPECT_EQ(query::substring("h\u00e9\u20acz", 1, 2), "\u00e9\u20ac");
  EXPECT_EQ(query::substring("h\u00e9\u20acz", 3), "z");
  EXPECT_EQ(query::substring("abc", 3, 1), "");
  EXPECT_EQ(query::substring("abc", 7, 1), "");
  EXPECT_EQ(query::substring("abc"s, 0, 0), "");
  EXPECT_EQ(query::substring("\x80\x80z", 1), "z");
  EXPECT_EQ(query::substr("h\u00e9z", 1, 2), "\u00e9");  // in bytes
  EXPECT_THROW(query::substr("abc", 4), std::out_of_range);
}

TEST(string_functions, trim_characters) {
  EXPECT_EQ(query::trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(query::trim_start(" \t a b\r\n"), "a b\r\n");
  EXPECT_EQ(query::trim_end(" \t a b\r\n"), " \t a b");
  EXPECT_EQ(query::trim(""), "");
  EXPECT_EQ(query::trim("   "), "");
  EXPECT_EQ(query::trim("--x-", "-"), "x");
  EXPECT_EQ(query::trim("\u00e9a\u00e9", "\u00e9"), "a");
  EXPECT_EQ(query::trim("\u00e8a", "\u00e9"), "\u00e8a");  // another one that begins with the same byte
  EXPECT_EQ(query::trim(" a ", ""), " a ");
  EXPECT_EQ(query::trim("\0a\0"s, "\0"s), "a");
  EXPECT_EQ(query::trim("\xa9 ", " \u00e9"), "\xa9");  // not the end of the e
}

TEST(string_functions, replace_from_left_to_right) {
  EXPECT_EQ(query::replace("aaa", "aa", "b"), "ba");
  EXPECT_EQ(query::replace("a,b,c", ",", ""), "abc");
  EXPECT_EQ(query::replace("abc", "", "x"), "abc");
  EXPECT_EQ(query::replace("", "a", "b"), "");
  EXPECT_EQ(query::replace("abc", "z", "b"), "abc");
  EXPECT_EQ(query::replace("a\0b"s, "\0"s, "--"), "a--b");
}

TEST(string_functions, split_keeps_empty_parts) {
  EXPECT_EQ(query::split("a,b,,c", ","), (strings{"a", "b", "", "c"}));
  EXPECT_EQ(query::split("a,b", ','), (strings{"a", "b"}));
  EXPECT_EQ(query::split(",", ","), (strings{"", ""}));
  EXPECT_EQ(query::split("", ","), (strings{""}));
  EXPECT_EQ(query::split("a--b-c", "--"), (strings{"a", "b-c"}));
  EXPECT_EQ(query::split("a\u00e9", ""), (strings{"a", "\u00e9"}));
  EXPECT_EQ(query::split("", ""), strings{});
  EXPECT_EQ(query::split("a\0b"s, "\0"s), (strings{"a", "b"}));
}

TEST(string_functions, cases_are_unicodes) {
  EXPECT_EQ(query::lower("QuerY 1"), "query 1");
  EXPECT_EQ(query::upper("QuerY 1 that is long"), "QUERY 1 THAT IS LONG");
  EXPECT_EQ(query::upper("\u00e9\u00df\u044f\u03c3\u03c2"), "\u00c9\u00df\u042f\u03a3\u03a3");
  EXPECT_EQ(query::lower("\u00c9\u0130\u042f\u03a3\u1e9e"), "\u00e9i\u044f\u03c3\u00df");
  EXPECT_EQ(query::lower("\U00010400"), "\U00010428");
  EXPECT_EQ(query::upper("\u2c65"), "\u023a");  // three bytes become two
  EXPECT_EQ(query::upper("a\xff\xc3z\x80"), "A\xff\xc3Z\x80");
  EXPECT_EQ(query::upper("\xed\xa0\x80q"), "\xed\xa0\x80Q");  // a surrogate
  EXPECT_EQ(query::lower(""), "");
  EXPECT_EQ(query::lower("A\0\u00c9"s), "a\0\u00e9"s);
  EXPECT_EQ(query::to_lower("\u00c9A"), "\u00c9""a");
}

TEST(string_functions, like_follows_sql) {
  EXPECT_TRUE(query::like("", ""));
  EXPECT_TRUE(query::like("", "%"));
  EXPECT_FALSE(query::like("", "_"));
  EXPECT_TRUE(query::like("abc", "a%"));
  EXPECT_TRUE(query::like("abc", "a_c"));
  EXPECT_TRUE(query::like("abc", "%b%"));
  EXPECT_FALSE(query::like("abc", "b"));
  EXPECT_FALSE(query::like("abc", "abc_"));
  EXPECT_TRUE(query::like("abcabd", "%ab_"));
  EXPECT_TRUE(query::like("aXbXc", "a%X%c"));
  EXPECT_FALSE(query::like("aXbXd", "a%X%c"));
  EXPECT_TRUE(query::like("\u20ac", "_"));
  EXPECT_FALSE(query::like("\u20ac", "%__"));  // one code point, though three bytes
  EXPECT_TRUE(query::like("a\0b"s, "a_b"));
  EXPECT_TRUE(query::like("100%", "100%"));
  EXPECT_FALSE(query::like(std::string(20'000, 'a'), "%a%a%a%a%b"));
}

TEST(string_functions, numbers_become_texts_and_back) {
  EXPECT_EQ(query::to_string(-7), "-7");
  EXPECT_EQ(query::to_string(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(query::to_string(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(query::to_string(0.1), "0.1");
  EXPECT_EQ(query::to_string(0.1f), "0.1");
  EXPECT_EQ(query::to_string(-0.0), "-0");
  EXPECT_EQ(query::to_string(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(query::to_string(-std::numeric_limits<double>::denorm_min()), "-5e-324");
  EXPECT_EQ(query::to_string(true), "true");
  EXPECT_EQ(query::parse<int>("42"), 42);
  EXPECT_EQ(query::parse<int>("-2147483648"), std::numeric_limits<int>::min());
  EXPECT_EQ(query::parse<int>("2147483648"), std::nullopt);
  EXPECT_EQ(query::parse<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(query::parse<unsigned>("-1"), std::nullopt);
  EXPECT_EQ(query::parse<long long>("7"s), 7);
  EXPECT_EQ(query::parse<double>("1e3"), 1000.0);
  EXPECT_EQ(query::parse<float>("0.5"), 0.5f);
  EXPECT_EQ(query::parse<double>("1e999"), std::nullopt);
  EXPECT_EQ(query::parse<double>(std::string(400, '9')), std::nullopt);
  // Too close to zero is zero, as in files and text conditions.
  EXPECT_EQ(query::parse<double>("1e-400"), 0.0);
  EXPECT_EQ(query::parse<float>("0." + std::string(400, '0') + "7"), 0.0f);
  EXPECT_TRUE(std::signbit(query::parse<double>("-1e-400").value_or(1)));
  for (const char* no : {"", " 1", "1 ", "+1", "1x", "x", "0x10", "1,000"}) EXPECT_EQ(query::parse<int>(no), std::nullopt) << no;
  EXPECT_EQ(query::parse<int>("1\0"s), std::nullopt);
}

template <class F> std::string message_of(F f) {
  try {
    f();
  } catch (const query::user_error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(string_functions, regular_expressions) {
  QUERY_SKIP_WITHOUT_REGULAR_EXPRESSIONS();
  EXPECT_TRUE(query::matches("abc123", "[0-9]+"));
  EXPECT_FALSE(query::matches("abc123", "^[0-9]+$"));
  EXPECT_TRUE(query::matches("", ""));
  EXPECT_TRUE(query::matches("a\0b"s, "a.b"));
  EXPECT_TRUE(query::matches("\u20ac", "^.$"));
  EXPECT_FALSE(query::matches("\xff", "^.$"));
  EXPECT_EQ(query::regex_replace("a1b22", "[0-9]+", "<\\0>"), "a<1>b<22>");
  EXPECT_EQ(query::regex_replace("John Smith", "(\\w+) (\\w+)", "\\2, \\1"), "Smith, John");
  EXPECT_EQ(query::regex_replace("abc", "z", "y"), "abc");
  EXPECT_EQ(query::regex_extract("key=value", "(\\w+)=(\\w+)"), "key=value");
  EXPECT_EQ(query::regex_extract("key=value", "(\\w+)=(\\w+)", 2), "value");
  EXPECT_EQ(query::regex_extract("key", "(\\w+)=(\\w+)", 2), std::nullopt);
  EXPECT_EQ(query::regex_extract("b", "(a)|b", 1), std::nullopt);
  EXPECT_EQ(query::regex_extract("b", "(a*)b", 1), "");
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(query::matches("x" + std::to_string(i), "^x" + std::to_string(i) + "$"));  // more than are kept
}

TEST(string_functions, wrong_regular_expressions_are_named) {
  QUERY_SKIP_WITHOUT_REGULAR_EXPRESSIONS();
  EXPECT_EQ(message_of([] { (void)query::matches("a", "a(b"); }), "matches: the regular expression `a(b` is wrong: missing ): a(b");
  EXPECT_EQ(message_of([] { (void)query::regex_extract("a", "(a)", 2); }),
            "regex_extract: there is no such group; `(a)` has the groups 0 to 1");
  EXPECT_TRUE(message_of([] { (void)query::regex_replace("a", "(a)", "\\2"); })
                  .starts_with("regex_replace: the rewrite `\\2` does not fit `(a)`: "));
}

}  // namespace
