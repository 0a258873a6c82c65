// What aggregates of all rows give where there are none: what has no value then says so, by its type.
#include <cmath>

#include "conformance/engines.hpp"
#include "conformance/compare.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

namespace by = query::aggregates;

const auto amount_of = [](auto t) { return t.amount; };
const auto price_of = [](auto t) { return t.price; };

struct figures {
  std::int64_t n;
  std::optional<std::int64_t> most;
  double mean;
  float range;
  std::array<double, 2> both;
};
QUERY_RECORD(figures, n, most, mean, range, both);
struct strict_figures {
  std::int64_t n, least;
};
QUERY_RECORD(strict_figures, n, least);

auto none(const engine_config& e) { return source(e, few_trades()).where([](auto t) { return t.id < 0; }); }

CONFORMS(no_rows, give_empty_optionals, "reduce", "aggregate", "value_of") {
  const auto q = none(e);
  const auto all = source(e, few_trades());
  const auto most = [](auto g) { return g.max(amount_of); };
  static_assert(std::is_same_v<decltype(q.reduce(most)), std::optional<std::int64_t>>);
  EXPECT_EQ(q.reduce(most), std::nullopt);
  EXPECT_EQ(all.reduce(most), all.max(amount_of));
  const auto range = [](auto g) { return g.max(price_of) - g.min(amount_of); };  // what is made of them has no value either
  EXPECT_EQ(q.reduce(range), std::nullopt);
  EXPECT_EQ(all.reduce(range), *all.max(price_of) - static_cast<double>(*all.min(amount_of)));
  EXPECT_EQ(q.reduce([](auto g) { return query::sqrt(g.mean(amount_of)); }), std::nullopt);
  const auto [n, least, mean, row, middle, price] = q.aggregate(by::count(), by::min(price_of), by::mean(amount_of), by::arg_max(price_of),
                                                                by::median(price_of), [](auto g) { return g.arg_min(amount_of).price; });
  EXPECT_EQ(n, 0);
  EXPECT_EQ(least, std::nullopt);
  EXPECT_EQ(mean, std::nullopt);
  EXPECT_FALSE(row.has_value());
  EXPECT_EQ(middle, std::nullopt);
  EXPECT_EQ(price, std::nullopt);
  const auto name = [](auto t) { return t.name; };
  EXPECT_EQ(q.aggregate([=](auto g) { return std::pair(g.max(name), g.sum(amount_of)); }).to_vector(),
            (std::vector<std::pair<std::optional<std::string>, std::int64_t>>{{std::nullopt, 0}}));
  EXPECT_EQ(query::value_of(q).max(amount_of).get(), std::nullopt);
  EXPECT_EQ(query::value_of(q).average(amount_of).get(), std::nullopt);
  EXPECT_FALSE(query::value_of(q).max_by(amount_of).get().has_value());
  EXPECT_EQ(query::value_of(all).max(amount_of).get(), all.max(amount_of));
}

CONFORMS(no_rows, are_seen_by_operators_of_values, "value_of") {
  const auto q = query::value_of(none(e));
  const auto all = query::value_of(source(e, few_trades()));
  EXPECT_EQ((q.max(amount_of) - q.min(amount_of)).get(), std::nullopt);
  EXPECT_EQ((q.max(amount_of) + all.min(amount_of)).get(), std::nullopt);
  EXPECT_EQ((2 * q.mean(price_of)).get(), std::nullopt);
  EXPECT_EQ((all.max(amount_of) - all.min(amount_of)).get(), *all.max(amount_of).get() - *all.min(amount_of).get());
  EXPECT_EQ((all.max(amount_of) / 2).get(), *all.max(amount_of).get() / 2);
  // As std::optional compares.
  EXPECT_FALSE((q.max(amount_of) > 0).get());
  EXPECT_TRUE((q.max(amount_of) < 0).get());
  EXPECT_FALSE((q.max(amount_of) == 0).get());
  EXPECT_TRUE((q.max(amount_of) == q.min(amount_of)).get());
  EXPECT_TRUE((all.max(amount_of) > q.max(amount_of)).get());
}

