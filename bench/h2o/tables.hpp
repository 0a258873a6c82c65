// The tables of the H2O db-benchmark (github.com/duckdblabs/db-benchmark): one for its group-by questions, four for its joins.
//
// Made from a fixed seed, so that each run and each engine has the same rows; write() leaves them where peers.py reads them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "table_files.hpp"

namespace h2o {

struct G { std::string id1, id2, id3; std::int32_t id4, id5, id6, v1, v2; double v3; };
QUERY_RECORD(G, id1, id2, id3, id4, id5, id6, v1, v2, v3);
struct X { std::int32_t id1, id2, id3; std::string id4, id5, id6; double v1; };
QUERY_RECORD(X, id1, id2, id3, id4, id5, id6, v1);
struct Small { std::int32_t id1; std::string id4; double v2; };
QUERY_RECORD(Small, id1, id4, v2);
struct Medium { std::int32_t id1, id2; std::string id4, id5; double v2; };
QUERY_RECORD(Medium, id1, id2, id4, id5, v2);
struct Big { std::int32_t id1, id2, id3; std::string id4, id5, id6; double v2; };
QUERY_RECORD(Big, id1, id2, id3, id4, id5, id6, v2);

class tables {
 public:
  query::columns_of<G> g;
  query::columns_of<X> x;
  query::columns_of<Small> small;
  query::columns_of<Medium> medium;
  query::columns_of<Big> big;

  explicit tables(std::size_t n) : random_(108) {
    constexpr std::size_t k = 100;
    auto& [g1, g2, g3, g4, g5, g6, gv1, gv2, gv3] = g.fields;
    for (std::size_t i = 0; i < n; ++i) {
      g1.push_back(padded(random_.up_to(k), 3));
      g2.push_back(padded(random_.up_to(k), 3));
      g3.push_back(padded(random_.up_to(n / k), 10));
      g4.push_back(random_.up_to(k));
      g5.push_back(random_.up_to(k));
      g6.push_back(random_.up_to(n / k));
      gv1.push_back(random_.up_to(5));
      gv2.push_back(random_.up_to(15));
      gv3.push_back(random_.value());
    }
    const std::size_t few = std::max<std::size_t>(n / 1'000'000, 10), some = std::max<std::size_t>(n / 1'000, 100);
    const keys k1 = make_keys(few), k2 = make_keys(some), k3 = make_keys(n);
    auto& [x1, x2, x3, x4, x5, x6, xv] = x.fields;
    x1 = sample(k1, left, n);
    x2 = sample(k2, left, n);
    x3 = sample(k3, left, n);
    texts(x1, x4), texts(x2, x5), texts(x3, x6), values(n, xv);
    auto& [s1, s4, sv] = small.fields;
    s1 = sample(k1, right, few);
    texts(s1, s4), values(few, sv);
    auto& [m1, m2, m4, m5, mv] = medium.fields;
    m1 = sample(k1, right, some);
    m2 = sample(k2, right, some);
    texts(m1, m4), texts(m2, m5), values(some, mv);
    auto& [b1, b2, b3, b4, b5, b6, bv] = big.fields;
    b1 = sample(k1, right, n);
    b2 = sample(k2, right, n);
    b3 = sample(k3, right, n);
    texts(b1, b4), texts(b2, b5), texts(b3, b6), values(n, bv);
  }

  void write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    bench::write_table(folder, "g", g);
    bench::write_table(folder, "x", x);
    bench::write_table(folder, "small", small);
    bench::write_table(folder, "medium", medium);
    bench::write_table(folder, "big", big);
  }

 private:
  // Nine tenths of n keys are on both sides, a tenth on the left one alone, and as many others on the right one alone.
  struct keys {
    std::vector<std::int32_t> of[2];
  };
  static constexpr int left = 0, right = 1;
  keys make_keys(std::size_t n) {
    std::vector<std::int32_t> all(n + n / 10);
    std::iota(all.begin(), all.end(), 1);
    shuffle(all);
    const auto at = [&](std::size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
    const std::size_t both = n - n / 10;
    keys k;
    k.of[left].assign(all.begin(), at(n));
    k.of[right].assign(all.begin(), at(both));
    k.of[right].insert(k.of[right].end(), at(n), all.end());
    return k;
  }
  template <class V> void shuffle(std::vector<V>& v) {
    for (std::size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[random_.next() % i]);
  }
  // n keys: each once, as far as they go, then any of them.
  std::vector<std::int32_t> sample(const keys& k, int side, std::size_t n) {
    const auto& from = k.of[side];
    std::vector<std::int32_t> v(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(std::min(n, from.size())));
    while (v.size() < n) v.push_back(from[random_.next() % from.size()]);
    shuffle(v);
    return v;
  }
  static std::string padded(std::int32_t i, int width) {
    char text[16];
    std::snprintf(text, sizeof text, "id%0*d", width, i);
    return text;
  }
  static void texts(const std::vector<std::int32_t>& of, std::vector<std::string>& to) {
    to.reserve(of.size());
    for (const std::int32_t i : of) to.push_back("id" + std::to_string(i));
  }
  void values(std::size_t n, std::vector<double>& to) {
    to.reserve(n);
    for (std::size_t i = 0; i < n; ++i) to.push_back(random_.value());
  }

  bench::numbers random_;
};

}  // namespace h2o
