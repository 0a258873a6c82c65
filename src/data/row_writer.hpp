// What writes rows to a file, in its format.
#pragma once

#include <cstddef>
#include <cstdint>

namespace query::data {

class row_writer {
 public:
  virtual ~row_writer() = default;
  virtual void write(const void* rows, std::size_t n) = 0;
  virtual void finish(bool surely) = 0;            // as output_file does
  virtual std::uint64_t bytes() const = 0;         // that the file has, once finished
};

}  // namespace query::data