CONFORMS(no_rows, show_in_the_fields_of_a_record, "reduce", "aggregate") {
  const auto f = [](auto g) {
    return query::make<figures>(g.count(), g.max(amount_of), g.mean(price_of), g.max(price_of) - g.min(price_of),
                                g.mean([](auto t) { return std::array{t.price, t.price + 1}; }));
  };
  const figures got = none(e).reduce(f), all = source(e, few_trades()).reduce(f);
  EXPECT_EQ(got.n, 0);
  EXPECT_EQ(got.most, std::nullopt);
  EXPECT_TRUE(std::isnan(got.mean));
  EXPECT_TRUE(std::isnan(got.range));
  EXPECT_TRUE(std::isnan(got.both[0]) && std::isnan(got.both[1]));
  EXPECT_EQ(all.most, source(e, few_trades()).max(amount_of));
  const auto strict = [](auto g) { return query::make<strict_figures>(g.count(), g.min(amount_of)); };
  EXPECT_EQ(source(e, few_trades()).reduce(strict).least, source(e, few_trades()).min(amount_of));
  EXPECT_THROW(none(e).reduce(strict), query::user_error);
}

// What compares them has no value either, whichever way a trace of the function goes.
CONFORMS(no_rows, have_no_comparison, "reduce", "aggregate") {
  const auto all = source(e, few_trades());
  const auto same = [](auto g) { return g.min(amount_of) == g.max(amount_of); };
  static_assert(std::is_same_v<decltype(all.reduce(same)), std::optional<bool>>);
  EXPECT_EQ(none(e).reduce(same), std::nullopt);
  EXPECT_EQ(all.reduce(same), false);
  EXPECT_EQ(all.take(1).reduce(same), true);
  const auto both = [](auto g) { return std::make_pair(g.count(), g.min(price_of) < g.max(price_of)); };
  EXPECT_EQ(none(e).reduce(both), (std::pair<std::int64_t, std::optional<bool>>(0, std::nullopt)));
  EXPECT_EQ(all.reduce(both), (std::pair<std::int64_t, std::optional<bool>>(all.count(), true)));
  const auto counted = [](auto g) { return std::make_tuple(g.count() > 2, g.max(price_of) >= 0, g.sum(amount_of)); };
  EXPECT_EQ(none(e).reduce(counted), (std::tuple<bool, std::optional<bool>, std::int64_t>(false, std::nullopt, 0)));
  EXPECT_EQ(all.reduce(counted), (std::tuple<bool, std::optional<bool>, std::int64_t>(true, true, all.sum(amount_of))));
}

CONFORMS(no_rows, of_optionals, "min_by", "max_by", "min", "max") {
  const auto seven = [](auto x) { return x.value_or(7); };
  const auto itself = [](auto x) { return x; };
  const std::vector<std::optional<std::int32_t>> nothing, nulls(3), some = {std::nullopt, 4, 9};
  const auto q = source(e, nothing);
  EXPECT_FALSE(q.min_by(seven).has_value());
  EXPECT_FALSE(q.max_by(seven).has_value());
  EXPECT_FALSE(q.max_by(itself).has_value());
  EXPECT_EQ(q.min(), std::nullopt);
  EXPECT_FALSE(q.reduce([=](auto g) { return g.arg_min(seven); }).has_value());
  EXPECT_FALSE(query::value_of(q).min_by(seven).get().has_value());
  const auto of_nulls = source(e, nulls);
  EXPECT_TRUE(of_nulls.min_by(seven).has_value() && !of_nulls.min_by(seven)->has_value());  // a row, which is null
  EXPECT_FALSE(of_nulls.min_by(itself).has_value());                                        // none that is not null
  EXPECT_EQ(**source(e, some).max_by(itself), 9);
  EXPECT_EQ(**source(e, some).min_by(seven), 4);
}

