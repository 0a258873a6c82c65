// A container on another host is started with a descriptor. From it the container reads the address of its master, the session's token and
// its own number. None of these is in its command line or environment.
//
//   QUERY_CONTAINER=invited:3      "tcp:10.0.0.1:4242 TOKEN NUMBER RUN\n" comes from descriptor 3
#pragma once

#include <cstdint>
#include <string_view>

namespace query::cluster::backends {

// A container is known by its number and by how often it has been started.
inline std::uint64_t number_of_run(std::uint32_t number, std::uint32_t run) { return std::uint64_t{run} << 32 | number; }

// In the container: the socket to its master. Ends the process where there is none.
int follow_invitation(std::string_view descriptor);

}  // namespace query::cluster::backends
