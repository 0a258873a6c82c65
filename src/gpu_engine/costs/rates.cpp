#include "gpu_engine/costs/rates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "gpu_engine/gpu_session.hpp"

namespace query::gpu_engine {

namespace {

// What a step makes of the device's memory: bytes a row beside those that it reads and writes once, and how many launches
// and waits its fixed costs are worth. From runs on an H200 (bench/results): rows of a hash table are read and written in
// sectors of 32 bytes, a sort passes over keys and positions eight times.
struct device_form {
  double bytes_a_row, waits;
};
constexpr std::array<device_form, operation_count> device_forms = {{
    {0, 0},     // row_wise: fused into what follows
    {0, 6},     // collect
    {64, 20},   // group
    {256, 12},  // sort
    {128, 12},  // join
    {160, 10},  // distinct
    {0, 8},     // nearest
    {8, 20},    // group_few: tables in shared memory
}};

constexpr double waits_of_an_upload = 4;
constexpr double waits_to_put_together = 10;  // the shares of several devices
constexpr double sorted_bytes = 256;  // a row, where the first few of an order are so few that all are sorted

struct named_rate {
  const char* name;
  double rates::*at;
};
constexpr std::array<named_rate, 11> named_rates = {{{"up", &rates::up},
                                                    {"down", &rates::down},
                                                    {"up_thread", &rates::up_thread},
                                                    {"device_memory", &rates::device_memory},
                                                    {"device_operations", &rates::device_operations},
                                                    {"launch", &rates::launch},
                                                    {"host_memory", &rates::host_memory},
                                                    {"plain_operation", &rates::plain_operation},
                                                    {"call", &rates::call},
                                                    {"start", &rates::start},
                                                    {"threads", &rates::threads}}};

bool good(double x) { return std::isfinite(x) && x > 0; }

}  // namespace

std::string_view name_of(operation o) {
  constexpr std::array<std::string_view, operation_count> names = {"row_wise", "collect", "group", "sort",
                                                                   "join",     "distinct", "nearest", "group_few"};
  return names[static_cast<std::size_t>(o)];
}

bool rates::sensible() const {
  return std::all_of(named_rates.begin(), named_rates.end(), [&](const named_rate& n) { return good(this->*n.at); }) &&
         std::all_of(row.begin(), row.end(), good);
}

std::string text_of(const rates& r) {
  std::string text;
  const auto line = [&](std::string_view name, double x) {
    std::array<char, 40> digits{};
    std::snprintf(digits.data(), digits.size(), " %.17g\n", x);
    text.append(name).append(digits.data());
  };
  for (const named_rate& n : named_rates) line(n.name, r.*n.at);
  for (std::size_t i = 0; i < operation_count; ++i) line(name_of(static_cast<operation>(i)), r.row[i]);
  return text;
}

std::optional<rates> rates_from(std::string_view text) {
  rates r;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size()), space = text.substr(0, end).find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    const std::string_view name = text.substr(0, space);
    const double x = std::strtod(std::string(text.substr(space, end - space)).c_str(), nullptr);
    for (const named_rate& n : named_rates)
      if (name == n.name) r.*n.at = x;
    for (std::size_t i = 0; i < operation_count; ++i)
      if (name == name_of(static_cast<operation>(i))) r.row[i] = x;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!r.sensible()) return std::nullopt;
  return r;
}

double gpu_seconds(const rates& r, const work& w, double waits, std::size_t devices) {
  const double n = static_cast<double>(devices);
  // Host threads pick the fields while the bus carries the pieces before.
  double s = std::max(w.up / r.up / n, w.on_host / r.host_memory) + w.down / r.down / n + w.for_device / r.host_memory +
             (w.up > 0 ? waits_of_an_upload * r.launch : 0);
  for (const step& x : w.steps) {
    const device_form& f = device_forms[static_cast<std::size_t>(x.what)];
    const double bytes = x.first_few && x.rows < static_cast<double>(rows_worth_selecting) ? sorted_bytes * x.rows : x.bytes;
    s += waits * f.waits * r.launch +
         std::max((bytes + f.bytes_a_row * x.rows) / r.device_memory, x.rows * x.operations / r.device_operations) / n;
  }
  return devices > 1 ? s + waits_to_put_together * r.launch : s;
}

}  // namespace query::gpu_engine