// Groups have a row at least: their aggregates are plain, but where all values are null.
CONFORMS(no_rows, are_in_no_group, "group_by.select") {
  const auto f = [](auto g) { return std::tuple(g.key(), g.max(amount_of), g.min([](auto t) { return t.lot; })); };
  for (const auto& [key, most, lots] : source(e, few_trades()).group_by([](auto t) { return t.key; }).select(f).to_vector()) {
    static_assert(std::is_same_v<decltype(most), const std::int64_t>);
    static_assert(std::is_same_v<decltype(lots), const std::optional<std::int32_t>>);
    EXPECT_EQ(most, source(e, few_trades()).where([k = key](auto t) { return t.key == k; }).max(amount_of));
  }
}

// query::iff chooses before its parts are asked for their values.
CONFORMS(no_rows, have_what_iff_chooses, "reduce", "aggregate", "group_by") {
  const auto q = none(e);
  const auto all = source(e, few_trades());
  const auto most = [](auto g) { return query::iff(g.count() > 0, g.max(amount_of), std::int64_t{7}); };
  static_assert(std::is_same_v<decltype(q.reduce(most)), std::optional<std::int64_t>>);
  EXPECT_EQ(q.reduce(most), 7);
  EXPECT_EQ(all.reduce(most), all.max(amount_of));
  EXPECT_EQ(q.reduce([=](auto g) { return most(g) * 2 + g.count(); }), 14);
  EXPECT_EQ(all.reduce([=](auto g) { return most(g) * 2 + g.count(); }), *all.max(amount_of) * 2 + all.count());
  EXPECT_EQ(q.reduce([](auto g) { return query::iff(g.count() == 0, g.max(amount_of), std::int64_t{7}); }), std::nullopt);
  EXPECT_EQ(q.reduce([](auto g) { return query::iff(g.max(amount_of) > 0, 1, 2); }), std::nullopt);
  using both = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;
  EXPECT_EQ(q.reduce([=](auto g) { return std::pair(most(g), g.min(amount_of)); }), both(7, std::nullopt));
  // An integer quotient whose divisor may be 0.
  const auto mean = [](auto g) {
    const auto n = g.count([](auto t) { return t.id < 0; });
    return query::iff(n > 0, g.sum(amount_of) / n, std::int64_t{-1});
  };
  EXPECT_EQ(q.reduce(mean), -1);
  for (const auto& [id, x] : all.group_by([](auto t) { return t.id % 3; }).select([=](auto g) { return std::pair(g.key(), mean(g)); }))
    EXPECT_EQ(x, -1) << id;
}

CONFORMS(no_rows, in_verbs_that_are_made_of_others, "over", "group_by.top", "slice", "shuffle", "zip", "asof_join", "join_where") {
  const std::vector<std::int32_t> nothing;
  const std::vector<std::optional<std::int32_t>> nulls(2);
  const auto itself = [](auto x) { return x; };
  const auto less = [](auto a, auto b) { return a < b; };
  const auto q = source(e, nothing);
  EXPECT_EQ(q.slice(0, 5).max(), std::nullopt);
  EXPECT_EQ(q.slice(-3, 2).min(), std::nullopt);
  EXPECT_EQ(q.shuffle(1).min(), std::nullopt);
  EXPECT_EQ(q.group_by(itself).top(1, itself).max(), std::nullopt);
  EXPECT_EQ(q.over().select([=](auto, auto w) { return w.max(itself); }).max(), std::nullopt);
  EXPECT_EQ(q.over(itself).order_by(itself).take(2).count(), 0);
  EXPECT_EQ(q.zip(q, q).count() + q.asof_join(q, itself, itself).count() + q.join_where(q, less).count(), 0);
  const std::vector<std::int32_t> two{1, 2};
  const auto some = source(e, two);
  EXPECT_EQ(some.zip(q, some).count() + q.asof_join(some, itself, itself).count() + some.join_where(q, less).count(), 0);
  EXPECT_EQ(some.asof_join(q, itself, itself).count([](auto p) { return p.second.has_value(); }), 0);
  EXPECT_ROWS(source(e, nulls).over().select([=](auto, auto w) { return w.max(itself); }).to_vector(), nulls);
}

}  // namespace
}  // namespace conformance
