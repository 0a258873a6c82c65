// Starts a child process with these descriptors and no other: signals of a terminal do not reach it, and none is blocked or ignored.
//
//   pid_t child = spawn("/proc/self/exe", {name}, environment, {{socket, 3}}, 3);
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace query::cluster::backends {

// files: which descriptor it has as which number; last: the largest of these numbers. Returns -1, and errno says why.
inline pid_t spawn(const char* program, std::vector<std::string> arguments, std::vector<std::string> environment,
                   const std::vector<std::pair<int, int>>& files, int last) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t how;
  ::posix_spawn_file_actions_init(&actions);
  for (const auto& [here, there] : files) ::posix_spawn_file_actions_adddup2(&actions, here, there);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, last + 1);
  ::posix_spawnattr_init(&how);
  sigset_t none, standard;
  ::sigemptyset(&none);
  ::sigfillset(&standard);
  ::posix_spawnattr_setsigmask(&how, &none);
  ::posix_spawnattr_setsigdefault(&how, &standard);
  ::posix_spawnattr_setpgroup(&how, 0);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const auto ended_by_null = [](std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& t : texts) all.push_back(t.data());
    all.push_back(nullptr);
    return all;
  };
  pid_t process = -1;
  const int error = ::posix_spawn(&process, program, &actions, &how, ended_by_null(arguments).data(), ended_by_null(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&how);
  errno = error;
  return error ? -1 : process;
}

}  // namespace query::cluster::backends
