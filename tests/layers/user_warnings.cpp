// A user's program over many verbs, compiled with strict warnings as errors: what the public headers make of it must be clean too.
#include <query/arrow.hpp>
#include <query/query.hpp>
#include <query/run_all.hpp>
#include <query/times.hpp>

namespace user {

struct Trade { std::int32_t symbol; double price; std::int64_t qty; std::optional<float> fee; std::string venue; };
QUERY_RECORD(Trade, symbol, price, qty, fee, venue);
struct Total { std::int32_t symbol; double amount; };
QUERY_RECORD(Total, symbol, amount);

// Fields called as the members of its description are.
struct Item { std::string name; int size, names, offsets, fields; };
QUERY_RECORD(Item, name, size, names, offsets, fields);

namespace by = query::aggregates;
const auto symbol = [](auto t) { return t.symbol; };
const auto price = [](auto t) { return t.price; };
const auto qty = [](auto t) { return t.qty; };

std::int64_t use(const std::vector<Trade>& trades);

}  // namespace user

std::int64_t user::use(const std::vector<Trade>& trades) {
  const auto q = query::from(trades).where([](auto t) { return t.qty > 100 && t.venue != "X"; });
  ArrowArrayStream arrow{};
  query::to_arrow(q, &arrow);
  const std::int64_t from_arrow = query::from_arrow<Trade>(&arrow).count();
  const auto opaque = q.select([](const Trade& t) { return t.price; }).where([](double x) { return x > 0; });
  const auto totals = q.group_by(symbol).select([](auto g) { return query::make<Total>(g.key(), g.sum(price) / g.count()); });
  const auto tuples =
      q.group_by(symbol).aggregate(by::sum(qty), by::count(), by::mean(price), by::median(price), by::first(qty), by::stddev(price));
  const auto rows = q.group_by(symbol).select([](const query::Group<std::int32_t, Trade>& g) { return g.sum(price); });
  const auto joined = q.join(totals, symbol, symbol).where([](auto r) { return r.first.price > r.second.amount; });
  const auto sorted = q.order_by(symbol).then_by_descending(price).take(10).index().where([](auto r) { return r.index > 2; });
  const auto sets = q.select(symbol).distinct().union_with(query::range(0, 9)).except(query::range(3, 2));
  const auto loop = query::from(std::vector<double>{1, 2})
                        .do_while([](query::Query<double> x) { return x.select([](auto v) { return v / 2; }); }, query::times(3));
  const auto lookup = q.to_lookup(symbol);
  const auto unsigned_sums = q.group_by(symbol).select([](auto g) {
    return std::tuple(g.key(), query::iff(g.sum([](auto t) { return query::cast<std::uint32_t>(t.qty); }) > 3, g.count(), 0));
  });
  const auto items =
      query::from(std::vector<Item>{}).where([](auto t) { return t.size > t.names + t.offsets + t.fields; }).select([](auto t) {
        return t.name;
      });
  const auto [n, most] = q.aggregate(by::count(), by::max(price));
  double all = 0;
  for (const double x : opaque) all += x;
  const auto lazy = query::value_of(q).max(price) - query::value_of(q).min(price);
  const auto [same, highest, dear] = query::run_all(sorted, query::value_of(q).max(price), opaque);
  all += highest.value_or(0) + static_cast<double>(same.size() + dear.size());
  return n + sets.count() + sorted.count() + joined.count() + rows.count() + tuples.count() + loop.count() + q.zip(q.skip(1)).count() +
         q.chunk(3).count() + q.window(2).count() + static_cast<std::int64_t>(lookup[1].size()) +
         static_cast<std::int64_t>(most.value_or(0) + all + lazy.get().value_or(0) + q.sum([](auto t) { return t.fee; })) +
         query::read_csv<Trade>("trades.csv").count() + items.count() + unsigned_sums.count() + from_arrow;
}
