// Where the containers of a session run and who starts them: as child processes of this machine, or on the nodes of a Ray cluster.
//
//   std::unique_ptr<backend> there = make_backend("local:4", options);     // throws user_error, cluster_error
//   auto container = there->start(2, cancel);                              // of there->containers()
//   connection to(container->take_socket().release());
//   std::string how = container->how_it_ended();                           // after the connection's end
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <query/session.hpp>

#include "cluster/transport/file_descriptor.hpp"
#include "runtime/cancellation.hpp"

namespace query::cluster::backends {

// A process of this program, somewhere. It ends with this object.
class container_process {
 public:
  virtual ~container_process() = default;
  virtual transport::file_descriptor take_socket() = 0;  // an authenticated stream to the process
  virtual std::string place() const = 0;                 // a process number, and the host unless it is this one
  // Waits for a moment; a process that has not ended by then is ended.
  virtual std::string how_it_ended() = 0;
  virtual void kill() = 0;
};

class backend {
 public:
  virtual ~backend() = default;
  virtual std::string name() const = 0;     // as the user named it
  virtual int containers() const = 0;       // beside the session's own process
  virtual bool shares_machine() const = 0;  // cores and memory of this machine are divided
  virtual std::string beside() const = 0;   // where this process listens for the containers: transport/address.hpp
  // The container of that number, from 0 on; where it has ended, another in its place. Throws cluster_error: none can be started;
  // cancelled. One thread for each number.
  virtual std::unique_ptr<container_process> start(std::size_t number, const runtime::cancel_flag& cancel) = 0;
};

std::unique_ptr<backend> local_processes(int containers);
std::unique_ptr<backend> ray_cluster(std::string_view address, const session_options& options);

// "local:4", "ray:10.0.0.1:6379". Throws user_error for another name.
std::unique_ptr<backend> make_backend(const session_options& options);

}  // namespace query::cluster::backends
