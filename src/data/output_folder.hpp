// A folder of files, one for each partition, that takes its place as a whole: written beside the target, and renamed or exchanged with
// it at the end. Whoever dies meanwhile, the target is the old folder or the new one.
//
//   output_folder folder("trades/", file_format::csv);
//   written_file part = ...;                        // in folder.staging(), by any process, and by several that try
//   folder.commit({part, ...});                     // trades/part-00000.csv ...; without it, the target stays as it was
//
// What a process left there that was killed is removed by the next one that writes the same folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/file_source.hpp"

namespace query::data {

class output_folder {
 public:
  // Throws user_error where there is something else than a folder of such files, or no folder can be made; resource_error if the disk is
  // full.
  output_folder(std::string path, file_format format);
  ~output_folder();
  output_folder(const output_folder&) = delete;
  output_folder& operator=(const output_folder&) = delete;

  const std::string& staging() const { return staging_; }  // from the root, for processes that have another working directory
  // The files of each partition, in their order.
  void commit(const std::vector<std::vector<written_file>>& parts);

  static bool names(std::string_view path) { return path.ends_with('/'); }

 private:
  void check_replaceable() const;
  void check_parts_in(const std::string& below) const;
  [[noreturn]] void fail(const char* what, int error) const;
  [[noreturn]] void refuse(const std::string& what) const;

  std::string path_;     // as given
  file_format format_;
  std::string target_;   // with links followed
  std::string staging_;
  int lock_ = -1;        // held as long as this process lives
};

}  // namespace query::data
