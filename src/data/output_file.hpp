// A file that takes its place when it is complete: written beside the target, without a name where the system has such files, and renamed
// at the end. So a process that is killed leaves nothing.
//
//   output_file file("out.csv", "write_csv");
//   file.write(text);
//   file.finish();          // without it, the target stays as it was
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace query::data {

class output_file {
 public:
  // Throws user_error, in the verb's name, if the target is a directory or may not be written. A target that exists and is no regular file
  // (a pipe, a terminal) is written to directly.
  output_file(std::string path, std::string_view verb);
  ~output_file();  // removes the temporary file if finish() has not been reached
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  void write(std::string_view bytes);
  std::uint64_t bytes() const { return bytes_; }  // written so far
  // Closes the file and puts it in its place. This and the writes throw resource_error with the path if the disk is full, user_error if
  // something else is in the way; the target then is as it was. `surely`: when it returns, the bytes are on the disk.
  void finish(bool surely = false);

 private:
  void discard() noexcept;
  [[noreturn]] void fail(const char* what, int error);

  std::string path_, target_;   // as given, and with links followed
  std::string_view verb_;
  std::string temporary_;       // empty when the target is written directly, and as long as the file has no name
  bool nameless_ = false;       // written without a name
  std::uint64_t bytes_ = 0;
  int file_ = -1;
};

// A name beside the path that no other call gives.
std::string temporary_name(const std::string& path);
// What a system call said of a path: resource_error if the disk is full, else user_error.
[[noreturn]] void fail_to_write(std::string_view verb, const char* what, const std::string& path, int error, std::string_view advice = {});

}  // namespace query::data
