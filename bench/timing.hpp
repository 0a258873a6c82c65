// Interleaved timing of several ways to do one thing: rounds of all of them, then medians, so that noise meets all alike.
// Wall time is the figure; CPU time (of all threads) says how much of a difference is a neighbour's doing.
//
//   bench::race r("filter+sum");
//   r.add("expert loop", [&] { return expert(); });
//   r.add("query", [&] { return ours(); });
//   r.run(9);                       // prints medians and each one's ratio to the first
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

class race {
 public:
  explicit race(std::string title) : title_(std::move(title)) {}
  // f gives a double by which the answers are compared.
  void add(std::string name, std::function<double()> f) { runners_.push_back({std::move(name), std::move(f), {}, {}, 0}); }
  void run(int rounds) {
    for (int r = -1; r < rounds; ++r)  // one round to warm up
      for (runner& x : runners_) {
        const auto begin = std::chrono::steady_clock::now();
        const double cpu = cpu_ms();
        x.answer = x.f();
        const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        if (r < 0) continue;
        x.ms.push_back(ms);
        x.cpu.push_back(cpu_ms() - cpu);
      }
    std::printf("%s\n", title_.c_str());
    for (runner& x : runners_) {
      const runner& first = runners_.front();
      std::vector<double> ratios;
      for (std::size_t i = 0; i < x.ms.size(); ++i) ratios.push_back(first.ms[i] / x.ms[i]);
      std::printf("  %-38s %9.2f ms, CPU %9.2f ms   speed against the first %5.2f, by CPU time %5.2f   answer %.10g\n",
                  x.name.c_str(), median(x.ms), median(x.cpu), median(ratios), median(first.cpu) / median(x.cpu), x.answer);
    }
  }

  double median_of(std::size_t i) const { return median(runners_[i].ms); }  // milliseconds

 private:
  struct runner {
    std::string name;
    std::function<double()> f;
    std::vector<double> ms, cpu;
    double answer;
  };
  static double cpu_ms() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
  }
  static double median(std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  }
  std::string title_;
  std::vector<runner> runners_;
};

}  // namespace bench
