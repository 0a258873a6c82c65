#include "data/row_tests.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace query::data {
namespace {

using is = row_test::is;

long double number_of(const test_value& v) {
  switch (v.what) {
    case test_value::is::signed_integer: return static_cast<long double>(static_cast<std::int64_t>(v.bits));
    case test_value::is::unsigned_integer: return static_cast<long double>(v.bits);
    default: return static_cast<long double>(std::bit_cast<double>(v.bits));
  }
}
// Then numbers of different kinds are compared exactly.
constexpr bool holds_integers = std::numeric_limits<long double>::digits >= 64;

bool may_hold(const row_test& t, const value_range& r) {
  if (r.rows == 0) return false;
  if (t.how == is::null) return !r.nulls || *r.nulls > 0;
  if (r.nulls && *r.nulls >= r.rows) return false;  // nulls pass no comparison
  if (t.how == is::present || !r.least || !r.most) return true;
  const std::optional<int> low = compare(*r.least, t.value), high = compare(*r.most, t.value);
  if (!low || !high) return true;
  switch (t.how) {
    case is::eq: return *low <= 0 && *high >= 0;
    case is::ne: return *low != 0 || *high != 0;
    case is::lt: return *low < 0;
    case is::le: return *low <= 0;
    case is::gt: return *high > 0;
    case is::ge: return *high >= 0;
    default: return true;
  }
}

std::string show(const test_value& v) {
  switch (v.what) {
    case test_value::is::signed_integer: return std::to_string(static_cast<std::int64_t>(v.bits));
    case test_value::is::unsigned_integer: return std::to_string(v.bits);
    case test_value::is::floating: {
      std::string s = std::to_string(std::bit_cast<double>(v.bits));
      s.erase(s.find_last_not_of('0') + 1);
      if (s.ends_with('.')) s.pop_back();
      return s;
    }
    case test_value::is::text: return "\"" + v.text + "\"";
    default: return "";
  }
}
std::string show(const row_test& t) {
  constexpr const char* signs[] = {" = ", " != ", " < ", " <= ", " > ", " >= ", " is null", " is not null"};
  return t.field + signs[static_cast<std::size_t>(t.how)] + show(t.value);
}

}  // namespace

test_value test_value::of(double x) { return {is::floating, std::bit_cast<std::uint64_t>(x)}; }

std::optional<int> compare(const test_value& a, const test_value& b) {
  using kind = test_value::is;
  if (a.what == kind::nothing || b.what == kind::nothing || (a.what == kind::text) != (b.what == kind::text)) return std::nullopt;
  const auto sign = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (a.what == kind::text) return sign(a.text, b.text);
  if (a.what == kind::signed_integer && b.what == kind::signed_integer)
    return sign(static_cast<std::int64_t>(a.bits), static_cast<std::int64_t>(b.bits));
  if (a.what == kind::unsigned_integer && b.what == kind::unsigned_integer) return sign(a.bits, b.bits);
  if (!holds_integers && a.what != b.what) return std::nullopt;
  const long double x = number_of(a), y = number_of(b);
  if (x != x || y != y) return std::nullopt;
  return sign(x, y);
}

bool may_pass(const row_tests& tests, const std::function<value_range(const std::string& field)>& range_of) {
  return tests.empty() || std::any_of(tests.begin(), tests.end(), [&](const std::vector<row_test>& all) {
    return std::all_of(all.begin(), all.end(), [&](const row_test& t) { return may_hold(t, range_of(t.field)); });
  });
}

std::string show(const row_tests& tests) {
  std::string text;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    if (i) text += " or ";
    for (std::size_t j = 0; j < tests[i].size(); ++j) text += (j ? " and " : "") + show(tests[i][j]);
  }
  return text;
}

}  // namespace query::data
