// How many random queries a test draws: QUERY_TEST_ROUNDS=n in the environment makes it n times as many, QUERY_TEST_SEED=n (rows.hpp)
// makes them others. A failing one is named by its number.
#pragma once

#include <cstdlib>

namespace conformance {

inline unsigned rounds(unsigned usual) {
  const char* times = std::getenv("QUERY_TEST_ROUNDS");
  return times ? usual * static_cast<unsigned>(std::strtoul(times, nullptr, 10)) : usual;
}

}  // namespace conformance
