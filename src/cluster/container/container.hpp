// A container: a process of this program that runs partitions of queries for the process that started it, until that ends.
#pragma once

namespace query::cluster {

// The descriptor is a stream socket to the master, which the process was started with.
[[noreturn]] void run_container(int fd);

inline constexpr const char* container_variable = "QUERY_CONTAINER";  // of the environment: the descriptor's number

// Has main() of this program entered query::container_main()?
bool can_be_container();

}  // namespace query::cluster
