// A folder of its own for a test, which is gone afterwards.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace query::tests {

class temp_folder {
 public:
  explicit temp_folder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("query_" + name + "_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  temp_folder(const temp_folder&) = delete;
  temp_folder& operator=(const temp_folder&) = delete;
  ~temp_folder() { remove(); }
  std::string name() const { return path_.string(); }
  bool empty() const { return std::filesystem::is_empty(path_); }
  void remove() const {
    std::error_code none;
    std::filesystem::remove_all(path_, none);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace query::tests
