// A folder that is gone at the end of the scope.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace query::gpu_engine {

class temporary_folder {
 public:
  temporary_folder() : path_((std::filesystem::temp_directory_path() / "query_test_XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder: " + path_);
  }
  ~temporary_folder() {
    std::error_code failed;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, failed);
    std::filesystem::remove_all(path_, failed);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace query::gpu_engine
