// A checksum of bytes that leave memory for a while: to a file, or to another process.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace query::runtime {

// A change of one word always changes the result, as each step is reversible. Four chains hide the latency of the multiplications.
inline std::uint64_t checksum(const char* data, std::size_t n) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
  std::uint64_t h[4] = {n, 1, 2, 3}, word = 0;
  const auto add = [&](std::uint64_t& to) { to = std::rotl((to ^ word) * odd, 29); };
  std::size_t i = 0;
  for (; i + 32 <= n; i += 32)
    for (std::size_t k = 0; k < 4; ++k) {
      std::memcpy(&word, data + i + 8 * k, 8);
      add(h[k]);
    }
  for (; i < n; i += 8) {
    word = 0;
    std::memcpy(&word, data + i, std::min<std::size_t>(8, n - i));
    add(h[0]);
  }
  for (std::size_t k = 1; k < 4; ++k) {
    word = h[k];
    add(h[0]);
  }
  return h[0];
}

}  // namespace query::runtime
