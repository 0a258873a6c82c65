#include "runtime/temp_file.hpp"

#include <fcntl.h>
#include <lz4.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include <query/errors.hpp>

#include "runtime/checksum.hpp"

namespace query::runtime {
namespace {

std::string system_folder() {
  const char* t = std::getenv("TMPDIR");
  return t && *t ? t : "/tmp";
}

// A write beyond the process's file-size limit is an error here, not a signal that ends the process.
class no_file_size_signal {
 public:
  no_file_size_signal() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    sigemptyset(&only_);
    sigaddset(&only_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &only_, &before_);
  }
  no_file_size_signal(const no_file_size_signal&) = delete;
  no_file_size_signal& operator=(const no_file_size_signal&) = delete;
  ~no_file_size_signal() {
    const timespec now{};
    if (!was_pending_) while (sigtimedwait(&only_, nullptr, &now) < 0 && errno == EINTR) {
      }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t only_, before_;
  bool was_pending_ = false;
};

int open_unnamed(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  // The file system knows only files with names: this one's is taken away at once.
  std::string name = folder + "/query-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

// Blocks of a page are compressed until so many bytes have shown that they hardly get smaller.
constexpr std::size_t tried_bytes = std::size_t{16} << 10;
constexpr unsigned most_fruitless = 4, one_in = 8;  // pages
constexpr bool shrinks(std::size_t packed, std::size_t bytes) { return packed <= bytes - bytes / 8; }

}  // namespace

temp_space::temp_space(std::string folder, std::uint64_t limit)
    : folder_(folder.empty() ? system_folder() : std::move(folder)), limit_(limit) {}

void temp_space::take(std::uint64_t bytes) {
  const std::uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (limit_ == 0 || (bytes <= limit_ && before <= limit_ - bytes)) return;
  give_back(bytes);
  throw resource_error("query: memory is full, and so are the temporary files in " + folder_ + ": " + std::to_string(before) +
                       " bytes are in use, " + std::to_string(bytes) + " more are wanted, the limit is " + std::to_string(limit_) +
                       "; raise it (temp_limit of the Session, or QUERY_TEMP_LIMIT) or the Session's memory limit");
}

temp_file::temp_file(temp_space& space) : space_(&space), fd_(open_unnamed(space.folder())) {
  if (fd_ < 0) fail("made", errno);
}

temp_file::~temp_file() {
  ::close(fd_);
  space_->give_back(end_.load(std::memory_order_relaxed));
}

void temp_file::fail(const char* what, int error) const {
  throw resource_error("query: memory is full, and a temporary file in " + space_->folder() + " cannot be " + what + ": " +
                       std::strerror(error) +
                       "; make room there, name another folder (temp_folder of the Session, or QUERY_TEMP), or raise the memory limit");
}

temp_file::place temp_file::write(const void* data, std::size_t bytes) {
  const std::size_t begins[] = {0, bytes};
  return write(data, begins).front();
}

std::vector<temp_file::place> temp_file::write(const void* data, std::span<const std::size_t> begins) {
  std::vector<place> places;
  const std::size_t all = begins.back() - begins.front();
  // Pages of one file are alike: after some that did not get smaller, few are tried.
  const unsigned fruitless = fruitless_.load(std::memory_order_relaxed);
  bool tries = fruitless < most_fruitless || fruitless % one_in == 0;
  const auto packed = tries ? std::make_unique_for_overwrite<char[]>(all) : nullptr;
  std::size_t n = 0, packed_end = 0;  // bytes in the file; of the blocks, those that come from `packed`
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    const std::size_t bytes = begins[i + 1] - begins[i], before = begins[i] - begins.front();
    const auto* const from = static_cast<const char*>(data) + begins[i];
    tries = tries && (before < tried_bytes || shrinks(n, before));
    std::size_t k = bytes;
    if (tries) {
      char* const to = packed.get() + n;
      k = 0;
      if (bytes && bytes <= LZ4_MAX_INPUT_SIZE)
        k = static_cast<std::size_t>(LZ4_compress_default(from, to, static_cast<int>(bytes), static_cast<int>(bytes - bytes / 8)));
      if (!k) std::memcpy(to, from, k = bytes);
      packed_end = i + 1;
    }
    places.push_back({n, k, bytes, checksum(tries ? packed.get() + n : from, k)});
    n += k;
  }
  if (shrinks(n, all)) fruitless_.store(0, std::memory_order_relaxed);
  else fruitless_.fetch_add(1, std::memory_order_relaxed);
  space_->take(n);
  const std::uint64_t at = end_.fetch_add(n, std::memory_order_relaxed);
  for (place& p : places) p.at += at;
  const std::size_t raw = begins.back() - begins[packed_end];  // bytes that are written as they lie
  write_at(at, packed.get(), n - raw);
  write_at(at + n - raw, static_cast<const char*>(data) + begins[packed_end], raw);
  return places;
}

void temp_file::write_at(std::uint64_t at, const char* data, std::size_t bytes) {
  if (!bytes) return;
  const no_file_size_signal blocked;
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t k = ::pwrite(fd_, data + done, bytes - done, static_cast<off_t>(at + done));
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) fail("written to", k < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(k);
  }
}

void temp_file::read(const place& from, void* to) const {
  const bool is_packed = from.stored < from.bytes;
  const auto room = is_packed ? std::make_unique_for_overwrite<char[]>(from.stored) : nullptr;
  char* const packed = is_packed ? room.get() : static_cast<char*>(to);
  for (std::size_t done = 0; done < from.stored;) {
    const ssize_t k = ::pread(fd_, packed + done, from.stored - done, static_cast<off_t>(from.at + done));
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) fail("read", errno);
    if (k == 0) fail("read to its end", EIO);
    done += static_cast<std::size_t>(k);
  }
  bool same = checksum(packed, from.stored) == from.checksum;
  if (same && is_packed)
    same = LZ4_decompress_safe(packed, static_cast<char*>(to), static_cast<int>(from.stored), static_cast<int>(from.bytes)) ==
           static_cast<int>(from.bytes);
  if (same) return;
  throw resource_error("query: a temporary file in " + space_->folder() +
                       " gives back other bytes than were written; look after that disk, or name another folder (temp_folder of the "
                       "Session, or QUERY_TEMP)");
}

}  // namespace query::runtime
