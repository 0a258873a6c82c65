// Twenty queries as programs have them, in one translation unit: how long does a user's compiler take?
#include <query/query.hpp>

struct Trade {
  std::int32_t symbol;
  double price;
  std::int32_t qty;
  std::int64_t when;
};
QUERY_RECORD(Trade, symbol, price, qty, when);
struct Quote {
  std::int32_t symbol;
  double bid, ask;
};
QUERY_RECORD(Quote, symbol, bid, ask);
struct Vwap {
  std::int32_t symbol;
  double vwap;
  std::int64_t n;
};
QUERY_RECORD(Vwap, symbol, vwap, n);
struct Spread {
  std::int32_t symbol;
  double price, spread;
};
QUERY_RECORD(Spread, symbol, price, spread);
struct Bar {
  std::int64_t minute;
  double low, high, mean;
};
QUERY_RECORD(Bar, minute, low, high, mean);

using trades = std::vector<Trade>;
using quotes = std::vector<Quote>;
namespace by_name = query::aggregates;
using query::from;

double filtered_sum(const trades& t) {
  return from(t).where([](auto r) { return r.qty > 5; }).select([](auto r) { return r.price * r.qty; }).sum();
}
std::int64_t filtered_count(const trades& t, double k) {
  return from(t).where([k](auto r) { return r.price > k; }).count();
}
trades filtered_rows(const trades& t, double k) {
  return from(t).where([k](auto r) { return r.price > k && r.qty < 100; }).to_vector();
}
std::vector<Vwap> grouped(const trades& t) {
  return from(t)
      .group_by([](auto r) { return r.symbol; })
      .select([](auto g) {
        return query::make<Vwap>(g.key(), g.sum([](auto r) { return r.price * r.qty; }) / g.sum([](auto r) { return r.qty; }), g.count());
      })
      .to_vector();
}
std::vector<Bar> bars(const trades& t) {
  return from(t)
      .group_by([](auto r) { return r.when / 60; })
      .select([](auto g) {
        return query::make<Bar>(g.key(), g.min([](auto r) { return r.price; }), g.max([](auto r) { return r.price; }),
                                g.mean([](auto r) { return r.price; }));
      })
      .order_by([](auto b) { return b.minute; })
      .to_vector();
}
std::vector<Spread> joined(const trades& t, const quotes& q) {
  return from(t)
      .join(from(q), [](auto r) { return r.symbol; }, [](auto r) { return r.symbol; },
            [](auto a, auto b) { return query::make<Spread>(a.symbol, a.price, b.ask - b.bid); })
      .to_vector();
}
std::int64_t symbols(const trades& t) {
  return from(t).select([](auto r) { return r.symbol; }).distinct().count();
}
trades sorted(const trades& t) {
  return from(t).order_by([](auto r) { return r.price; }).to_vector();
}
double branches(const trades& t) {
  return from(t)
      .where([](auto r) {
        if (r.qty > 50) return r.price > 1;
        return r.price > 2;
      })
      .select([](auto r) { return r.qty; })
      .sum() * 1.0;
}
double maths(const trades& t) {
  return from(t).select([](auto r) { return query::sqrt(r.price) + query::max(r.qty, 3); }).sum();
}
std::int64_t many(const trades& t) {
  return from(t).select_many([](const Trade& r) { return std::vector<std::int32_t>(static_cast<std::size_t>(r.qty), r.symbol); }).count();
}
auto aggregates(const trades& t) {
  return from(t)
      .group_by([](auto r) { return r.symbol; })
      .aggregate(by_name::sum([](auto r) { return r.qty; }), by_name::count(), by_name::max([](auto r) { return r.price; }))
      .to_vector();
}
auto two_filters(const trades& t) {
  return from(t)
      .where([](auto r) { return r.qty > 0; })
      .where([](auto r) { return r.price > 0; })
      .select([](auto r) { return query::make<Vwap>(r.symbol, r.price, r.when); })
      .to_vector();
}
auto materialised(const trades& t) {
  return from(t)
      .group_by([](auto r) { return r.symbol; })
      .select([](const query::Group<std::int32_t, Trade>& g) {
        double most = 0;
        for (const Trade& r : g) most = most > r.price ? most : r.price;
        return most;
      })
      .to_vector();
}
query::Query<Trade> erased(const trades& t, double k) {
  return from(t).where([k](auto r) { return r.price < k; });
}
double on_erased(const trades& t, double k) {
  return erased(t, k).select([](auto r) { return r.price; }).sum();
}
auto looped() {
  return from(std::vector<double>{1, 2})
      .do_while([](query::Query<double> x) { return x.select([](auto d) { return d / 2; }); }, query::times(10))
      .to_vector();
}
auto means(const quotes& q) {
  return from(q)
      .where([](auto r) { return r.ask > r.bid; })
      .group_by([](auto r) { return r.symbol; })
      .select([](auto g) { return g.mean([](auto r) { return (r.ask - r.bid) / r.bid; }); })
      .to_vector();
}
double mid(const quotes& q) {
  return from(q).select([](auto r) { return (r.ask + r.bid) / 2; }).where([](auto m) { return m > 1; }).sum();
}
auto top(const trades& t) {
  return from(t).order_by_descending([](auto r) { return r.price; }).then_by([](auto r) { return r.symbol; }).take(10).to_vector();
}
