// Orders of the user's: order_by, then_by, order, top, min, max, min_by, max_by with a less.
#include <functional>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

using query::nulls;

// By length, then backwards: neither is the library's order.
struct shorter {
  bool operator()(const std::string& a, const std::string& b) const { return a.size() != b.size() ? a.size() < b.size() : b < a; }
};
struct nearer {
  bool operator()(std::int64_t a, std::int64_t b) const { return a % 10 < b % 10; }
};
// NaNs first: a strict weak order of all doubles.
struct nan_first {
  bool operator()(double a, double b) const { return std::isnan(a) ? !std::isnan(b) : !std::isnan(b) && a < b; }
};

template <class T, class Key, class Less>
std::vector<T> sorted_by_less(std::vector<T> rows, Key key, Less less, bool descending, bool nulls_first) {
  std::stable_sort(rows.begin(), rows.end(), [&](const T& a, const T& b) {
    const auto x = key(a), y = key(b);
    if constexpr (query::ir::is_optional_v<std::decay_t<decltype(x)>>) {
      if (!x || !y) return nulls_first ? !x && y : x && !y;
      return descending ? less(*y, *x) : less(*x, *y);
    } else {
      return descending ? less(y, x) : less(x, y);
    }
  });
  return rows;
}

template <class Key, class Less> void check_order(const engine_config& e, const char* what, Key key, Less less) {
  SCOPED_TRACE(what);
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    EXPECT_ROWS(q.order_by(key, less).to_vector(), sorted_by_less(d.rows, key, less, false, false));
    EXPECT_ROWS(q.order_by(key, less, nulls::first).to_vector(), sorted_by_less(d.rows, key, less, false, true));
    const auto down = sorted_by_less(d.rows, key, less, true, false);
    EXPECT_ROWS(q.order_by_descending(key, less).to_vector(), down);
    EXPECT_ROWS(q.order_by_descending(key, less, nulls::first).to_vector(), sorted_by_less(d.rows, key, less, true, true));
    EXPECT_ROWS(q.select(key).order(less).to_vector(), selected(sorted_by_less(d.rows, key, less, false, false), key));
    EXPECT_ROWS(q.select(key).order_descending(less).to_vector(), selected(down, key));
    for (const std::size_t n : {0u, 1u, 7u, 2000u}) {
      const auto upto = static_cast<std::ptrdiff_t>(std::min(n, down.size()));
      EXPECT_ROWS(q.top(n, key, less).to_vector(), std::vector<trade>(down.begin(), down.begin() + upto));
    }
  }
}

CONFORMS(own_order, directions_nulls_and_stability, "order_by", "order_by_descending", "order", "order_descending", "top") {
  check_order(e, "text", [](const trade& t) { return t.name; }, shorter{});
  check_order(e, "null texts", [](const trade& t) { return t.note; }, shorter{});
  check_order(e, "null numbers", [](const trade& t) { return t.lot; }, [](std::int32_t a, std::int32_t b) { return a % 10 < b % 10; });
  check_order(e, "NaN", [](const trade& t) { return t.price; }, nan_first{});
}

CONFORMS(own_order, an_order_of_optionals_never_sees_a_null, "order_by", "then_by_descending") {
  const auto less = [](const auto& a, const auto& b) { return *a % 10 < *b % 10; };  // of optionals only
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto lot = [](const trade& t) { return t.lot; };
    EXPECT_ROWS(source(e, d.rows).order_by(lot, less).to_vector(), sorted_by_less(d.rows, lot, nearer{}, false, false));
    EXPECT_ROWS(source(e, d.rows).order_by([](const trade& t) { return t.hot; }).then_by_descending(lot, less).to_vector(),
                sorted_by_less(
                    sorted_by_less(d.rows, lot, nearer{}, true, false), [](const trade& t) { return t.hot; }, std::less<>{}, false, false));
  }
}

CONFORMS(own_order, every_key_has_its_order, "then_by", "then_by_descending") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto hot = [](const trade& t) { return t.hot; };
    const auto name = [](const trade& t) { return t.name; };
    const auto lot = [](const trade& t) { return t.lot; };
    const auto amount = [](const trade& t) { return t.amount; };
    // less, library, less descending with nulls first, less
    std::vector<trade> wanted = sorted_by_less(d.rows, amount, nearer{}, false, false);
    wanted = sorted_by_less(wanted, lot, nearer{}, true, true);
    wanted = sorted_by_less(wanted, hot, std::less<>{}, true, false);
    wanted = sorted_by_less(wanted, name, shorter{}, false, false);
    EXPECT_ROWS(source(e, d.rows)
                    .order_by(name, shorter{})
                    .then_by_descending(hot)
                    .then_by_descending(lot, nearer{}, nulls::first)
                    .then_by(amount, nearer{})
                    .to_vector(),
                wanted);
    // A library order first, which decides most.
    wanted = sorted_by_less(d.rows, name, shorter{}, true, false);
    wanted = sorted_by_less(wanted, hot, std::less<>{}, false, false);
    EXPECT_ROWS(source(e, d.rows).order_by(hot).then_by_descending(name, shorter{}).to_vector(), wanted);
    EXPECT_ROWS(source(e, d.rows).order_by(hot).then_by_descending(name, shorter{}).take(5).to_vector(),
                std::vector<trade>(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(5, wanted.size()))));
  }
}

