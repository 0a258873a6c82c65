#include "runtime/part_costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace query::runtime {

namespace {

// Threads that are started, and an arena of TBB that is filled.
constexpr double start_of_a_division = 0.3e-3;

// Seconds after which all have done their shares, where each starts late and is then as fast as it says. Those that need longer
// to start get no rows.
double common_end(const std::vector<part_cost>& all) {
  std::vector<part_cost> by_start(all);
  std::sort(by_start.begin(), by_start.end(), [](const part_cost& a, const part_cost& b) { return a.start < b.start; });
  double speed = 0, late = 0, end = 0;
  for (const part_cost& c : by_start) {
    if (speed > 0 && c.start >= end) break;
    speed += 1 / c.all_rows;
    late += c.start / c.all_rows;
    end = (1 + late) / speed;
  }
  return end;
}

}  // namespace

std::optional<division> divide(std::span<const part_costs> engines, int threads, std::optional<double> seen) {
  const auto good = [](const part_cost& c) { return std::isfinite(c.alone()) && c.start >= 0 && c.all_rows > 0; };
  if (engines.empty() || threads < 2) return std::nullopt;
  if (!std::all_of(engines.begin(), engines.end(), [&](const part_costs& c) { return good(c.here) && good(c.cpu); })) return std::nullopt;
  const int most = std::max(1, threads / 2 / static_cast<int>(engines.size()));  // of an engine
  if (most * static_cast<int>(engines.size()) >= threads) return std::nullopt;
  division d;
  std::vector<part_cost> together;
  int lent = 0;
  double memory = 0, merge = 0, hindrance = 0;
  for (const part_costs& c : engines) {
    const double wanted = std::max(c.host_threads, 1.0);
    const int given = static_cast<int>(std::clamp(std::ceil(wanted), 1.0, static_cast<double>(most)));
    lent += given;
    d.threads.push_back(given);
    d.alone.push_back(c.here.alone());
    together.push_back({c.here.start, c.here.all_rows * std::max(1.0, wanted / given)});
    memory = std::max(memory, c.host_memory);
    merge = std::max(merge, c.merge);
    hindrance = std::max(hindrance, c.hindrance);
  }
  const part_cost& cpu = engines.front().cpu;
  d.threads.push_back(threads - lent);
  d.alone.push_back(cpu.alone());
  together.push_back({cpu.start, cpu.all_rows * threads / (threads - lent)});
  const double end = common_end(together);
  double shared = 0;
  for (const part_cost& c : together) {
    d.shares.push_back(std::max(0.0, (end - c.start) / c.all_rows));
    shared += d.shares.back();
  }
  for (double& s : d.shares) s /= shared;
  if (std::count_if(d.shares.begin(), d.shares.end(), [](double s) { return s > 0; }) < 2) return std::nullopt;
  d.seconds = seen.value_or(std::max(end * (1 + hindrance), memory) + merge + start_of_a_division);
  if (d.seconds > (seen ? 1 : 1 - least_gain) * *std::min_element(d.alone.begin(), d.alone.end())) return std::nullopt;
  return d;
}

part_cost as_seen(part_cost expected, std::optional<double> seconds) {
  if (!seconds) return expected;
  expected.start = std::min(expected.start, *seconds / 2);
  expected.all_rows = *seconds - expected.start;
  return expected;
}

std::string shown_seconds(double s) {
  const auto with = [](double x, const char* unit) {
    std::array<char, 40> t{};
    std::snprintf(t.data(), t.size(), x < 9.95 ? "%.1f %s" : "%.0f %s", x, unit);
    return std::string(t.data());
  };
  if (s < 0.9995e-3) return with(s * 1e6, "us");
  return s < 0.9995 ? with(s * 1e3, "ms") : with(s, "s");
}

}  // namespace query::runtime
