// Random queries: traced predicates and projections from a small set, composed at run time, against the same loops by hand.
// QUERY_TEST_SEED=n draws others, QUERY_TEST_ROUNDS=n times as many (random_rounds.hpp).
#include <functional>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/random_rounds.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

// A step of a query over trades, and what it does to a vector.
struct step {
  const char* name;
  std::function<query::Query<trade>(const query::Query<trade>&, std::int64_t)> lazy;
  std::function<std::vector<trade>(const std::vector<trade>&, std::int64_t)> plain;
};
template <class F> step filter(const char* name, F make) {
  return {name, [=](const query::Query<trade>& q, std::int64_t k) { return query::Query<trade>(q.where(make(k))); },
          [=](const std::vector<trade>& v, std::int64_t k) { return kept(v, make(k)); }};
}
template <class F, class N> step change(const char* name, F make, N native) {
  return {name, [=](const query::Query<trade>& q, std::int64_t k) { return query::Query<trade>(q.select(make(k))); },
          [=](const std::vector<trade>& v, std::int64_t k) { return selected(v, native(k)); }};
}

const std::vector<step>& steps() {
  static const std::vector<step> all = {
      filter("amount >", [](std::int64_t k) { return [k](const auto& t) { return t.amount > k * 10; }; }),
      filter("key range", [](std::int64_t k) { return [k](const auto& t) { return t.key >= -2 + k % 2 && t.key < k; }; }),
      filter("price or hot", [](std::int64_t k) { return [k](const auto& t) { return t.price * 2 > static_cast<double>(k) || t.hot; }; }),
      filter("has lot", [](std::int64_t) { return [](const auto& t) { return t.lot.has_value(); }; }),
      filter("lot is null or", [](std::int64_t k) { return [k](const auto& t) { return !t.lot.has_value() || *t.lot != k % 10; }; }),
      filter("name", [](std::int64_t k) { return [k](const auto& t) { return k % 2 ? t.name != "ab" : t.name < "b"; }; }),
      filter("leg", [](std::int64_t k) { return [k](const auto& t) { return t.legs[1] + t.legs[0] > k % 3; }; }),
      filter("branches",
             [](std::int64_t k) {
               return [k](const auto& t) {
                 if (t.key == k) return true;
                 if (t.amount % 2 == 0) return t.price > 0;
                 return t.way != side::none;
               };
             }),
      change(
          "shift",
          [](std::int64_t k) {
            return [k](auto t) {
              return query::make<trade>(t.id, t.key, t.amount + k, t.price, t.name, t.lot, t.note, t.way, !t.hot, t.legs);
            };
          },
          [](std::int64_t k) {
            return [k](trade t) {
              t.amount = static_cast<std::int64_t>(static_cast<std::uint64_t>(t.amount) + static_cast<std::uint64_t>(k));
              t.hot = !t.hot;
              return t;
            };
          }),
      change(
          "mix",
          [](std::int64_t k) {
            return [k](auto t) {
              return query::make<trade>(t.id, query::iff(t.hot, t.key % 100, query::cast<std::int32_t>(k)), t.amount,
                                        t.price * 0.5 + t.key % 10, t.name, t.lot, t.note, t.way, t.hot, t.legs);
            };
          },
          [](std::int64_t k) {
            return [k](trade t) {
              t.price = t.price * 0.5 + t.key % 10;
              t.key = t.hot ? t.key % 100 : static_cast<std::int32_t>(k);
              return t;
            };
          }),
      {"take",
       [](const query::Query<trade>& q, std::int64_t k) { return query::Query<trade>(q.take(static_cast<std::uint64_t>(400 + k))); },
       [](const std::vector<trade>& v, std::int64_t k) {
         return std::vector<trade>(v.begin(), v.begin() + std::min<std::ptrdiff_t>(std::ssize(v), 400 + k));
       }},
      {"skip", [](const query::Query<trade>& q, std::int64_t k) { return query::Query<trade>(q.skip(static_cast<std::uint64_t>(k))); },
       [](const std::vector<trade>& v, std::int64_t k) {
         return std::vector<trade>(v.begin() + std::min<std::ptrdiff_t>(std::ssize(v), k), v.end());
       }},
      {"sort", [](const query::Query<trade>& q, std::int64_t) { return query::Query<trade>(q.order_by([](auto t) { return t.name; })); },
       [](std::vector<trade> v, std::int64_t) {
         std::stable_sort(v.begin(), v.end(), [](const trade& a, const trade& b) { return a.name < b.name; });
         return v;
       }},
      {"reverse", [](const query::Query<trade>& q, std::int64_t) { return query::Query<trade>(q.reverse()); },
       [](const std::vector<trade>& v, std::int64_t) { return std::vector<trade>(v.rbegin(), v.rend()); }},
      {"distinct",
       [](const query::Query<trade>& q, std::int64_t) {
         return query::Query<trade>(q.distinct_by([](auto t) { return t.amount; }).as_ordered());
       },
       [](const std::vector<trade>& v, std::int64_t) { return first_of_each(v, [](const trade& t) { return t.amount; }); }},
      {"concat",
       [](const query::Query<trade>& q, std::int64_t k) { return query::Query<trade>(q.concat(q.take(static_cast<std::uint64_t>(k)))); },
       [](const std::vector<trade>& v, std::int64_t k) {
         std::vector<trade> r = v;
         r.insert(r.end(), v.begin(), v.begin() + std::min<std::ptrdiff_t>(std::ssize(v), k));
         return r;
       }},
  };
  return all;
}

CONFORMS(random, composed_queries_give_what_loops_give, "where", "select", "take", "skip", "order_by", "reverse", "distinct_by", "concat",
         "group_by") {
  for (std::uint64_t round = 0; round < rounds(in_processes(e) ? 50 : 150); ++round) {
    std::mt19937_64 g(seed() * 100003 + round);
    const auto& d = trades()[g() % trades().size()];
    if (d.name == "extremes") continue;  // products of extremes overflow
    std::string trace = d.name + ", round " + std::to_string(round) + ":";
    query::Query<trade> q = source(e, d.rows);
    std::vector<trade> wanted = d.rows;
    for (std::uint64_t n = 1 + g() % 6; n > 0; --n) {
      const step& s = steps()[g() % steps().size()];
      const auto k = static_cast<std::int64_t>(g() % 50);
      trace += std::string(" ") + s.name + "(" + std::to_string(k) + ")";
      q = s.lazy(q, k);
      wanted = s.plain(wanted, k);
    }
    SCOPED_TRACE(trace);
    EXPECT_ROWS(q.to_vector(), wanted);
    EXPECT_EQ(q.count(), std::ssize(wanted));
    std::int64_t sum = 0;
    for (const trade& t : wanted) sum += t.amount;
    EXPECT_EQ(q.sum([](auto t) { return t.amount; }), sum);
    std::vector<std::pair<std::int32_t, std::int64_t>> groups;
    for (const auto& [key, rows] : grouped(wanted, [](const trade& t) { return t.key; })) groups.emplace_back(key, rows.size());
    EXPECT_ROWS(selected(q.count_by([](auto t) { return t.key; }).as_ordered().to_vector(),
                         [](const auto& r) { return std::pair<std::int32_t, std::int64_t>(std::get<0>(r), std::get<1>(r)); }),
                groups);
  }
}

}  // namespace
}  // namespace conformance
