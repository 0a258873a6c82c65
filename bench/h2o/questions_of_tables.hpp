// The questions of the H2O db-benchmark over queries of its tables, whatever these are read of.
//
//   auto all = h2o::questions(query::from(g), query::from(x), query::from(small), query::from(medium), query::from(big));
#pragma once

#include "h2o/tables.hpp"
#include "questions.hpp"

namespace h2o {

using bench::make;
using bench::question;

struct by_text { std::string key; std::int64_t v1; };
QUERY_RECORD(by_text, key, v1);
struct by_texts { std::string a, b; std::int64_t v1; };
QUERY_RECORD(by_texts, a, b, v1);
struct sum_mean { std::string key; std::int64_t v1; double v3; };
QUERY_RECORD(sum_mean, key, v1, v3);
struct three_means { std::int32_t key; double v1, v2, v3; };
QUERY_RECORD(three_means, key, v1, v2, v3);
struct three_sums { std::int32_t key; std::int64_t v1, v2; double v3; };
QUERY_RECORD(three_sums, key, v1, v2, v3);
struct middle { std::int32_t a, b; double median_v3; std::optional<double> sd_v3; };
QUERY_RECORD(middle, a, b, median_v3, sd_v3);
struct range { std::string key; std::int64_t range; };
QUERY_RECORD(range, key, range);
struct largest_v3 { std::int32_t key; double v3; };
QUERY_RECORD(largest_v3, key, v3);
struct fit { std::string a; std::int32_t b; double r2; };
QUERY_RECORD(fit, a, b, r2);
struct six { std::string a, b, c; std::int32_t d, e, f; double v3; std::int64_t count; };
QUERY_RECORD(six, a, b, c, d, e, f, v3, count);

struct j1_row { std::int32_t id1, id2, id3; std::string id4, id5, id6; double v1; std::string small_id4; double v2; };
QUERY_RECORD(j1_row, id1, id2, id3, id4, id5, id6, v1, small_id4, v2);
struct j2_row {
  std::int32_t id1, id2, id3;
  std::string id4, id5, id6;
  double v1;
  std::int32_t medium_id1;
  std::string medium_id4, medium_id5;
  double v2;
};
QUERY_RECORD(j2_row, id1, id2, id3, id4, id5, id6, v1, medium_id1, medium_id4, medium_id5, v2);
struct j3_row {
  std::int32_t id1, id2, id3;
  std::string id4, id5, id6;
  double v1;
  std::optional<std::int32_t> medium_id1;
  std::optional<std::string> medium_id4, medium_id5;
  std::optional<double> v2;
};
QUERY_RECORD(j3_row, id1, id2, id3, id4, id5, id6, v1, medium_id1, medium_id4, medium_id5, v2);
struct j4_row {
  std::int32_t id1, id2, id3;
  std::string id4, id5, id6;
  double v1;
  std::int32_t medium_id1, medium_id2;
  std::string medium_id4;
  double v2;
};
QUERY_RECORD(j4_row, id1, id2, id3, id4, id5, id6, v1, medium_id1, medium_id2, medium_id4, v2);
struct j5_row {
  std::int32_t id1, id2, id3;
  std::string id4, id5, id6;
  double v1;
  std::int32_t big_id1, big_id2;
  std::string big_id4, big_id5, big_id6;
  double v2;
};
QUERY_RECORD(j5_row, id1, id2, id3, id4, id5, id6, v1, big_id1, big_id2, big_id4, big_id5, big_id6, v2);
struct kept { std::int32_t id3; double v1; };
QUERY_RECORD(kept, id3, v1);

inline const auto v1 = [](auto r) { return r.v1; };
inline const auto v2 = [](auto r) { return r.v2; };
inline const auto v3 = [](auto r) { return r.v3; };

template <class Gs, class Xs, class Smalls, class Mediums, class Bigs>
std::vector<question> questions(const Gs& g, const Xs& x, const Smalls& small, const Mediums& medium, const Bigs& big) {
  std::vector<question> all;
  all.push_back(make<1>("q1", g.group_by([](auto r) { return r.id1; }).select([](auto s) {
    return query::make<by_text>(s.key(), s.sum(v1));
  })));
  all.push_back(make<2>("q2", g.group_by([](auto r) { return std::tuple(r.id1, r.id2); }).select([](auto s) {
    return query::make<by_texts>(std::get<0>(s.key()), std::get<1>(s.key()), s.sum(v1));
  })));
  all.push_back(make<1, 2>("q3", g.group_by([](auto r) { return r.id3; }).select([](auto s) {
    return query::make<sum_mean>(s.key(), s.sum(v1), s.mean(v3));
  })));
  all.push_back(make<1, 2, 3>("q4", g.group_by([](auto r) { return r.id4; }).select([](auto s) {
    return query::make<three_means>(s.key(), s.mean(v1), s.mean(v2), s.mean(v3));
  })));
  all.push_back(make<1, 2, 3>("q5", g.group_by([](auto r) { return r.id6; }).select([](auto s) {
    return query::make<three_sums>(s.key(), s.sum(v1), s.sum(v2), s.sum(v3));
  })));
  all.push_back(make<2, 3>("q6", g.group_by([](auto r) { return std::tuple(r.id4, r.id5); }).select([](auto s) {
    return query::make<middle>(std::get<0>(s.key()), std::get<1>(s.key()), s.median(v3), s.stddev(v3));
  })));
  all.push_back(make<1>("q7", g.group_by([](auto r) { return r.id3; }).select([](auto s) {
    return query::make<range>(s.key(), query::cast<std::int64_t>(s.max(v1)) - query::cast<std::int64_t>(s.min(v2)));
  })));
  using two = std::pair<double, double>;  // the largest first
  const auto largest_two = query::aggregates::aggregate(
      two(-1, -1),
      [](const two& s, const auto& r) {
        return r.v3 > s.first ? two(r.v3, s.first) : r.v3 > s.second ? two(s.first, r.v3) : s;
      },
      [](const two& a, const two& b) {
        return a.first > b.first ? two(a.first, std::max(a.second, b.first)) : two(b.first, std::max(b.second, a.first));
      });
  all.push_back(make<1>("q8", g.aggregate_by([](auto r) { return r.id6; }, largest_two).select_many([](const auto& s) {
    const auto& [key, v3] = s;
    std::vector<largest_v3> rows{{key, v3.first}};
    if (v3.second >= 0) rows.push_back({key, v3.second});
    return rows;
  })));
  all.push_back(make<2>("q9", g.group_by([](auto r) { return std::tuple(r.id2, r.id4); }).select([](auto s) {
    const auto n = query::cast<double>(s.count()), a = query::cast<double>(s.sum(v1)), b = query::cast<double>(s.sum(v2));
    const auto aa = query::cast<double>(s.sum([](auto r) { return r.v1 * r.v1; }));
    const auto bb = query::cast<double>(s.sum([](auto r) { return r.v2 * r.v2; }));
    const auto ab = query::cast<double>(s.sum([](auto r) { return r.v1 * r.v2; }));
    const auto r = (n * ab - a * b) * (n * ab - a * b) / ((n * aa - a * a) * (n * bb - b * b));
    return query::make<fit>(std::get<0>(s.key()), std::get<1>(s.key()), r);
  })));
  const auto ids = [](auto r) { return std::tuple(r.id1, r.id2, r.id3, r.id4, r.id5, r.id6); };
  all.push_back(make<6, 7>("q10", g.group_by(ids).select([](auto s) {
    const auto k = s.key();
    return query::make<six>(std::get<0>(k), std::get<1>(k), std::get<2>(k), std::get<3>(k), std::get<4>(k), std::get<5>(k), s.sum(v3),
                            s.count());
  })));
  const auto id1 = [](auto r) { return r.id1; };
  const auto id2 = [](auto r) { return r.id2; };
  const auto id3 = [](auto r) { return r.id3; };
  const auto id5 = [](auto r) { return r.id5; };
  all.push_back(make<6, 8>("j1", x.join(small, id1, id1, [](auto l, auto r) {
    return query::make<j1_row>(l.id1, l.id2, l.id3, l.id4, l.id5, l.id6, l.v1, r.id4, r.v2);
  })));
  all.push_back(make<6, 10>("j2", x.join(medium, id2, id2, [](auto l, auto r) {
    return query::make<j2_row>(l.id1, l.id2, l.id3, l.id4, l.id5, l.id6, l.v1, r.id1, r.id4, r.id5, r.v2);
  })));
  all.push_back(make<6, 10>("j3", x.left_join(medium, id2, id2, [](auto l, auto r) {
    const auto row = [&](auto medium_id1, auto medium_id4, auto medium_id5, auto v2) {
      return query::make<j3_row>(l.id1, l.id2, l.id3, l.id4, l.id5, l.id6, l.v1, medium_id1, medium_id4, medium_id5, v2);
    };
    return r ? row(r->id1, r->id4, r->id5, r->v2) : row(std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  })));
  all.push_back(make<6, 10>("j4", x.join(medium, id5, id5, [](auto l, auto r) {
    return query::make<j4_row>(l.id1, l.id2, l.id3, l.id4, l.id5, l.id6, l.v1, r.id1, r.id2, r.id4, r.v2);
  })));
  all.push_back(make<6, 12>("j5", x.join(big, id3, id3, [](auto l, auto r) {
    return query::make<j5_row>(l.id1, l.id2, l.id3, l.id4, l.id5, l.id6, l.v1, r.id1, r.id2, r.id4, r.id5, r.id6, r.v2);
  })));
  all.push_back(make<1>("filter", x.where([](auto r) { return r.v1 > 50; }).select([](auto r) { return query::make<kept>(r.id3, r.v1); })));
  all.push_back({"filter_sum", [x] {
                   const double sum = x.where([](auto r) { return r.id1 < 6 && r.v1 > 50; }).sum(v1);
                   return std::function<std::vector<double>()>([sum] { return std::vector<double>{1, sum}; });
                 }});
  return all;
}

// Of tables that live as long as the questions do. over_records moves the rows out of them.
std::vector<question> over_records(tables& t);
std::vector<question> over_arrow(const tables& t);

}  // namespace h2o
