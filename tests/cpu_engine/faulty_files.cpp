#include "faulty_files.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <vector>

namespace query::tests {
namespace {

constexpr std::size_t writes_until_full = 3;

std::atomic<faulty_files::fault> now{faulty_files::fault::none};
std::atomic<std::size_t> faults{0}, writes{0};

ssize_t write_as_it_is(int file, const void* data, std::size_t n, off_t at) { return ::syscall(SYS_pwrite64, file, data, n, at); }

std::size_t half(std::size_t n) {
  if (n < 2) return n;
  ++faults;
  return n / 2;
}

}  // namespace

faulty_files::faulty_files(fault f) {
  faults = writes = 0;
  now = f;
}
faulty_files::~faulty_files() { now = fault::none; }
std::size_t faulty_files::met() const { return faults; }

}  // namespace query::tests

extern "C" ssize_t pwrite(int file, const void* data, std::size_t n, off_t at) {
  using namespace query::tests;
  switch (now.load()) {
    case faulty_files::fault::none: break;
    case faulty_files::fault::short_transfers: return write_as_it_is(file, data, half(n), at);
    case faulty_files::fault::damage: {
      if (!n) break;
      const auto* const bytes = static_cast<const std::byte*>(data);
      std::vector<std::byte> others(bytes, bytes + n);
      others[n / 2] ^= std::byte{0x10};
      ++faults;
      return write_as_it_is(file, others.data(), n, at);
    }
    case faulty_files::fault::full:
      if (++writes <= writes_until_full) break;
      ++faults;
      errno = ENOSPC;
      return -1;
  }
  return write_as_it_is(file, data, n, at);
}

extern "C" ssize_t pread(int file, void* to, std::size_t n, off_t at) {
  using namespace query::tests;
  return ::syscall(SYS_pread64, file, to, now.load() == faulty_files::fault::short_transfers ? half(n) : n, at);
}
