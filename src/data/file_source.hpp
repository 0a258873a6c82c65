// What a plan knows of a file that rows come from.
#pragma once

#include <cstdint>
#include <string>

#include <query/csv.hpp>

namespace query::data {

struct file_source {
  std::string path;
  csv_options options;
};

// A file as one process finds it.
struct file_state {
  bool there = false;            // a regular file that can be read
  std::uint64_t bytes = 0;
  std::int64_t changed_at = 0;   // nanoseconds
  bool operator==(const file_state&) const = default;
};

// The part that a partition reads: records that begin within these bytes. Whether a byte is quoted depends on all before it.
struct file_part {
  std::uint64_t begin = 0, end = 0;
  bool begin_is_quoted = false, end_is_quoted = false;
  file_state of;                 // as it has to be
};

}  // namespace query::data
