// Writes rows to a file for each combination of values of some fields, which name the folders that the files go to at the end
// (output_folder.hpp): year=2026/region=north/part-00000.parquet. These fields are no columns of the files.
//
//   partitioned_writer w(staging + "/0", file_format::parquet, {.partition_by = {"year"}}, ir::describe<Trade>());   // 0-0, 0-1, ...
//   w.write(rows, n);
//   w.finish(true);
//   folder.commit({w.files("0", rows)});
//
// Some files are open at a time. Of more values the one that was written to longest ago is finished; if the value comes again, it gets
// another file. So rows that are ordered by these fields, or nearly so, may have any number of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/columnar_writer.hpp"

namespace query::data {

// Throws user_error, unplaced, where rows have no such fields, or nothing else.
void check_partition_by(const ir::type* row, const std::vector<std::string>& fields, std::string_view verb);

class partitioned_writer final : public row_writer {
 public:
  partitioned_writer(std::string path, file_format format, columnar_options options, const ir::type* row);

  void write(const void* rows, std::size_t n) override;
  void finish(bool surely) override;
  std::uint64_t bytes() const override;
  std::vector<written_file> files(const std::string& name, std::uint64_t rows) const override;

 private:
  struct open_file {
    std::unique_ptr<columnar_writer> to;
    std::size_t number = 0;       // in files_
    std::uint64_t last_used = 0;
  };

  void name_folder(const std::byte* row);    // in folder_
  open_file& file_for(const std::string& folder);
  void close(open_file& f, bool surely);
  void write_run(open_file& to, const std::byte* rows, std::size_t n);
  void make_room();

  std::string path_;
  file_format format_;
  columnar_options options_;
  const ir::type* row_;
  ir::type columns_;                        // the row without the fields that name folders
  std::vector<const ir::field*> named_by_;
  std::unordered_map<std::string, open_file> open_;
  std::vector<written_file> files_;         // all, the open ones too
  std::string folder_;
  std::uint64_t clock_ = 0, kept_bytes_ = 0;
};

}  // namespace query::data
