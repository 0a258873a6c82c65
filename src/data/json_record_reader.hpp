// Fills rows from JSON lines, one call a line. What the text says is checked against the row's description; parts that nobody wants are
// only checked to be JSON.
//
//   json_record_reader reader(begin, end, shape, skipped, unknown_fields::ignore);
//   if (!reader.read(row)) report(reader.error());
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <query/json_lines.hpp>

#include "data/json_shape.hpp"
#include "data/record_parser.hpp"

namespace query::data {

class json_record_reader final : public record_parser {
 public:
  // `skipped`: a flag a field of the row, or empty for none: it keeps its value, and may be missing. The shape must outlive the reader.
  json_record_reader(const char* begin, const char* end, const json_shape& shape, std::vector<bool> skipped, unknown_fields unknown)
      : next_(begin), end_(end), shape_(shape), skipped_(std::move(skipped)), unknown_(unknown) {}

  bool read(void* row) override;
  const record_error& error() const override { return error_; }
  std::string_view reject() override { return line_; }

 private:
  static constexpr int deepest = 200;  // levels of values that no field takes

  bool line(void* row);
  // Each goes behind what it reads, or returns false and fills error_.
  bool value(const json_shape& shape, void* to);
  bool object(const json_shape& shape, void* to, bool is_row);
  bool members(const json_shape& shape, void* to, bool is_row, std::size_t seen);
  bool skips(std::size_t member, bool is_row) const { return is_row && !skipped_.empty() && skipped_[member]; }
  bool array(const json_shape& shape, void* to);
  bool list(const json_shape& shape, void* to);
  bool number(const ir::type* type, void* to);
  bool time(const ir::type* type, void* to);
  bool letter(void* to);
  bool boolean(void* to);
  bool string(std::string& to);
  bool escape(std::string& to);
  bool code_unit(unsigned& to);
  bool skip_value(int depth);
  bool skip_list(int depth);

  void blanks();
  bool takes(char c);
  bool takes(std::string_view literal);
  std::string_view number_text();
  bool expected(const std::string& what);
  bool wrong(const char* at, std::string what);
  bool wrong_in(std::string_view part, bool is_key);  // adds a part of the path to the error

  const char *next_, *end_;            // of the lines that are left
  const char *at_ = nullptr, *line_end_ = nullptr;
  std::string_view line_;
  const json_shape& shape_;
  std::vector<bool> skipped_;
  unknown_fields unknown_;
  std::string key_, scratch_;
  std::vector<char> seen_;             // of the objects that are being read, a flag a member
  record_error error_;
};

}  // namespace query::data
