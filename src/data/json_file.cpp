#include "data/json_file.hpp"

#include <utility>
#include <vector>

#include "data/json_record_reader.hpp"

namespace query::data {

json_file::json_file(std::string path, json_options options, const ir::type* row, std::size_t chunk_bytes, std::string name)
    : record_file(path, name.empty() ? path : std::move(name), "read_json_lines", '\0', row, options.file_name_in, chunk_bytes),
      options_(std::move(options)), shape_(json_shape_of(row, options_, "read_json_lines")) {
  check_reading_options(options_.on_error, options_.rejected, options_.file_name_in, "read_json_lines");
  records_begin_at(first_byte(), false);
}

std::unique_ptr<record_parser> json_file::parser(const char* begin, const char* end, std::span<const bool> wanted) const {
  std::vector<bool> skipped(shape_.keys.size(), false);
  for (std::size_t i = 0; i < skipped.size(); ++i) skipped[i] = is_file_name(i) || (!wanted.empty() && !wanted[i]);
  return std::make_unique<json_record_reader>(begin, end, shape_, std::move(skipped), options_.unknown);
}

}  // namespace query::data
