// One GPU against several: folds and groups over rows in host memory, which come over each GPU's own bus, and over rows that
// cached() keeps on the devices.
//
//   gpu_devices [rows] [rounds] [trace]    QUERY_GPUS names the devices (0,1); one that is named twice counts as two
//
// `trace`: the groups of rows on the devices alone, and what each run of them asks of the driver.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_trace.hpp"
#include "runtime/session_state.hpp"
#include "timing.hpp"

namespace {

struct Row {
  std::int64_t id;
  std::int32_t key;
  std::int32_t wide;
  double value;
  double weight;
};
QUERY_RECORD(Row, id, key, wide, value, weight);
struct Total {
  std::int64_t key;
  double sum;
  std::int64_t n;
};
QUERY_RECORD(Total, key, sum, n);

template <class Q> double groups(const Q& q) {
  double sum = 0;
  for (const Total& t : q.to_vector()) sum += static_cast<double>(t.n) * static_cast<double>(t.key % 7);
  return sum;
}

// The same race over any query of rows: f(session's rows) gives a double.
template <class Rows, class F> void one_against_all(const char* title, const Rows& rows, int rounds, F f) {
  bench::race r(title);
  for (const auto& [name, q] : rows) r.add(name, [&f, &q = q] { return f(q); });
  r.run(rounds);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{64} << 20;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  const bool traces = argc > 3 && std::string(argv[3]) == "trace";
  std::optional<bench::trace> trace;
  if (traces) trace.emplace();
  std::vector<Row> host(n);
  std::uint64_t h = 1;
  for (std::size_t i = 0; i < n; ++i) {
    h = h * 6364136223846793005ull + 1442695040888963407ull;
    host[i] = {static_cast<std::int64_t>(i), static_cast<std::int32_t>(h >> 54), static_cast<std::int32_t>((h >> 33) % 4'000'000),
               static_cast<double>(h >> 40) * 0.001, 0.5};
  }
  std::vector<int> all = query::runtime::options_from_environment().gpus;
  query::Session one({.gpu_min_rows = 0, .gpus = {all.empty() ? 0 : all.front()}}), several({.gpu_min_rows = 0, .gpus = all});
  if (!one.gpu_status().empty()) {
    std::printf("no GPU: %s\n", one.gpu_status().c_str());
    return 0;
  }
  std::printf("%zu rows of %zu bytes\n", n, sizeof(Row));
  const auto rows = query::from(host).as_accelerated();
  std::printf(
      "%s\n",
      rows.in(several).where([](auto r) { return r.value > 1; }).select([](auto r) { return r.value * r.weight; }).explain().c_str());

  const auto fold = [](const auto& q) {
    return q.where([](auto r) { return r.value > 1; }).select([](auto r) { return r.value * r.weight; }).sum();
  };
  const auto few = [](const auto& q) {
    return groups(q.group_by([](auto r) { return query::cast<std::int64_t>(r.key); }).select([](auto g) {
      return query::make<Total>(g.key(), g.sum([](auto r) { return r.value; }), g.count());
    }));
  };
  const auto many = [](const auto& q) {
    return static_cast<double>(
        q.group_by([](auto r) { return query::cast<std::int64_t>(r.wide); })
            .select([](auto g) { return query::make<Total>(g.key(), g.sum([](auto r) { return r.value; }), g.count()); })
            .where([](auto t) { return t.n > 1; })
            .count());
  };
  const auto picked = [](const auto& q) {
    return static_cast<double>(
        q.where([](auto r) { return r.wide % 4 == 0; }).select([](auto r) { return r.value * r.weight; }).to_vector().size());
  };
  const auto sorted = [](const auto& q) {
    return q.order_by([](auto r) { return r.wide; }).take(1000).select([](auto r) { return r.value; }).to_vector().back();
  };
  const auto race = [&](const std::string& where, const auto& q1, const auto& qn) {
    using pair = std::pair<std::string, std::decay_t<decltype(q1)>>;
    const std::vector<pair> both = {{"1 device", q1}, {"all devices", qn}};
    one_against_all((where + ": where, select, sum").c_str(), both, rounds, fold);
    one_against_all((where + ": group_by, 1024 groups").c_str(), both, rounds, few);
    one_against_all((where + ": group_by, 4 million groups, counted").c_str(), both, rounds, many);
    one_against_all((where + ": where, select, to_vector").c_str(), both, rounds, picked);
  };
  if (traces) {
    const auto kept_on_one = rows.in(one).cached(), kept_on_all = rows.in(several).cached();
    const auto show = [&](const std::string& where, const auto& kept) {
      for (int i = 0; i < 3; ++i) (void)few(kept), (void)many(kept), (void)fold(kept);
      for (const bool waiting : {false, true}) {
        trace->show((where + ": fold").c_str(), waiting, [&] { (void)fold(kept); });
        trace->show((where + ": 1024 groups").c_str(), waiting, [&] { (void)few(kept); });
        trace->show((where + ": 4 million groups, counted").c_str(), waiting, [&] { (void)many(kept); });
      }
    };
    show("1 device", kept_on_one);
    show("all devices", kept_on_all);
    return 0;
  }
  race("rows on the host", rows.in(one), rows.in(several));
  const std::vector<std::pair<std::string, decltype(rows.in(one))>> to_sort = {{"1 device", rows.in(one)},
                                                                               {"all devices", rows.in(several)}};
  one_against_all("rows on the host: the first 1000 by order", to_sort, rounds, sorted);
  const auto kept_on_one = rows.in(one).cached(), kept_on_all = rows.in(several).cached();
  (void)kept_on_one.count(), (void)kept_on_all.count();
  race("rows on the devices", kept_on_one, kept_on_all);
  std::printf("%s", kept_on_all.explain().c_str());
  return 0;
}
