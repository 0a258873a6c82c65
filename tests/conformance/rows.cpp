#include "conformance/rows.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace conformance {

namespace {

using generator = std::mt19937_64;
using i32_limits = std::numeric_limits<std::int32_t>;
using i64_limits = std::numeric_limits<std::int64_t>;
using f64_limits = std::numeric_limits<double>;

generator random_numbers(std::uint64_t which) { return generator(seed() * 1000 + which); }
int below(generator& g, int n) { return static_cast<int>(g() % static_cast<std::uint64_t>(n)); }

// About half of the rows have the first key, a quarter the second...
std::int32_t skewed(generator& g, std::size_t n) {
  const double u = static_cast<double>(g() >> 11) / 9007199254740992.0;
  return static_cast<std::int32_t>(std::pow(static_cast<double>(n), u)) - 1;
}

trade plain_trade(generator& g, std::size_t i, std::int32_t key) {
  static const std::string names[] = {
      "", "a", "ab", "abc", "exactly15 chars", "exactly 16 chars", "a name that is longer than any inline buffer"};
  trade t;
  t.id = static_cast<std::int32_t>(i);
  t.key = key;
  t.amount = below(g, 2001) - 1000;
  t.price = below(g, 8001) / 8.0 - 500;
  t.name = names[below(g, 7)];
  if (below(g, 4)) t.lot = below(g, 10);
  if (below(g, 3) == 0) t.note = names[below(g, 7)];
  t.way = std::array{side::buy, side::none, side::sell}[static_cast<std::size_t>(below(g, 3))];
  t.hot = below(g, 2) == 0;
  t.legs = {below(g, 3), below(g, 3), key % 5};
  return t;
}

template <class Key, class Change> data_set<trade> make_trades(std::string name, std::size_t n, Key key, Change change) {
  generator g = random_numbers(n);
  data_set<trade> d{std::move(name), {}};
  for (std::size_t i = 0; i < n; ++i) {
    d.rows.push_back(plain_trade(g, i, key(g, i)));
    change(g, d.rows.back());
  }
  return d;
}

tick make_tick(generator& g, std::size_t i, std::int32_t key) {
  return {static_cast<std::int32_t>(i), key, below(g, 2001) - 1000, below(g, 8001) / 8.0 - 500};
}

data_set<tick> make_ticks(std::size_t n, const char* keys) {
  generator g = random_numbers(n + static_cast<unsigned char>(keys[0]));
  data_set<tick> d{std::to_string(n) + " rows, " + keys + " keys", {}};
  d.rows.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::int32_t key = below(g, 7) - 3;
    if (keys[0] == 'd') key = static_cast<std::int32_t>((i * 2654435761u) & 0x7fffffff);
    if (keys[0] == 's') key = skewed(g, n);
    d.rows.push_back(make_tick(g, i, key));
  }
  return d;
}

void odd_floats(generator& g, trade& t) {
  const double odd[] = {0.0, -0.0, f64_limits::quiet_NaN(), -f64_limits::quiet_NaN(), f64_limits::infinity(), -f64_limits::infinity(),
                        f64_limits::denorm_min(), -f64_limits::denorm_min(), f64_limits::max(), f64_limits::lowest(), 1.0};
  t.price = odd[below(g, 11)];
}
void extremes(generator& g, trade& t) {
  const std::int32_t keys[] = {i32_limits::min(), i32_limits::max(), -1, 0, 1};
  const std::int64_t amounts[] = {i64_limits::min(), i64_limits::max(), -1, 0, 1};
  t.key = keys[below(g, 5)];
  t.amount = amounts[below(g, 5)];
  t.lot = keys[below(g, 5)];
  t.name = std::string(static_cast<std::size_t>(below(g, 2) * below(g, 5000)), static_cast<char>('a' + below(g, 3)));
  if (below(g, 2)) t.name += std::string("\0\xff", 2);
  t.legs = {keys[below(g, 5)], 0, keys[below(g, 5)]};
}
void mostly_null(generator& g, trade& t) {
  t.lot.reset();
  t.note.reset();
  if (below(g, 8) == 0) t.lot = below(g, 2);
  if (below(g, 8) == 0) t.note = below(g, 2) ? "" : "x";
}

}  // namespace

