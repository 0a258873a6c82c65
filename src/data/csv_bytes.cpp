#include "data/csv_bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <query/detail/failure.hpp>

namespace query::data {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw detail::unplaced_error("read_csv: cannot read the file: " + path + ": " + why);
}

std::string message_of(int error) { return std::generic_category().message(error); }

class open_file {
 public:
  explicit open_file(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) refuse(path, message_of(errno));
  }
  ~open_file() { ::close(fd_); }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

std::string read_all(int fd, const std::string& path) {
  std::string bytes;
  std::size_t used = 0;
  for (;;) {
    bytes.resize(used + (std::size_t{1} << 16) + used / 2);
    const ssize_t n = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(path, message_of(errno));
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
  }
  bytes.resize(used);
  return bytes;
}

}  // namespace

csv_bytes::csv_bytes(const std::string& path) {
  const open_file file(path);
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) refuse(path, message_of(errno));
  if (S_ISDIR(status.st_mode)) refuse(path, message_of(EISDIR));
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd(), 0);
    if (at != MAP_FAILED) {
      mapped_ = at;
      text_ = {static_cast<const char*>(at), size};
      return;
    }
  }
  copy_ = read_all(file.fd(), path);
  text_ = copy_;
}

csv_bytes::~csv_bytes() {
  if (mapped_ != nullptr) ::munmap(mapped_, text_.size());
}

}  // namespace query::data
