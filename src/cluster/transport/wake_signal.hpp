// Wakes one thread that waits for descriptors. A signal that is given while nobody waits is kept.
//
//   const wake_signal wake;
//   wake.give();                                          // any thread
//   pollfd ready[]{{wake.fd(), POLLIN, 0}, ...};          // the one that waits
//   wake.take();
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <query/errors.hpp>

#include "cluster/transport/file_descriptor.hpp"

namespace query::cluster::transport {

class wake_signal {
 public:
  wake_signal() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!fd_) throw cluster_error(std::string("cluster: no descriptor for a signal: ") + std::strerror(errno));
  }
  int fd() const { return fd_.get(); }
  void give() const {
    const std::uint64_t one = 1;
    (void)!::write(fd_.get(), &one, sizeof one);
  }
  void take() const {
    std::uint64_t given = 0;
    (void)!::read(fd_.get(), &given, sizeof given);
  }

 private:
  file_descriptor fd_;
};

}  // namespace query::cluster::transport
