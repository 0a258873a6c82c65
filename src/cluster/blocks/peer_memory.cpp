#include "cluster/blocks/peer_memory.hpp"

#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace query::cluster {

namespace {

bool is_wanted() {
  const char* const set = std::getenv("QUERY_CLUSTER_TRANSPORT");
  return !set || std::string_view(set) != "sockets";
}
std::atomic<bool> refused{false};

}  // namespace

bool reads_peer_memory() { return !refused && is_wanted(); }
pid_t readable_peer(const connection& to) { return reads_peer_memory() ? to.peer_process() : 0; }

peer_read read_peer(pid_t process, std::uint64_t address, std::span<std::byte> into) {
  while (!into.empty()) {
    const iovec here{into.data(), into.size()};
    const iovec there{reinterpret_cast<void*>(address), into.size()};
    const ssize_t n = ::process_vm_readv(process, &here, 1, &there, 1, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EPERM || errno == ENOSYS || errno == EACCES)) {
      refused = true;
      return peer_read::refused;
    }
    if (n <= 0) return peer_read::failed;
    into = into.subspan(static_cast<std::size_t>(n));
    address += static_cast<std::uint64_t>(n);
  }
  return peer_read::whole;
}

}  // namespace query::cluster
