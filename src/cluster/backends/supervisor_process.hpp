// The Python that asks Ray for containers (supervisor.py): a child of this process, and a socket to it with lines of fields.
//
//   supervisor_process ray("ray:10.0.0.1:6379");       // throws cluster_error: there is no such Python
//   ray.say({"start", "0", "1"});
//   while (auto fields = ray.hear()) handle(*fields);  // nothing: it has ended
#pragma once

#include <sys/types.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cluster/transport/file_descriptor.hpp"

namespace query::cluster::backends {

class supervisor_process {
 public:
  explicit supervisor_process(const std::string& cluster);
  ~supervisor_process();
  supervisor_process(const supervisor_process&) = delete;
  supervisor_process& operator=(const supervisor_process&) = delete;

  void say(const std::vector<std::string>& fields);       // from any thread; once it has ended, nothing happens
  std::optional<std::vector<std::string>> hear();         // one thread
  std::string how_it_ended();                             // after hear() gave nothing
  void end();                                             // hear() gives nothing, soon

 private:
  transport::file_descriptor socket_, program_, errors_;
  pid_t process_ = -1;
  std::mutex saying_;
  std::string heard_;  // and not yet given
  std::string how_;
};

}  // namespace query::cluster::backends
