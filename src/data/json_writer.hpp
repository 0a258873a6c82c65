// Writes rows of a described type as JSON lines, into a temporary file beside the target that takes its place at the end.
//
//   json_writer writer("out.jsonl", {}, ir::describe<Event>());
//   writer.write(rows, n);
//   writer.finish(false);     // without it, the target stays as it was
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <query/detail/type.hpp>
#include <query/json_lines.hpp>

#include "data/json_shape.hpp"
#include "data/packed_output.hpp"
#include "data/row_writer.hpp"

namespace query::data {

class json_writer final : public row_writer {
 public:
  // Throws user_error if JSON cannot hold such rows, or as packed_output does.
  json_writer(const std::string& path, const json_options& options, const ir::type* row);

  void write(const void* rows, std::size_t n) override;
  void finish(bool surely) override;
  std::uint64_t bytes() const override { return file_.bytes(); }

 private:
  void flush();

  json_shape shape_;
  std::string buffer_;
  packed_output file_;
};

// The shape of rows that are written. Throws user_error if JSON cannot hold them, or an option is one of reading.
json_shape checked_json_shape(const ir::type* row, const json_options& options);

// Bytes of strings that are no UTF-8 are written as they are; nan and infinities as null.
void append_json(std::string& to, const json_shape& shape, const void* value);

}  // namespace query::data
