// where + select + sum against hand-written loops on the same data, flags and threads (oneTBB for both).
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <bit>
#include <random>

#include <query/query.hpp>

#include "timing.hpp"

struct Trade {
  std::int32_t symbol;
  double price;
  std::int32_t qty;
};
QUERY_RECORD(Trade, symbol, price, qty);

namespace {

constexpr std::size_t lanes = 16;

// An expert's masked addition: with trapping maths, `m ? v : 0` stays a branch; a mask on the bits does not.
inline double keep(double v, bool m) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) & (std::uint64_t{0} - std::uint64_t{m}));
}

template <class Body> double parallel_sum(std::size_t n, Body body) {
  return tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, n, 1 << 16), 0.0,
      [&](const tbb::blocked_range<std::size_t>& r, double s) { return s + body(r.begin(), r.end()); }, std::plus<>());
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::stoull(argv[1]) : 50'000'000;
  std::vector<std::int32_t> symbol(n), qty(n);
  std::vector<double> price(n);
  std::mt19937 g(1);
  for (std::size_t i = 0; i < n; ++i)
    symbol[i] = static_cast<std::int32_t>(g() % 1000), price[i] = static_cast<double>(g()) * 1e-6,
    qty[i] = static_cast<std::int32_t>(g() % 100);
  std::vector<Trade> rows(n);
  for (std::size_t i = 0; i < n; ++i) rows[i] = {symbol[i], price[i], qty[i]};
  const auto view = query::columns<Trade>(symbol, price, qty);
  const auto large = [](auto t) { return t.qty > 50; };
  const auto value = [](auto t) { return t.price * t.qty; };

  {
    bench::race r("columns: where(qty > 50).select(price * qty).sum()");
    r.add("expert: branch-free, 16 lanes, TBB", [&] {
      return parallel_sum(n, [&](std::size_t b, std::size_t e) {
        double a[lanes] = {}, s = 0;
        for (; b + lanes <= e; b += lanes)
          for (std::size_t l = 0; l < lanes; ++l) a[l] += keep(price[b + l] * qty[b + l], qty[b + l] > 50);
        for (; b < e; ++b) s += qty[b] > 50 ? price[b] * qty[b] : 0.0;
        for (double x : a) s += x;
        return s;
      });
    });
    r.add("plain loop, TBB", [&] {
      return parallel_sum(n, [&](std::size_t b, std::size_t e) {
        double s = 0;
        for (; b < e; ++b)
          if (qty[b] > 50) s += price[b] * qty[b];
        return s;
      });
    });
    r.add("query, traced lambdas", [&] { return query::from(view).where(large).select(value).sum(); });
    r.add("query, opaque lambdas", [&] { return query::from(view).where(query::opaque(large)).select(query::opaque(value)).sum(); });
    r.run(9);
  }
  {
    bench::race r("rows: where(qty > 50).select(price * qty).sum()");
    r.add("expert: branch-free, 16 lanes, TBB", [&] {
      return parallel_sum(n, [&](std::size_t b, std::size_t e) {
        const Trade* t = rows.data();
        double a[lanes] = {}, s = 0;
        for (; b + lanes <= e; b += lanes)
          for (std::size_t l = 0; l < lanes; ++l) a[l] += keep(t[b + l].price * t[b + l].qty, t[b + l].qty > 50);
        for (; b < e; ++b) s += t[b].qty > 50 ? t[b].price * t[b].qty : 0.0;
        for (double x : a) s += x;
        return s;
      });
    });
    r.add("plain loop, TBB", [&] {
      return parallel_sum(n, [&](std::size_t b, std::size_t e) {
        double s = 0;
        for (; b < e; ++b)
          if (rows[b].qty > 50) s += rows[b].price * rows[b].qty;
        return s;
      });
    });
    const auto q = query::from(rows);
    const query::Query<double> erased = q.where(large).select(value);
    const query::Query<Trade> first = q.where(large);
    const query::Query<double> second = first.select(value);
    r.add("query, traced lambdas", [&] { return q.where(large).select(value).sum(); });
    r.add("query, opaque lambdas", [&] { return q.where(query::opaque(large)).select(query::opaque(value)).sum(); });
    r.add("query, erased at the end", [&] { return erased.sum(); });
    r.add("query, erased after every verb", [&] { return second.sum(); });
    r.run(9);
  }
}
