// What a plan knows of a file that rows come from.
#pragma once

#include <string>

#include <query/csv.hpp>

namespace query::data {

struct file_source {
  std::string path;
  csv_options options;
};

}  // namespace query::data
