// The bytes of a file, mapped into memory or, where that cannot be (a pipe), read into it.
//
//   file_bytes bytes("flights.csv", "read_csv");   // bytes.text(): the whole file
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/file_source.hpp"

namespace query::data {

class file_bytes {
 public:
  // Throws user_error, in the verb's name, if there is no such file, it is a directory or may not be read.
  file_bytes(const std::string& path, std::string_view verb);
  ~file_bytes();
  file_bytes(const file_bytes&) = delete;
  file_bytes& operator=(const file_bytes&) = delete;

  std::string_view text() const { return text_; }
  bool is_mapped() const { return mapped_ != nullptr; }
  file_state state() const { return {mapped_ != nullptr, false, text_.size(), changed_at_}; }  // as it was opened
  static file_state state_of(const std::string& path);
  // Throws user_error if the file was cut or written over since: what is mapped may be gone, or other than before. A file that has
  // grown is taken for one that was appended to, as logs are: text() is what was there.
  void expect_unchanged(const std::string& path) const;

 private:
  std::string_view verb_;
  int fd_ = -1;  // of what is mapped
  std::int64_t changed_at_ = 0;  // nanoseconds
  void* mapped_ = nullptr;
  std::string copy_;
  std::string_view text_;
};

}  // namespace query::data
