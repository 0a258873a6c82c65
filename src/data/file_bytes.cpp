#include "data/file_bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <query/detail/failure.hpp>

namespace query::data {
namespace {

[[noreturn]] void refuse(std::string_view verb, const std::string& path, const std::string& why) {
  throw detail::unplaced_error(std::string(verb) + ": cannot read the file: " + path + ": " + why);
}

std::string message_of(int error) { return std::generic_category().message(error); }

class open_file {
 public:
  open_file(std::string_view verb, const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) refuse(verb, path, message_of(errno));
  }
  ~open_file() {
    if (fd_ >= 0) ::close(fd_);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  int fd() const { return fd_; }
  int take() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

std::string read_all(int fd, std::string_view verb, const std::string& path) {
  std::string bytes;
  std::size_t used = 0;
  for (;;) {
    bytes.resize(used + (std::size_t{1} << 16) + used / 2);
    const ssize_t n = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(verb, path, message_of(errno));
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
  }
  bytes.resize(used);
  return bytes;
}

std::int64_t nanoseconds(const timespec& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; }

}  // namespace

file_bytes::file_bytes(const std::string& path, std::string_view verb) : verb_(verb) {
  open_file file(verb, path);
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) refuse(verb, path, message_of(errno));
  if (S_ISDIR(status.st_mode)) refuse(verb, path, message_of(EISDIR));
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd(), 0);
    if (at != MAP_FAILED) {
      mapped_ = at;
      text_ = {static_cast<const char*>(at), size};
      changed_at_ = nanoseconds(status.st_mtim);
      fd_ = file.take();
      return;
    }
  }
  copy_ = read_all(file.fd(), verb, path);
  text_ = copy_;
}

file_state file_bytes::state_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || ::access(path.c_str(), R_OK) != 0) return {};
  return {true, false, static_cast<std::uint64_t>(status.st_size), nanoseconds(status.st_mtim)};
}

file_bytes::~file_bytes() {
  if (mapped_ == nullptr) return;
  ::munmap(mapped_, text_.size());
  ::close(fd_);
}

void file_bytes::expect_unchanged(const std::string& path) const {
  struct stat status {};
  if (mapped_ == nullptr || ::fstat(fd_, &status) != 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size < text_.size() || (size == text_.size() && nanoseconds(status.st_mtim) != changed_at_))
    refuse(verb_, path, "it was changed while it was read; write a new file and rename it");
}

}  // namespace query::data
