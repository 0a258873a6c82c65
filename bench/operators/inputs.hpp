// The table that the operators are tried on: keys of several shapes, and build sides for joins.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "table_files.hpp"

namespace operators {

// Keys: so many different ones of any order, Zipf's distribution, sorted, and in runs. k and d are any numbers, text has 16 characters.
struct Row {
  std::int32_t hundred, thousands, million, each, zipf, sorted, clustered, k;
  double d;
  std::string text;
};
QUERY_RECORD(Row, hundred, thousands, million, each, zipf, sorted, clustered, k, d, text);
// A row of a join's right side.
struct Side {
  std::int32_t key;
  double v;
};
QUERY_RECORD(Side, key, v);

class inputs {
 public:
  query::columns_of<Row> t;
  // one: keys 1 to 1,000; large: a row for each row of t; ten, hundred, thousand: so many rows for each of their keys.
  query::columns_of<Side> one, large, ten, hundred, thousand;
  std::size_t rows;

  explicit inputs(std::size_t n) : rows(n), random_(2026) {
    auto& [c2, c4, c6, cn, cz, cs, cc, k, d, text] = t.fields;
    const std::size_t million = std::min<std::size_t>(n, 1'000'000);
    const zipf_numbers zipf(million);
    std::int32_t run = 0;
    for (std::size_t i = 0; i < n; ++i) {
      c2.push_back(random_.up_to(100));
      c4.push_back(random_.up_to(10'000));
      c6.push_back(random_.up_to(million));
      cn.push_back(random_.up_to(n));
      cz.push_back(zipf.of(random_.next()));
      cs.push_back(static_cast<std::int32_t>(i * million / n) + 1);
      if (i % 100 == 0) run = random_.up_to(million);
      cc.push_back(run);
      k.push_back(random_.up_to(1'000'000'000));
      d.push_back(random_.value());
      char name[24];
      std::snprintf(name, sizeof name, "name%012d", random_.up_to(million));
      text.emplace_back(name);
    }
    side(one, 1'000, 1);
    side(large, n, 1);
    side(ten, million, 10);
    side(hundred, million, 100);
    side(thousand, million, 1'000);
  }

  void write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    bench::write_table(folder, "t", t);
    bench::write_table(folder, "one", one);
    bench::write_table(folder, "large", large);
    bench::write_table(folder, "ten", ten);
    bench::write_table(folder, "hundred", hundred);
    bench::write_table(folder, "thousand", thousand);
  }

 private:
  // Exponent 1, by the inverse of its approximate distribution: number k about as often as 1 / k.
  class zipf_numbers {
   public:
    explicit zipf_numbers(std::size_t n) : n_(n), log_(std::log(static_cast<double>(n) + 1)) {}
    std::int32_t of(std::uint64_t random) const {
      const double u = static_cast<double>(random >> 11) * 0x1p-53;
      const auto k = static_cast<std::size_t>(std::exp(u * log_));
      return static_cast<std::int32_t>(std::clamp<std::size_t>(k, 1, n_));
    }

   private:
    std::size_t n_;
    double log_;
  };
  // n rows of n / matches keys, in any order.
  void side(query::columns_of<Side>& to, std::size_t n, std::size_t matches) {
    auto& [key, v] = to.fields;
    const std::size_t keys = std::max<std::size_t>(n / matches, 1);
    for (std::size_t i = 0; i < n; ++i) {
      key.push_back(static_cast<std::int32_t>(i % keys) + 1);
      v.push_back(random_.value());
    }
    for (std::size_t i = n; i > 1; --i) std::swap(key[i - 1], key[random_.next() % i]);
  }

  bench::numbers random_;
};

}  // namespace operators
