// Where explain() says that a query runs. A plan that stays on the CPU names the GPU, too, as in `cpu: not on gpu: its rows come from a
// stream`: it does not do to look for "gpu: ".
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>

// The line of a vertex, `v2 group_by    gpu: NVIDIA H200`, or of a fold, `sum: gpu: NVIDIA H200`, that is the GPU's.
inline bool names_the_gpu(std::string_view line) {
  if (line.find("went to the cpu: ") != std::string_view::npos) return false;  // and says why: `gpu: memory: ...`
  return line.find("  gpu: ") != std::string_view::npos || line.find(": gpu: ") != std::string_view::npos;
}

// Something is the GPU's, and nothing that is accelerated and computes is the CPU's, but for loops themselves, which the host drives.
inline testing::AssertionResult planned_there(const std::string& plan) {
  const std::string refused = "not on gpu: ";
  bool there = false;
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);) {
    there = there || names_the_gpu(line);
    const std::size_t at = line.find(refused);
    if (at == std::string::npos) continue;
    const std::string why = line.substr(at + refused.size());
    if (why.rfind("not accelerated", 0) != 0 && why != "nothing to compute")
      return testing::AssertionFailure() << "stays on the CPU: " << line << "\nin\n" << plan;
  }
  if (!there) return testing::AssertionFailure() << "nothing is planned for the GPU in\n" << plan;
  return testing::AssertionSuccess();
}

// A vertex of that name, or the fold, is the GPU's, whatever becomes of the others.
inline testing::AssertionResult planned_there(const std::string& plan, std::string_view vertex) {
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);)
    if (names_the_gpu(line) && line.find(vertex) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << vertex << " is not planned for the GPU in\n" << plan;
}
