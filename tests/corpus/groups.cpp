#include "corpus/forms.hpp"

namespace corpus {

std::vector<form> groups() {
  collector to("groups");
  TRACED_GROUP("key", [](auto g) { return g.key(); });
  TRACED_GROUP("having count()", [](auto g) { return g.count() > 2; });
  TRACED_GROUP("having size() and key", [](const auto& g) { return g.size() > 2 && g.key() % 2 == 0; });
  TRACED_GROUP("count(f)", [](auto g) { return g.count([](auto d) { return d.id > 0; }); });
  TRACED_GROUP("count(f) with branches", [](auto g) { return g.count([](auto d) { if (d.hot) return d.id > 0; return d.price > 2; }); });
  TRACED_GROUP("count(f) of what is not null", [](auto g) { return g.count([](auto d) { return d.fee; }); });
  TRACED_GROUP("sum(f)", [](auto g) { return g.sum([](auto d) { return d.price * d.id; }); });
  TRACED_GROUP("sum(f) of shorts", [](auto g) { return g.sum([](auto d) { return d.lots; }); });
  TRACED_GROUP("sum(f) of floats, in double", [](auto g) { return g.sum([](auto d) { return d.x[1]; }); });
  TRACED_GROUP("sum(f) of bools", [](auto g) { return g.sum([](auto d) { return d.hot; }); });
  TRACED_GROUP("sum(f) of nulls and values", [](auto g) { return g.sum([](auto d) { return d.lot; }); });
  TRACED_GROUP("sum(f) of arrays", [](auto g) { return g.sum([](auto d) { return d.x; }); });
  TRACED_GROUP("sum(f) with the group", [](auto g) { return g.sum([&](auto d) { return d.price / g.count(); }); });
  TRACED_GROUP("mean(f)", [](auto g) { return g.mean([](auto d) { return d.price; }); });
  TRACED_GROUP("mean(f) of 64-bit integers", [](auto g) { return g.mean([](auto d) { return d.when * 900'000'000; }); });
  TRACED_GROUP("average(f) of integers", [](auto g) { return g.average([](auto d) { return d.lots; }); });
  TRACED_GROUP("mean(f) of nulls and values", [](auto g) { return g.mean([](auto d) { return d.fee; }); });
  TRACED_GROUP("mean(f) of arrays", [](auto g) { return g.mean([](auto d) { return d.x; }); });
  TRACED_GROUP("min(f) and max(f)", [](auto g) { return g.max([](auto d) { return d.price; }) - g.min([](auto d) { return d.price; }); });
  TRACED_GROUP("min(f) passes over NaNs", [](auto g) { return g.min([](auto d) { return d.weight; }); });
  TRACED_GROUP("max(f) passes over NaNs", [](auto g) { return g.max([](auto d) { return d.weight; }); });
  TRACED_GROUP("max(f) of shorts", [](auto g) { return g.max([](auto d) { return d.lots; }); });
  TRACED_GROUP("min(f) of nulls and values", [](auto g) { return g.min([](auto d) { return d.lot; }); });
  TRACED_GROUP("max(f) of strings", [](auto g) { return g.max([](auto d) { return d.name; }); });
  TRACED_GROUP("min(f) of null strings", [](auto g) { return g.min([](auto d) { return d.note; }); });
  TRACED_GROUP("max(f) of enums", [](auto g) { return g.max([](auto d) { return d.side; }); });
  TRACED_GROUP("arg_max(f).field", [](auto g) { return g.arg_max([](auto d) { return d.price; }).name; });
  TRACED_GROUP("arg_min(f), a row", [](auto g) { return g.arg_min([](auto d) { return d.weight; }); });
  TRACED_GROUP("arg_min(f) of nulls and values", [](auto g) { return g.arg_min([](auto d) { return d.lot; }); });
  TRACED_GROUP("arg_max(f) of strings", [](auto g) { return g.arg_max([](auto d) { return d.name; }).id; });
  TRACED_GROUP("variance(f)", [](auto g) { return g.variance([](auto d) { return d.price; }); });
  TRACED_GROUP("stddev(f) of nulls and values", [](auto g) { return g.stddev([](auto d) { return d.fee; }); });
  TRACED_GROUP("any(f) and all(f)", [](auto g) { return g.any([](auto d) { return d.id > 7; }) || g.all([](auto d) { return d.price < 2; }); });
  TRACED_GROUP("first() and last()", [](auto g) { return g.first().price - g.last().price; });
  TRACED_GROUP("first(f) of nulls and values", [](auto g) { return g.first([](auto d) { return d.note; }); });
  TRACED_GROUP("last(f) of strings", [](auto g) { return g.last([](auto d) { return d.name; }); });
  TRACED_GROUP("g[i]", [](auto g) { return g[0].price + g[g.size() - 1].leg.total(); });
  TRACED_GROUP("rows()", [](const auto& g) { return g.rows(); });
  TRACED_GROUP("collect()", [](const auto& g) { return g.collect(); });
  TRACED_GROUP("query::sum over rows()", [](const auto& g) { return query::sum(g.rows(), [](auto d) { return d.leg.qty; }); });
  TRACED_GROUP("query::fold over rows()", [](const auto& g) { return query::fold(g.rows(), 0.0, [](auto s, auto d) { return s * 0.5 + d.price; }); });
  TRACED_GROUP("aggregate(seed, update, combine)", [](auto g) { return g.aggregate(0.0, [](auto s, auto d) { return s * 0.5 + d.price; }, [](auto a, auto b) { return a + b; }); });
  TRACED_GROUP("aggregate(..., finish)", [](auto g) { return g.aggregate(std::tuple(0.0, 0), [](auto s, auto d) { auto [sum, n] = s; if (d.hot) return std::tuple(sum + d.price, n + 1); return std::tuple(sum, n + 0); }, [](auto a, auto) { return a; }, [](auto s) { return std::get<0>(s) / (std::get<1>(s) + 1); }); });
  TRACED_GROUP("branches by aggregates", [](auto g) { if (g.count() > 3) return g.sum([](auto d) { return d.price; }); if (g.first().hot) return g.last().price; return 0 * g.first().price; });
  TRACED_GROUP("a tuple of aggregates", [](auto g) { return std::tuple(g.key(), g.count(), g.max([](auto d) { return d.lot; })); });
  TRACED_GROUP("the group itself", [](auto g) { return g; });
  OPAQUE_GROUP("range-for over a group", "a loop over the rows of a group", [](const auto& g) { double s = 0; for (const auto& d : g) s += d.price; return s; });
  OPAQUE_GROUP("range-for over a group, typed", "a loop over the rows of a group", [](const auto& g) { double s = 0; for (const Deal& d : g) s += d.price; return s; });
  OPAQUE_GROUP("std::sort of the rows", "a loop over the rows of a group", [](const auto& g) { auto r = g.rows(); std::sort(r.begin(), r.end(), [](const auto& a, const auto& b) { return a.price < b.price; }); return r[r.size() / 2].price; });
  OPAQUE_GROUP("std::accumulate over a group", "a loop over the rows of a group", [](const auto& g) { return std::accumulate(g.begin(), g.end(), 0.0, [](double s, const Deal& d) { return s + d.price; }); });
  OPAQUE_GROUP("a vector of the rows", PLAIN, [](const auto& g) { std::vector<Deal> v = g.rows(); return v.size(); });
  OPAQUE_GROUP("a function of the group", PLAIN, [](const auto& g) { return plain_helper(g); });
  OPAQUE_GROUP("a function of a row", PLAIN, [](const auto& g) { return plain_helper(g[0]); });
  OPAQUE_GROUP("an aggregate in a typed local", PLAIN, [](const auto& g) { const double s = g.sum([](auto d) { return d.price; }); return s; });
  OPAQUE_GROUP("sum(f), f names the row's type", "sum(f): the parameter of f is not generic", [](const auto& g) { return g.sum([](const Deal& d) { return d.price; }); });
  OPAQUE_GROUP("sum(f), f is noexcept", "sum(f): f is noexcept", [](const auto& g) { return g.sum([](const auto& d) noexcept { return d.price * 2; }); });
  OPAQUE_GROUP("median(f)", "median, quantile, count_distinct and collect(f) of a group", [](const auto& g) { return g.median([](auto d) { return d.price; }); });
  OPAQUE_GROUP("count_distinct(f)", "median, quantile, count_distinct and collect(f) of a group", [](const auto& g) { return g.count_distinct([](auto d) { return d.name; }); });
  OPAQUE_GROUP("collect(f)", "median, quantile, count_distinct and collect(f) of a group", [](const auto& g) { return g.collect([](auto d) { return d.id; }); });
  OPAQUE_GROUP("approx_quantile(f, q)", "a sketch of a group with its rows", [](const auto& g) { return g.approx_quantile([](auto d) { return d.price; }, 0.9); });
  OPAQUE_GROUP("arg_min(f, less)", "an aggregate of a group by a user-defined order", [](const auto& g) { return g.arg_min([](auto d) { return d.price; }, [](double a, double b) { return a > b; }).id; });
  OPAQUE_GROUP("min(f) of arrays", "min and max of a group of values that are no numbers", [](const auto& g) { return g.min([](auto d) { return d.x; }); });
  OPAQUE_GROUP("named: const Group&", "its parameter is not generic", [](const Deals& g) { return g.count(); });
  return std::move(to.forms);
}

}  // namespace corpus
