// Subtotals, unpivot and pivot of 2 threads; results are columns or rows that the engine owns.
//
//   reshaping ROWS FILE    writes the columns to FILE, for bench/reshaping/peers.py, and answers the questions three times each
//
// A line a question: milliseconds, processor milliseconds of all threads, and a sum by which answers are compared. "expanded" is a rollup
// by one group_by over each row once for each level, which this library does not do.
#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "best_times.hpp"

namespace {

struct sale { std::int32_t year, month, shop; double a, b, c, d; };
QUERY_RECORD(sale, year, month, shop, a, b, c, d);
struct total { std::optional<std::int32_t> x, y; double sum; };
QUERY_RECORD(total, x, y, sum);
struct total3 { std::optional<std::int32_t> x, y, z; double sum; };
QUERY_RECORD(total3, x, y, z, sum);
struct plain { std::int32_t x, y; double sum; };
QUERY_RECORD(plain, x, y, sum);
struct value { std::int32_t id, name; double sum; };
QUERY_RECORD(value, id, name, sum);
struct value_by_text { std::int32_t id; std::string name; double sum; };
QUERY_RECORD(value_by_text, id, name, sum);
struct year_of_shop { std::int32_t shop; double sum, rest; };
QUERY_RECORD(year_of_shop, shop, sum, rest);

}  // namespace

int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::stoul(argv[1]) : 10'000'000;
  std::vector<std::int32_t> year(rows), month(rows), shop(rows);
  std::array<std::vector<double>, 4> x;
  for (auto& column : x) column.resize(rows);
  std::uint64_t s = 88172645463325252u;
  const auto next = [&] {
    s ^= s << 13;
    s ^= s >> 7;
    return s ^= s << 17;
  };
  for (std::size_t i = 0; i < rows; ++i) {
    year[i] = static_cast<std::int32_t>(2000 + next() % 20);
    month[i] = static_cast<std::int32_t>(1 + next() % 12);
    shop[i] = static_cast<std::int32_t>(next() % 10'000);
    for (auto& column : x) column[i] = static_cast<double>(next() % 10'000) / 16;
  }
  if (argc > 2) {
    std::ofstream file(argv[2], std::ios::binary);
    const auto write = [&](const auto& column) {
      file.write(reinterpret_cast<const char*>(column.data()), static_cast<std::streamsize>(rows * sizeof column[0]));
    };
    write(year), write(month), write(shop);
    for (const auto& column : x) write(column);
  }
  const query::Session session({.threads = 2, .gpu = query::gpu_use::off});
  const auto sales = query::from(query::columns<sale>(year, month, shop, x[0], x[1], x[2], x[3])).in(session);
  const auto by_year = [](auto t) { return t.year; };
  const auto by_month = [](auto t) { return t.month; };
  const auto by_shop = [](auto t) { return t.shop; };
  const auto a = [](auto t) { return t.a; };
  const auto sum_of_two = [a](auto g) {
    const auto [x, y] = g.key();
    return query::make<total>(x, y, g.sum(a));
  };
  bench::answer("group by year, month", sales.group_by([](auto t) { return std::pair(t.year, t.month); }).select([a](auto g) {
    const auto [x, y] = g.key();
    return query::make<plain>(x, y, g.sum(a));
  }));
  bench::answer("rollup year, month", sales.group_by(query::rollup(by_year, by_month)).select(sum_of_two));
  bench::answer("rollup, expanded", sales.select_many([](auto t) {
    const auto key = [](auto y, auto m) { return std::pair(y, m); };
    return std::array{std::pair(key(t.year, t.month), t.a), std::pair(key(t.year, t.month - t.month), t.a),
                      std::pair(key(t.year - t.year, t.month - t.month), t.a)};
  }).group_by([](auto p) { return p.first; }).select([](auto g) {
    const auto [x, y] = g.key();
    return query::make<plain>(x, y, g.sum([](auto p) { return p.second; }));
  }));
  bench::answer("rollup year, shop", sales.group_by(query::rollup(by_year, by_shop)).select(sum_of_two));
  bench::answer("cube year, month, shop", sales.group_by(query::cube(by_year, by_month, by_shop)).select([a](auto g) {
    const auto [x, y, z] = g.key();
    return query::make<total3>(x, y, z, g.sum(a));
  }));
  const auto b = [](auto t) { return t.b; };
  const auto c = [](auto t) { return t.c; };
  const auto d = [](auto t) { return t.d; };
  bench::answer("unpivot four, numbers",
                sales.unpivot(by_shop, query::field(1, a), query::field(2, b), query::field(3, c), query::field(4, d))
                    .select([](auto r) { return query::make<value>(r.id, r.name, r.value); }));
  bench::answer("unpivot four, text",
                sales.unpivot(by_shop, query::field("a", a), query::field("b", b), query::field("c", c), query::field("d", d))
                    .select([](auto r) { return query::make<value_by_text>(r.id, r.name, r.value); }));
  std::array<std::int32_t, 12> months{};
  for (std::int32_t m = 0; m < 12; ++m) months[static_cast<std::size_t>(m)] = m + 1;
  bench::answer("pivot shop by month", sales.pivot(by_shop, by_month, months, [a](auto g) { return g.sum(a); }).select([](const auto& p) {
    auto rest = p.values[1].value_or(0.0);
    for (std::size_t i = 2; i < 12; ++i) rest = rest + p.values[i].value_or(0.0);
    return query::make<year_of_shop>(p.key, p.values[0].value_or(0.0), rest);
  }));
}
