// Peak memory beside the input: where + select + aggregate over a vector, and group_by with few and with many groups.
#include <sys/resource.h>

#include <cstdio>

#include <query/query.hpp>

struct Sale {
  std::int64_t key;
  double value;
};
QUERY_RECORD(Sale, key, value);
struct Total {
  std::int64_t key;
  double sum;
};
QUERY_RECORD(Total, key, sum);

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::stoull(argv[1]) : 20'000'000;
  query::Session session({.threads = 2});
  const auto report = [&](const char* what, double allowed, auto run) {
    session.trim();
    session.reset_memory_peak();
    const std::size_t groups = run();
    const double input = static_cast<double>(n * sizeof(Sale)), output = static_cast<double>(groups * sizeof(Total));
    const double peak = static_cast<double>(session.memory_peak());
    std::printf("%-42s input %8.1f MB, groups %8.1f MB, beside the input %8.1f MB: total / (input + groups) %.3f, aim %.2f\n", what,
                input / 1e6, output / 1e6, peak / 1e6, (input + peak) / (input + output), allowed);
  };
  for (const std::uint64_t groups : {1000ull, static_cast<unsigned long long>(n / 2)}) {
    std::vector<Sale> sales(n);
    std::uint64_t x = 1;
    for (Sale& s : sales) {
      x = x * 6364136223846793005ull + 1442695040888963407ull;
      s = {static_cast<std::int64_t>((x >> 20) % groups), static_cast<double>(x >> 40)};
    }
    report("where + select + sum", 1.0, [&] {
      volatile double s =
          query::from(sales).in(session).where([](auto r) { return r.value > 100.0; }).select([](auto r) { return r.value * 2; }).sum();
      (void)s;
      return std::size_t{0};
    });
    const auto totals = [](auto g) { return query::make<Total>(g.key(), g.sum([](auto r) { return r.value; })); };
    report(groups == 1000 ? "group_by, 1000 groups" : "group_by, a group for every two rows", 1.5, [&] {
      return static_cast<std::size_t>(query::from(sales).in(session).group_by([](auto r) { return r.key; }).select(totals).count());
    });
    report(groups == 1000 ? "the same by a computed key" : "the same by a computed key, many groups", 1.5, [&] {
      return static_cast<std::size_t>(
          query::from(sales).in(session).group_by([](const Sale& r) { return r.key + 1; }).select(totals).count());
    });
  }
}
