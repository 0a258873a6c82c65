// Where the example data are: the folder QUERY_EXAMPLE_DATA of the environment, else where the build unpacked them.
#pragma once

#include <cstdlib>
#include <string>

inline std::string example_data(const std::string& file) {
  const char* folder = std::getenv("QUERY_EXAMPLE_DATA");
  return std::string(folder ? folder : QUERY_EXAMPLE_DATA_DIR) + "/" + file;
}