std::uint64_t seed() {
  static const std::uint64_t s = [] {
    const char* wanted = std::getenv("QUERY_TEST_SEED");
    const std::uint64_t n = wanted ? std::strtoull(wanted, nullptr, 10) : 20130711;
    std::printf("conformance: QUERY_TEST_SEED=%llu\n", static_cast<unsigned long long>(n));
    return n;
  }();
  return s;
}

const std::vector<data_set<trade>>& trades() {
  static const auto few = [](generator& g, std::size_t) { return below(g, 5) - 2; };
  static const auto as_is = [](generator&, trade&) {};
  static const std::vector<data_set<trade>> all = {
      make_trades("empty", 0, few, as_is),
      make_trades("one row", 1, few, as_is),
      make_trades("equal keys", 1100, [](generator&, std::size_t) { return 42; }, as_is),
      make_trades("few keys", 1500, few, as_is),
      make_trades("distinct keys", 1300, [](generator&, std::size_t i) { return static_cast<std::int32_t>(i * 7919 % 10007); }, as_is),
      make_trades("skewed keys", 1400, [](generator& g, std::size_t) { return skewed(g, 1400); }, as_is),
      make_trades("duplicates", 1200, few, [](generator& g, trade& t) {
        generator again(below(g, 20) + 1u);
        t = plain_trade(again, 0, 3);
      }),
      make_trades("odd floats", 1025, few, odd_floats),
      make_trades("nulls", 1024, few, mostly_null),
      make_trades("extremes", 1023, few, extremes),
  };
  return all;
}

const std::vector<data_set<tick>>& small_ticks() {
  static const std::vector<data_set<tick>> all = {make_ticks(0, "few"),    make_ticks(1, "few"),       make_ticks(2, "few"),
                                                  make_ticks(1023, "few"), make_ticks(1024, "distinct"), make_ticks(1025, "skewed")};
  return all;
}

const std::vector<data_set<tick>>& ticks() {
  static const std::vector<data_set<tick>> all = [] {
    std::vector<data_set<tick>> d = small_ticks();
    d.push_back(make_ticks(65535, "few"));
    d.push_back(make_ticks(65536, "distinct"));
    d.push_back(make_ticks(65537, "skewed"));
    d.push_back(make_ticks(200000, "distinct"));
    return d;
  }();
  return all;
}

const std::vector<data_set<rate>>& rates() {
  static const auto make = [](std::string name, std::size_t n, auto key, auto lot) {
    generator g = random_numbers(n + 77);
    data_set<rate> d{std::move(name), {}};
    for (std::size_t i = 0; i < n; ++i)
      d.rows.push_back(
          {key(g, i), static_cast<std::int64_t>(i), below(g, 2) ? "ab" : "a name that is longer than any inline buffer", lot(g)});
    return d;
  };
  static const auto some_lot = [](generator& g) { return below(g, 3) ? std::optional(below(g, 10)) : std::nullopt; };
  static const auto unique = [](generator&, std::size_t i) { return static_cast<std::int32_t>(i) - 3; };
  static const auto repeated = [](generator& g, std::size_t) { return below(g, 4) - 1; };
  static const std::vector<data_set<rate>> all = {
      make("no rates", 0, unique, some_lot),
      make("one rate", 1, repeated, some_lot),
      make("unique rates", 50, unique, some_lot),
      make("repeated rates", 9, repeated, some_lot),
      make("null rates", 6, repeated, [](generator&) { return std::optional<std::int32_t>(); }),
  };
  return all;
}

const std::vector<trade>& few_trades() { return trades()[3].rows; }
const std::vector<tick>& many_ticks() {
  static const std::vector<tick> rows = make_ticks(65537, "few").rows;
  return rows;
}

}  // namespace conformance
