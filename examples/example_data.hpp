// Where the example data are: the folder QUERY_EXAMPLE_DATA of the environment, else where the build unpacked them.
#pragma once

#include <cstdlib>
#include <string>

#ifndef QUERY_EXAMPLE_DATA_DIR  // of a program outside of this build
#define QUERY_EXAMPLE_DATA_DIR "examples/data"
#endif

inline std::string example_data(const std::string& file) {
  const char* folder = std::getenv("QUERY_EXAMPLE_DATA");
  return std::string(folder ? folder : QUERY_EXAMPLE_DATA_DIR) + "/" + file;
}
