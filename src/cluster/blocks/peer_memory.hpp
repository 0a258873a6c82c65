// Reads from the memory of another process of this machine: one copy instead of a socket's two. The system allows it among processes of one
// user, unless it has been told otherwise (yama, seccomp); QUERY_CLUSTER_TRANSPORT=sockets does without it.
//
//   if (const pid_t p = readable_peer(connection)) { ask it where its bytes are; read_peer(p, address, into); }
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "cluster/connection.hpp"

namespace query::cluster {

bool reads_peer_memory();  // as far as this process knows
// 0: the peer is on another machine, or its memory cannot be read.
pid_t readable_peer(const connection& to);

enum class peer_read { whole, refused, failed };  // refused: no process will be readable from now on
peer_read read_peer(pid_t process, std::uint64_t address, std::span<std::byte> into);

}  // namespace query::cluster
