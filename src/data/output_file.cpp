#include "data/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

#include <query/detail/failure.hpp>
#include <query/errors.hpp>

namespace query::data {
namespace {

// The target itself where `path` is a link to it, so that the link survives.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : std::string(real.get());
}

const char* const open_files = "/proc/self/fd/";

// A file in the target's folder that goes with its process, however that ends, until it gets a name. Negative: the system has none there.
int nameless_file(const std::string& target) {
  if (::access(open_files, X_OK) != 0) return -1;
  const std::size_t slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : target.substr(0, slash);
  return ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

}  // namespace

std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> serial{0};
  return path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(serial.fetch_add(1, std::memory_order_relaxed));
}

void fail_to_write(std::string_view verb, const char* what, const std::string& path, int error, std::string_view advice) {
  std::string text = std::string(verb) + ": " + what + ": " + path + ": " + std::generic_category().message(error);
  text += advice;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO) throw resource_error(text);
  throw detail::unplaced_error(text);
}

output_file::output_file(std::string path, std::string_view verb) : path_(std::move(path)), verb_(verb) {
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    fail_to_write(verb_, "cannot write the file", path_, EISDIR,
                  "; end the path with '/' to write a folder with a file for each partition");
  const bool in_place = exists && !S_ISREG(status.st_mode);
  if (exists && !in_place) {
    if (::access(path_.c_str(), W_OK) != 0) fail("cannot write the file", errno);
    target_ = resolved(path_);
  } else {
    target_ = path_;
  }
  if (!in_place) file_ = nameless_file(target_);
  nameless_ = file_ >= 0;
  if (!nameless_) {
    const std::string opened = in_place ? target_ : temporary_name(target_);
    file_ = ::open(opened.c_str(), O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_EXCL), 0666);
    if (file_ < 0) fail("cannot write the file", errno);
    if (!in_place) temporary_ = opened;
  }
  if (exists && !in_place) static_cast<void>(::fchmod(file_, status.st_mode & 07777));  // keep what was allowed before
}

output_file::~output_file() { discard(); }

void output_file::write(std::string_view bytes) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot write the file", errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void output_file::finish(bool surely) {
  // Pipes and some file systems have nothing to wait for.
  if (surely && ::fsync(file_) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) fail("cannot write the file", errno);
  if (nameless_) {
    const std::string name = temporary_name(target_);
    if (::linkat(AT_FDCWD, (open_files + std::to_string(file_)).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      fail("cannot put the file in its place", errno);
    temporary_ = name;
  }
  if (::close(std::exchange(file_, -1)) != 0) fail("cannot write the file", errno);
  if (!temporary_.empty() && std::rename(temporary_.c_str(), target_.c_str()) != 0)
    fail("cannot put the file in its place", errno);
  temporary_.clear();
}

void output_file::discard() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void output_file::fail(const char* what, int error) {
  discard();
  fail_to_write(verb_, what, path_, error);
}

}  // namespace query::data
