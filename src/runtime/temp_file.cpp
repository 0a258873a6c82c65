#include "runtime/temp_file.hpp"

#include <fcntl.h>
#include <lz4frame.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include <query/errors.hpp>

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

constexpr LZ4F_preferences_t with_checksum(std::size_t bytes) {
  LZ4F_preferences_t p = {};
  p.frameInfo.blockSizeID = LZ4F_max256KB;
  p.frameInfo.blockMode = LZ4F_blockIndependent;
  p.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  p.frameInfo.contentSize = bytes;
  return p;
}

struct decompressor {
  decompressor() {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) throw std::bad_alloc();
  }
  decompressor(const decompressor&) = delete;
  decompressor& operator=(const decompressor&) = delete;
  ~decompressor() { LZ4F_freeDecompressionContext(context); }
  LZ4F_dctx* context = nullptr;
};

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
  const LZ4F_preferences_t how = with_checksum(bytes);
  const std::size_t most = LZ4F_compressFrameBound(bytes, &how);
  const auto packed = std::make_unique_for_overwrite<char[]>(most);
  const std::size_t n = LZ4F_compressFrame(packed.get(), most, data, bytes, &how);
  if (LZ4F_isError(n)) throw internal_error(std::string("query: a block cannot be compressed: ") + LZ4F_getErrorName(n));
  space_->take(n);
  const place to{end_.fetch_add(n, std::memory_order_relaxed), n, bytes};
  const no_file_size_signal blocked;
  for (std::size_t done = 0; done < n;) {
    const ssize_t k = ::pwrite(fd_, packed.get() + done, n - done, static_cast<off_t>(to.at + done));
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) fail("written to", k < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(k);
  }
  return to;
}

void temp_file::read(const place& from, void* to) const {
  const auto packed = std::make_unique_for_overwrite<char[]>(from.stored);
  for (std::size_t done = 0; done < from.stored;) {
    const ssize_t k = ::pread(fd_, packed.get() + done, from.stored - done, static_cast<off_t>(from.at + done));
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) fail("read", errno);
    if (k == 0) fail("read to its end", EIO);
    done += static_cast<std::size_t>(k);
  }
  const decompressor d;
  std::size_t in = 0, out = 0;
  while (true) {
    std::size_t taken = from.stored - in, given = from.bytes - out;
    const std::size_t left = LZ4F_decompress(d.context, static_cast<char*>(to) + out, &given, packed.get() + in, &taken, nullptr);
    in += taken;
    out += given;
    if (left == 0 && out == from.bytes && in == from.stored) return;
    if (LZ4F_isError(left) || left == 0 || (taken == 0 && given == 0))
      throw resource_error("query: a temporary file in " + space_->folder() + " gives back other bytes than were written" +
                           (LZ4F_isError(left) ? std::string(": ") + LZ4F_getErrorName(left) : std::string()) +
                           "; look after that disk, or name another folder (temp_folder of the Session, or QUERY_TEMP)");
  }
}

}  // namespace query::runtime
