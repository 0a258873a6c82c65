// Temporary files: what a session has no memory for, until the query that wrote it ends.
//
// A file has no name from the moment it is made, so that nothing is left of it however the process ends. Blocks are compressed (LZ4) where
// that makes them smaller. A checksum of each, which stays in memory, is compared when it is read.
//
//   temp_space space("/var/tmp", 50ull << 30);
//   temp_file file(space);
//   const temp_file::place at = file.write(data, n);
//   file.read(at, to);
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace query::runtime {

// Where a session's temporary files are, and how large they may be together.
class temp_space {
 public:
  // folder: empty: the system's (TMPDIR, or /tmp). limit: bytes; 0: as much as there is.
  explicit temp_space(std::string folder, std::uint64_t limit = 0);
  temp_space(const temp_space&) = delete;
  temp_space& operator=(const temp_space&) = delete;

  const std::string& folder() const { return folder_; }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }  // bytes in files that are open

 private:
  friend class temp_file;
  void take(std::uint64_t bytes);  // throws resource_error over the limit
  void give_back(std::uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::string folder_;
  std::uint64_t limit_;
  std::atomic<std::uint64_t> used_{0};
};

// Thread-safe. Throws resource_error, which names the folder and the system's reason: a full disk, a folder that is not there or may not
// be written to, a file-size limit, a block that is not what was written.
class temp_file {
 public:
  struct place {
    std::uint64_t at = 0;       // in the file
    std::uint64_t stored = 0;   // bytes there
    std::uint64_t bytes = 0;    // of the block
    std::uint64_t checksum = 0; // of what is stored
  };

  explicit temp_file(temp_space& space);
  ~temp_file();
  temp_file(const temp_file&) = delete;
  temp_file& operator=(const temp_file&) = delete;

  place write(const void* data, std::size_t bytes);
  // Block i is [begins[i], begins[i + 1]) of the data. They lie side by side in the file and are read one by one.
  std::vector<place> write(const void* data, std::span<const std::size_t> begins);
  void read(const place& from, void* to) const;

  int descriptor() const { return fd_; }  // for tests that damage it

 private:
  void write_at(std::uint64_t at, const char* data, std::size_t bytes);
  [[noreturn]] void fail(const char* what, int error) const;

  temp_space* space_;
  int fd_ = -1;
  std::atomic<std::uint64_t> end_{0};
  std::atomic<unsigned> fruitless_{0};  // pages in a row that did not get smaller
};

}  // namespace query::runtime
