// What writes rows to a file, in its format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/file_source.hpp"

namespace query::data {

class row_writer {
 public:
  virtual ~row_writer() = default;
  virtual void write(const void* rows, std::size_t n) = 0;
  virtual void finish(bool surely) = 0;            // as output_file does
  virtual std::uint64_t bytes() const = 0;         // that the file has, once finished
  // Once finished: the file of this name, or those that are named after it.
  virtual std::vector<written_file> files(const std::string& name, std::uint64_t rows) const { return {{name, bytes(), rows, {}}}; }
};

}  // namespace query::data
