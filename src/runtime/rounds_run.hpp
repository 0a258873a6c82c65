// How the rounds of a loop ran, for explain() after the run: repeated by an engine, or vertex by vertex and why.
//
//   rounds_run ran;
//   ran.repeated(3, 18, "as CUDA graphs");
//   ran.told(20, "")   // "rounds 3 to 20 as CUDA graphs"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace query::runtime {

class rounds_run {
 public:
  void repeated(std::uint64_t first, std::uint64_t rounds, std::string_view how);
  // `all`: rounds of the loop. `why`: those that nobody repeated were run vertex by vertex; "": there were no more.
  std::string told(std::uint64_t all, std::string_view why) const;

 private:
  std::string ranges_, how_;
  std::uint64_t repeated_ = 0;
};

}  // namespace query::runtime
