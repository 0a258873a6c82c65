// What queries over resident rows, on one device and on all, ask of the driver.
#include <cstdio>
#include <exception>
#include <functional>

#include "gpu_devices/devices.hpp"
#include "gpu_trace.hpp"

namespace bench::devices {

namespace {

struct Row {
  std::uint32_t key, wide;
  double value;
};
QUERY_RECORD(Row, key, wide, value);
struct Total {
  std::uint32_t key;
  double sum;
};
QUERY_RECORD(Total, key, sum);

}  // namespace

void trace_calls(const std::vector<int>& gpus, int less) {
  bench::trace trace;
  const std::size_t n = std::size_t{1} << (less < 16 ? 28 - less : 12);
  const auto rows = filled<Row>(n, [](std::size_t i) {
    const std::uint64_t x = random_of(i);
    return Row{static_cast<std::uint32_t>(x >> 54), static_cast<std::uint32_t>(x >> 40), unit_of(x)};
  });
  const auto fold = [](const auto& q) {
    return q.where([](auto r) { return r.value > 0.25; }).select([](auto r) { return r.value; }).sum();
  };
  const auto grouped = [](const auto& q, auto key) {
    (void)q.group_by(key)
        .select([](auto g) { return query::make<Total>(g.key(), g.sum([](auto r) { return r.value; })); })
        .cached()
        .count();
  };
  for (const bool several : {false, true}) {
    side s(several ? gpus : std::vector<int>{gpus.front()}, true);
    const auto there = s.kept(query::from(rows).as_query());
    const auto values = there.select([](auto r) { return r.value; }).cached();
    (void)values.count();
    const auto once = there.where([](auto r) { return r.key < 256u; }).cached();
    (void)once.count();
    std::vector<std::pair<const char*, std::function<void()>>> queries = {
        {"fold", [&] { (void)fold(there); }},
        {"1,024 groups", [&] { grouped(there, [](auto r) { return r.key; }); }},
        {"16 million groups", [&] { grouped(there, [](auto r) { return r.wide; }); }},
        {"order_by", [&] { (void)values.order_by([](auto v) { return v; }).cached().count(); }},
        {"join", [&] {
           (void)once
               .join(
                   once, [](auto a) { return a.value; }, [](auto b) { return b.value; },
                   [](auto a, auto b) { return query::make<Total>(a.key, b.value); })
               .cached()
               .count();
         }}};
    queries.emplace_back("k-means", kmeans_rounds(s, n >> 7, 3));
    for (const auto& [name, run] : queries) {
      try {
        for (int i = 0; i < 3; ++i) run();
        for (const bool waiting : {false, true})
          trace.show(((several ? "all devices: " : "one device: ") + std::string(name)).c_str(), waiting, run);
      } catch (const std::exception& e) {
        std::printf("%s FAILED: %s\n", name, e.what());
      }
      std::fflush(stdout);
    }
  }
}

}  // namespace bench::devices
