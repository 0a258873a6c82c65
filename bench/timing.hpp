// Interleaved timing of several ways to do one thing: rounds of all of them, then medians, so that noise meets all alike.
//
//   bench::race r("filter+sum");
//   r.add("expert loop", [&] { return expert(); });
//   r.add("query", [&] { return ours(); });
//   r.run(9);                       // prints medians and each one's ratio to the first
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

class race {
 public:
  explicit race(std::string title) : title_(std::move(title)) {}
  // f gives a double by which the answers are compared.
  void add(std::string name, std::function<double()> f) { runners_.push_back({std::move(name), std::move(f), {}, 0}); }
  void run(int rounds) {
    for (int r = -1; r < rounds; ++r)  // one round to warm up
      for (runner& x : runners_) {
        const auto begin = std::chrono::steady_clock::now();
        x.answer = x.f();
        const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        if (r >= 0) x.ms.push_back(ms);
      }
    std::printf("%s\n", title_.c_str());
    for (runner& x : runners_) {
      std::vector<double> ratios;
      for (std::size_t i = 0; i < x.ms.size(); ++i) ratios.push_back(runners_.front().ms[i] / x.ms[i]);
      std::printf("  %-44s %10.2f ms   speed against the first %6.2f   answer %.10g\n", x.name.c_str(), median(x.ms), median(ratios), x.answer);
    }
  }

 private:
  struct runner {
    std::string name;
    std::function<double()> f;
    std::vector<double> ms;
    double answer;
  };
  static double median(std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  }
  std::string title_;
  std::vector<runner> runners_;
};

}  // namespace bench
