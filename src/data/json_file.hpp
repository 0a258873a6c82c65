// A file of JSON lines (record_file.hpp).
//
//   json_file file("events.jsonl", {}, ir::describe<Event>());
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <query/detail/type.hpp>
#include <query/json_lines.hpp>

#include "data/json_shape.hpp"
#include "data/record_file.hpp"

namespace query::data {

class json_file final : public record_file {
 public:
  // Opens the file. Throws user_error if it cannot be read, or such rows cannot come from JSON. `name`: what options.file_name_in takes;
  // empty: the path.
  json_file(std::string path, json_options options, const ir::type* row,
            std::size_t chunk_bytes = default_chunk_bytes, std::string name = {});

 private:
  std::unique_ptr<record_parser> parser(const char* begin, const char* end, std::span<const bool> wanted) const override;

  json_options options_;
  json_shape shape_;
};

}  // namespace query::data
