// The bytes of a file, mapped into memory or, where that cannot be (a pipe), read into it.
//
//   csv_bytes bytes("flights.csv");   // bytes.text(): the whole file
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/file_source.hpp"

namespace query::data {

class csv_bytes {
 public:
  // Throws user_error if there is no such file, it is a directory or may not be read.
  explicit csv_bytes(const std::string& path);
  ~csv_bytes();
  csv_bytes(const csv_bytes&) = delete;
  csv_bytes& operator=(const csv_bytes&) = delete;

  std::string_view text() const { return text_; }
  static file_state state_of(const std::string& path);
  // Throws user_error if the file was cut or written over since: what is mapped may be gone, or other than before. A file that has
  // grown is taken for one that was appended to, as logs are: text() is what was there.
  void expect_unchanged(const std::string& path) const;

 private:
  int fd_ = -1;  // of what is mapped
  std::int64_t changed_at_ = 0;  // nanoseconds
  void* mapped_ = nullptr;
  std::string copy_;
  std::string_view text_;
};

}  // namespace query::data
