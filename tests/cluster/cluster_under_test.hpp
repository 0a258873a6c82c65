// The cluster of three processes that the shared tests run in: of this machine, or the one that QUERY_TEST_CLUSTER names (over_ray).
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace query::tests {

inline std::string three_processes() {
  const char* const named = std::getenv("QUERY_TEST_CLUSTER");
  return named && *named ? named : "local:3";
}
inline bool on_ray() { return three_processes().starts_with("ray:"); }

// The processes of this machine that run this program for it. Ray's run it from memory and are no children of this one.
inline std::vector<pid_t> containers() {
  std::vector<pid_t> all;
  std::error_code gone;
  if (!on_ray()) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream list(task.path() / "children");
      for (pid_t p; list >> p;) all.push_back(p);
    }
    return all;
  }
  const std::string name = "/memfd:" + std::filesystem::read_symlink("/proc/self/exe").filename().string();
  for (const auto& process : std::filesystem::directory_iterator("/proc", gone)) {
    const std::filesystem::path exe = std::filesystem::read_symlink(process.path() / "exe", gone);
    if (!gone && exe.string().starts_with(name)) all.push_back(std::atoi(process.path().filename().c_str()));
  }
  return all;
}

}  // namespace query::tests
