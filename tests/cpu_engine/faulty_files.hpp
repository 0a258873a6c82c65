// Temporary files on a disk that misbehaves. This program has a pwrite and a pread of its own (faulty_files.cpp), which the library calls
// instead of those of the C library.
//
//   const faulty_files disk(faulty_files::fault::damage);
//   EXPECT_THROW(query.to_vector(), query::resource_error);
//   EXPECT_GT(disk.met(), 0u);
#pragma once

#include <cstddef>

namespace query::tests {

// One at a time, for all threads.
class faulty_files {
 public:
  enum class fault {
    none,
    short_transfers,  // a call writes or reads half of what it is asked for
    damage,           // a byte of each write is another one in the file
    full,             // the disk is full after a few writes
  };
  explicit faulty_files(fault f);
  faulty_files(const faulty_files&) = delete;
  faulty_files& operator=(const faulty_files&) = delete;
  ~faulty_files();
  std::size_t met() const;  // calls that went wrong
};

}  // namespace query::tests
