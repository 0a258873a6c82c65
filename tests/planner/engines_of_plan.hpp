// Where the vertices of a plan run, as explain() says it.
#pragma once

#include <string>
#include <vector>

// "gpu" or "cpu" of the vertices in their order; the line itself where it says neither.
inline std::vector<std::string> engines_of(const std::string& plan) {
  std::vector<std::string> engines;
  std::size_t at = plan.find("machine graph");
  for (int n = 1;; ++n) {
    at = plan.find("v" + std::to_string(n) + " ", at);
    if (at == std::string::npos) return engines;
    const std::string line = plan.substr(at, plan.find('\n', at) - at);
    const std::size_t gpu = line.find(" gpu: "), cpu = line.find(" cpu");
    engines.push_back(gpu < cpu ? "gpu" : cpu != std::string::npos ? "cpu" : line);
  }
}
