// Why the CPU runs a verb in a session with a GPU: what matrix.csv says in the GPU's column. gpu_reasons_test.cpp holds it against plans.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace conformance {

struct cpu_reason {
  std::string_view verb;
  std::string_view plan;    // the words of its plan; none where the plan has none
  std::string_view beside;  // what else is to be said
  std::string text() const { return std::string(plan) + (plan.empty() || beside.empty() ? "" : "; ") + std::string(beside); }
};
std::span<const cpu_reason> cpu_reasons();

// Does the GPU engine run a verb where its functions trace?
bool on_the_gpu(std::string_view verb);

}  // namespace conformance
