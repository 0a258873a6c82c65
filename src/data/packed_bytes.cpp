#include "data/packed_bytes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include <query/detail/failure.hpp>

#if QUERY_HAS_ZLIB
#include <zlib.h>
#endif
#if QUERY_HAS_ZSTD
#include <zstd.h>
#endif

namespace query::data {
namespace {

using namespace std::string_view_literals;

[[noreturn]] void fail(const std::string& whose, const std::string& what) { throw detail::unplaced_error(whose + ": " + what); }
[[noreturn, maybe_unused]] void fail_truncated(const std::string& whose, const char* format) {
  fail(whose, std::string("the compressed data (") + format + ") end too early: the file was cut, or is still being written");
}
[[noreturn, maybe_unused]] void fail_damaged(const std::string& whose, const char* format, const char* what) {
  fail(whose, std::string("the compressed data (") + format + ") are damaged: " + what);
}
[[noreturn, maybe_unused]] void fail_without(const std::string& whose, const char* format, const char* missing, const char* package) {
  fail(whose, std::string("this build of the library has no ") + format + ": " + missing + " was not found; install " + package +
                  ", then configure and build it again, or unpack the file first");
}

#if QUERY_HAS_ZLIB
constexpr int gzip_window = 15 + 16;  // the largest; with gzip's header and checksum

// Its sizes are 32 bits.
uInt at_once(std::size_t n) { return static_cast<uInt>(std::min<std::size_t>(n, std::numeric_limits<uInt>::max() / 2)); }

class gzip_unpacking final : public unpacking {
 public:
  gzip_unpacking(std::string_view packed, std::string whose) : left_(packed), whose_(std::move(whose)) {
    if (::inflateInit2(&stream_, gzip_window) != Z_OK) throw std::bad_alloc();
  }
  ~gzip_unpacking() override { ::inflateEnd(&stream_); }
  gzip_unpacking(const gzip_unpacking&) = delete;
  gzip_unpacking& operator=(const gzip_unpacking&) = delete;

  std::size_t read(char* to, std::size_t n) override {
    while (!ended_) {
      const uInt given = at_once(left_.size()), room = at_once(n);
      // zlib takes input that it does not write to as not const.
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left_.data()));
      stream_.avail_in = given;
      stream_.next_out = reinterpret_cast<Bytef*>(to);
      stream_.avail_out = room;
      const int state = ::inflate(&stream_, Z_NO_FLUSH);
      left_.remove_prefix(given - stream_.avail_in);
      const std::size_t got = room - stream_.avail_out;
      if (state == Z_MEM_ERROR) throw std::bad_alloc();
      if (state == Z_NEED_DICT) fail_damaged(whose_, "gzip", "they need a dictionary");
      if (state == Z_DATA_ERROR) fail_damaged(whose_, "gzip", stream_.msg != nullptr ? stream_.msg : "no gzip data");
      if (state == Z_STREAM_END) begin_member();
      if (got != 0) return got;
      if (state != Z_STREAM_END && left_.empty()) fail_truncated(whose_, "gzip");
    }
    return 0;
  }

 private:
  // A file may contain several members, one after the other. Zeros at the end are padding.
  void begin_member() {
    ended_ = left_.find_first_not_of('\0') == std::string_view::npos;
    if (ended_) return;
    if (packing_of(left_) != packing::gzip) fail_damaged(whose_, "gzip", "other bytes follow their end");
    if (::inflateReset(&stream_) != Z_OK) throw std::bad_alloc();
  }

  std::string_view left_;
  std::string whose_;
  z_stream stream_{};
  bool ended_ = false;
};

