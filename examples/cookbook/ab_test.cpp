// An A/B test: how many visitors of each variant bought something, and is the difference due to chance?
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Visitor {
  std::string variant;
  double spent;
};
QUERY_RECORD(Visitor, variant, spent);

struct Variant {
  std::string name;
  double visitors, buyers, rate, mean;
  std::optional<double> deviation;  // empty for a single visitor
};
QUERY_RECORD(Variant, name, visitors, buyers, rate, mean, deviation);

struct Test {
  double lift, z, p;  // p: the probability that chance alone makes a difference as large as this
};
QUERY_RECORD(Test, lift, z, p);

int main() {
  std::vector<Visitor> visitors;
  for (int i = 0; i < 200; ++i) {  // one of ten buys with variant A, two of ten with B
    visitors.push_back({"A", i % 10 == 0 ? 10.0 : 0.0});
    visitors.push_back({"B", i % 10 < 2 ? 8.0 : 0.0});
  }

  const auto variants = query::from(visitors)
      .group_by([](auto v) { return v.variant; })
      .select([](auto g) {
        const auto spent = [](auto v) { return v.spent; };
        const auto buyers = g.count([](auto v) { return v.spent > 0; });
        return query::make<Variant>(g.key(), g.count(), buyers, query::cast<double>(buyers) / g.count(), g.mean(spent), g.stddev(spent));
      }).order_by([](auto v) { return v.name; });
  const auto test = variants.zip(variants.skip(1), [](auto a, auto b) {
    const auto all = (a.buyers + b.buyers) / (a.visitors + b.visitors);
    const auto z = (b.rate - a.rate) / query::sqrt(all * (1 - all) * (1 / a.visitors + 1 / b.visitors));
    return query::make<Test>(b.rate / a.rate - 1, z, query::erfc(query::abs(z) / query::sqrt(2.0)));
  });

  const double z = (0.2 - 0.1) / std::sqrt(0.15 * 0.85 * 2 / 200);
  return answer<Variant>(variants, {{"A", 200, 20, 0.1, 1, std::sqrt(20 * 81 + 180) / std::sqrt(199)},
                                    {"B", 200, 40, 0.2, 1.6, std::sqrt(40 * 6.4 * 6.4 + 160 * 1.6 * 1.6) / std::sqrt(199)}}) +
         answer<Test>(test, {{1, z, std::erfc(z / std::sqrt(2.0))}});
}
