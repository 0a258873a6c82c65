// Count, mean and sum of squared distances from the mean, from value to value: what a variance is made of.
//
// Welford (Technometrics 1962), merged as Chan, Golub and LeVeque (1979). The mean is kept in two doubles, its rounding errors in
// the lower one (Knuth's two-sum): so each value's distance from it is right to the last bits, and the sum as good as that of a
// second pass over the values, however far these lie from 0. The GPU (codegen/group_aggregates.cpp) and the loops over traced
// groups (traced_groups.hpp) go on from value to value in the same way.
//
//   moments m; for (double x : values) m.add(x); const double variance = m.squares / double(m.n - 1);
#pragma once

#include <cstdint>

namespace query::agg {

struct moments {
  std::int64_t n = 0;
  double mean = 0, low = 0, squares = 0;  // the mean is mean + low

  void add(double x) {
    const double d = (x - mean) - low, by = d * (1 / static_cast<double>(++n));  // no division between one value and the next
    squares += d * (d - by);
    move(by);
  }
  void merge(const moments& o) {
    if (!o.n) return;
    if (!n) {
      *this = o;
      return;
    }
    const double all = static_cast<double>(n + o.n), d = (o.mean - mean) + (o.low - low), part = static_cast<double>(o.n) / all;
    squares += o.squares + d * d * static_cast<double>(n) * part;
    move(d * part);
    n += o.n;
  }

 private:
  // Moves the mean, and keeps what rounding took.
  void move(double by) {
    const double next = mean + by, moved = next - mean;
    low += (mean - (next - moved)) + (by - moved);
    mean = next;
  }
};

}  // namespace query::agg
