// What a generated program reads of its parameters: tests on the driver double that stand in for its kernels find them by the text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu_engine/driver_double.hpp"

namespace query::gpu_engine {

// The parameter words that a function of the program reads, in the order of its text.
inline std::vector<std::uint64_t> read_by(const driver_double::generated_call& c, const std::string& function) {
  std::size_t begin = c.program.find(" " + function + "(const words& p");
  if (begin == std::string::npos) begin = c.program.find(" " + function + "(const __grid_constant__ words p)");
  if (begin == std::string::npos) throw std::logic_error("the program has no function " + function);
  const std::string text = c.program.substr(begin, std::min(c.program.find("\n}\n", begin), c.program.find("; }\n", begin)) - begin);
  static const std::regex number("p\\.w\\[([0-9]+)\\]");
  std::vector<std::uint64_t> words;
  for (std::sregex_iterator i(text.begin(), text.end(), number), end; i != end; ++i) words.push_back(c.words[std::stoul((*i)[1])]);
  return words;
}

}  // namespace query::gpu_engine
