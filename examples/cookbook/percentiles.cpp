// The median, 95th and 99th percentile of each endpoint's response times, and the fraction of its requests that failed.
#include <string>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Request {
  std::string endpoint;
  std::int32_t status;
  double ms;
};
QUERY_RECORD(Request, endpoint, status, ms);

struct Latency {
  std::string endpoint;
  std::int64_t requests;
  double failed, p50, p95, p99;
};
QUERY_RECORD(Latency, endpoint, requests, failed, p50, p95, p99);

int main() {
  std::vector<Request> requests;
  for (int i = 0; i <= 100; ++i) {
    const double ms = i * 37 % 101;  // each number from 0 to 100 once, in another order
    requests.push_back({"/search", i % 4 == 0 ? 503 : 200, ms});
    if (i < 5) requests.push_back({"/login", 200, i * 2.0});
  }

  const auto latencies = query::from(requests)
      .group_by([](auto r) { return r.endpoint; })
      .select([](auto g) {
        const auto ms = [](auto r) { return r.ms; };
        const auto failed = g.count([](auto r) { return r.status >= 500; });
        return query::make<Latency>(g.key(), g.count(), query::cast<double>(failed) / g.count(),
                                    g.median(ms), g.quantile(ms, 0.95), g.quantile(ms, 0.99));
      })
      .order_by_descending([](auto l) { return l.p99; });

  return answer<Latency>(latencies, {{"/search", 101, 26 / 101.0, 50, 95, 99}, {"/login", 5, 0, 4, 7.6, 7.92}});
}
