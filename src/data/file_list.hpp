// The files that the paths of a source are: each path is a file, a folder, or a pattern as a shell has it.
//
//   const file_list files(source);
//   for (const listed_file& f : files.all()) ...     // f.begin: the bytes of those before it
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/file_source.hpp"

namespace query::data {

struct listed_file {
  std::string path;
  std::string name;         // the path as the user wrote it, or as it was found
  file_state state;         // not there: a pipe, say, or nothing
  std::uint64_t begin = 0;  // bytes of the files before it
};

class file_list {
 public:
  // Throws user_error where a pattern has no match, a folder cannot be read or has folders in it, or there is no path at all.
  explicit file_list(const file_source& source);

  const std::vector<listed_file>& all() const { return all_; }
  file_state state() const;  // of all of them

  // A part of the bytes of all as parts of its files: f(file, part).
  template <class F> void each_in(const file_part& part, F f) const {
    for (const listed_file& file : all_) {
      const std::uint64_t end = file.begin + file.state.bytes;
      if (file.state.bytes == 0 || part.begin >= end || part.end <= file.begin) continue;
      const bool begins = part.begin > file.begin, ends = part.end < end;
      f(file, file_part{begins ? part.begin - file.begin : 0, ends ? part.end - file.begin : file.state.bytes,
                        begins && part.begin_is_quoted, ends && part.end_is_quoted, file.state});
    }
  }

 private:
  std::vector<listed_file> all_;
};

// Of all files of the source, as this process finds them; not there where file_list throws.
file_state state_of(const file_source& source);

}  // namespace query::data