CONFORMS(own_order, large_inputs_and_their_beginning, "order_by", "top") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto key = [](const tick& t) { return std::abs(t.amount); };
    const auto up = sorted_by_less(d.rows, key, nearer{}, false, false), down = sorted_by_less(d.rows, key, nearer{}, true, false);
    EXPECT_ROWS(source(e, d.rows).order_by(key, nearer{}).to_vector(), up);
    for (const std::size_t n : {1u, 100u}) {
      const auto upto = static_cast<std::ptrdiff_t>(std::min(n, d.rows.size()));
      EXPECT_ROWS(source(e, d.rows).order_by(key, nearer{}).take(n).to_vector(), std::vector<tick>(up.begin(), up.begin() + upto));
      EXPECT_ROWS(source(e, d.rows).where([](auto t) { return t.id >= 0; }).top(n, key, nearer{}).to_vector(),
                  std::vector<tick>(down.begin(), down.begin() + upto));
    }
  }
}

CONFORMS(own_order, smallest_and_largest, "min", "max", "min_by", "max_by", "reduce", "group_by.select") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    const auto name = [](const trade& t) { return t.name; };
    const auto lot = [](const trade& t) { return t.lot; };
    const auto by_name = sorted_by_less(d.rows, name, shorter{}, false, false),
               by_name_down = sorted_by_less(d.rows, name, shorter{}, true, false);
    const auto with_lot = kept(d.rows, [](const trade& t) { return t.lot.has_value(); });
    const auto by_lot = sorted_by_less(with_lot, lot, nearer{}, false, false),
               by_lot_down = sorted_by_less(with_lot, lot, nearer{}, true, false);
    const auto id = [](const std::optional<trade>& t) { return t ? t->id : -1; };
    const auto first_id = [](const std::vector<trade>& v) { return v.empty() ? -1 : v.front().id; };
    EXPECT_EQ(id(q.min_by(name, shorter{})), first_id(by_name));
    EXPECT_EQ(id(q.max_by(name, shorter{})), first_id(by_name_down));
    EXPECT_EQ(id(q.min_by(lot, nearer{})), first_id(by_lot));
    EXPECT_EQ(id(q.max_by(lot, nearer{})), first_id(by_lot_down));
    const auto text_at = [](const std::vector<trade>& v) { return v.empty() ? std::nullopt : std::optional(v.front().name); };
    const auto lot_at = [](const std::vector<trade>& v) { return v.empty() ? std::nullopt : v.front().lot; };
    EXPECT_EQ(q.min(name, shorter{}), text_at(by_name));
    EXPECT_EQ(q.max(name, shorter{}), text_at(by_name_down));
    EXPECT_EQ(q.min(lot, nearer{}), lot_at(by_lot));
    EXPECT_EQ(q.max(lot, nearer{}), lot_at(by_lot_down));

    std::vector<std::tuple<std::int32_t, std::string, trade>> wanted;
    for (const auto& [k, rows] : grouped(d.rows, [](const trade& t) { return t.key; }))
      wanted.emplace_back(k, sorted_by_less(rows, name, shorter{}, true, false).front().name,
                          sorted_by_less(rows, name, shorter{}, false, false).front());
    EXPECT_ROWS(q.group_by([](auto t) { return t.key; })
                    .select([=](auto g) { return std::tuple(g.key(), g.max(name, shorter{}), g.arg_min(name, shorter{})); })
                    .as_ordered()
                    .to_vector(), wanted);
  }
}

struct version {
  int major = 0, minor = 0;
};

CONFORMS(own_order, keys_without_a_description, "order_by", "explain") {
  const std::vector<int> rows = {10, 31, 22, 11, 30};
  const auto key = [](int x) { return version{x / 10, x % 10}; };
  const auto older = [](const version& a, const version& b) { return a.major < b.major; };
  EXPECT_ROWS(source(e, rows).order_by_descending(key, older).to_vector(), std::vector<int>{31, 30, 22, 10, 11});
  EXPECT_ROWS(source(e, rows).order_by([](int x) { return x % 10; }).then_by(key, older).to_vector(), std::vector<int>{10, 30, 11, 31, 22});
  const std::string plan = source(e, rows).order_by([](int x) { return x % 10; }).then_by(key, older).explain();
  EXPECT_NE(plan.find("in the user's own order"), std::string::npos) << plan;
}

}  // namespace
}  // namespace conformance