class gzip_packer final : public packer {
 public:
  gzip_packer() : buffer_(std::size_t{1} << 16) {
    if (::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  }
  ~gzip_packer() override { ::deflateEnd(&stream_); }
  gzip_packer(const gzip_packer&) = delete;
  gzip_packer& operator=(const gzip_packer&) = delete;

  void pack(std::string_view bytes, bool last, function_ref<void(std::string_view)> take) override {
    do {
      const uInt given = at_once(bytes.size());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream_.avail_in = given;
      do {
        stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
        stream_.avail_out = static_cast<uInt>(buffer_.size());
        ::deflate(&stream_, last && given == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
        take({buffer_.data(), buffer_.size() - stream_.avail_out});
      } while (stream_.avail_out == 0);
      bytes.remove_prefix(given);
    } while (!bytes.empty());
  }

 private:
  z_stream stream_{};
  std::vector<char> buffer_;
};
#endif

#if QUERY_HAS_ZSTD
class zstd_unpacking final : public unpacking {
 public:
  zstd_unpacking(std::string_view packed, std::string whose)
      : in_{packed.data(), packed.size(), 0}, whose_(std::move(whose)), stream_(::ZSTD_createDStream(), &::ZSTD_freeDStream) {
    if (!stream_) throw std::bad_alloc();
  }

  std::size_t read(char* to, std::size_t n) override {
    for (ZSTD_outBuffer out{to, n, 0}; n != 0;) {
      const bool no_more = in_.pos == in_.size;
      if (no_more && frame_ended_) break;
      const std::size_t wants = ::ZSTD_decompressStream(stream_.get(), &out, &in_);
      if (::ZSTD_isError(wants)) fail_damaged(whose_, "zstd", ::ZSTD_getErrorName(wants));
      frame_ended_ = wants == 0;
      if (out.pos != 0) return out.pos;
      if (no_more && !frame_ended_) fail_truncated(whose_, "zstd");
    }
    return 0;
  }

 private:
  ZSTD_inBuffer in_;
  std::string whose_;
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  bool frame_ended_ = false;
};

class zstd_packer final : public packer {
 public:
  zstd_packer() : buffer_(::ZSTD_CStreamOutSize()), stream_(::ZSTD_createCStream(), &::ZSTD_freeCStream) {
    if (!stream_ || ::ZSTD_isError(::ZSTD_CCtx_setParameter(stream_.get(), ZSTD_c_checksumFlag, 1))) throw std::bad_alloc();
  }

  void pack(std::string_view bytes, bool last, function_ref<void(std::string_view)> take) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (bool done = false; !done;) {
      ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
      const std::size_t left = ::ZSTD_compressStream2(stream_.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      if (::ZSTD_isError(left)) throw std::bad_alloc();  // nothing else can be wrong with it
      take({buffer_.data(), out.pos});
      done = in.pos == in.size && (!last || left == 0);
    }
  }

 private:
  std::vector<char> buffer_;
  std::unique_ptr<ZSTD_CStream, std::size_t (*)(ZSTD_CStream*)> stream_;
};
#endif

}  // namespace

packing packing_of(std::string_view first) {
  if (first.starts_with("\x1F\x8B"sv)) return packing::gzip;
  const bool skipped = first.size() >= 4 && (static_cast<unsigned char>(first[0]) & 0xF0) == 0x50 && first.substr(1, 3) == "\x2A\x4D\x18"sv;
  return skipped || first.starts_with("\x28\xB5\x2F\xFD"sv) ? packing::zstd : packing::none;
}

packing packing_of_name(std::string_view path) {
  return path.ends_with(".gz") ? packing::gzip : path.ends_with(".zst") ? packing::zstd : packing::none;
}

bool is_packed_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  char first[4];
  const ssize_t n = ::pread(file, first, sizeof first, 0);
  ::close(file);
  return n > 0 && packing_of({first, static_cast<std::size_t>(n)}) != packing::none;
}

std::unique_ptr<unpacking> unpack(std::string_view packed, std::string whose) {
  if (packing_of(packed) == packing::gzip) {
#if QUERY_HAS_ZLIB
    return std::make_unique<gzip_unpacking>(packed, std::move(whose));
#else
    fail_without(whose, "gzip", "zlib", "zlib1g-dev");
#endif
  }
#if QUERY_HAS_ZSTD
  return std::make_unique<zstd_unpacking>(packed, std::move(whose));
#else
  fail_without(whose, "zstd", "libzstd", "libzstd-dev");
#endif
}

std::unique_ptr<packer> pack(packing how, [[maybe_unused]] const std::string& whose) {
  if (how == packing::none) return nullptr;
  if (how == packing::gzip) {
#if QUERY_HAS_ZLIB
    return std::make_unique<gzip_packer>();
#else
    fail_without(whose, "gzip", "zlib", "zlib1g-dev");
#endif
  }
#if QUERY_HAS_ZSTD
  return std::make_unique<zstd_packer>();
#else
  fail_without(whose, "zstd", "libzstd", "libzstd-dev");
#endif
}

}  // namespace query::data
