// Writes rows as they lie in memory, one after the other and nothing else, into a temporary file beside the target that takes its place at
// the end.
//
//   binary_writer writer("out.bin", ir::describe<Tick>(), clear);   // clear: zeros where no value has bytes
//   writer.write(rows, n);
//   writer.finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <query/detail/type.hpp>

#include "data/output_file.hpp"
#include "data/row_writer.hpp"

namespace query::data {

class binary_writer final : public row_writer {
 public:
  using clear_unused = std::function<void(std::byte* rows, std::size_t n)>;
  // Throws as output_file does.
  binary_writer(std::string path, const ir::type* row, clear_unused clear);

  void write(const void* rows, std::size_t n) override;
  void finish(bool surely = false) override { file_.finish(surely); }
  std::uint64_t bytes() const override { return file_.bytes(); }

 private:
  std::size_t row_size_;
  clear_unused clear_;
  std::vector<std::byte> rows_;  // as they are written
  output_file file_;
};

}  // namespace query::data
