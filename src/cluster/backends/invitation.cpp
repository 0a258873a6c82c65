#include "cluster/backends/invitation.hpp"

#include <csignal>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <string>

#include <query/errors.hpp>

#include "cluster/transport/listener.hpp"

namespace query::cluster::backends {

namespace {

std::string line_from(int fd) {
  constexpr std::size_t most = 1024;
  std::string line;
  char c = 0;
  while (line.size() < most) {
    const ssize_t n = ::read(fd, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || c == '\n') break;
    line += c;
  }
  return line;
}

}  // namespace

int follow_invitation(std::string_view descriptor) {
  try {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the actor of Ray's that started it
    int fd = -1;
    const char* const end = descriptor.data() + descriptor.size();
    const auto [at, error] = std::from_chars(descriptor.data(), end, fd);
    if (error != std::errc() || at != end || fd < 3) throw user_error("cluster: no descriptor with an invitation");
    std::istringstream line(line_from(fd));
    // It and the program's files: processes that functions start need neither.
    ::closefrom(3);
    ::unsetenv("LD_PRELOAD");
    std::string address, token;
    std::uint32_t number = 0, run = 0;
    if (!(line >> address >> token >> number >> run)) throw user_error("cluster: an invitation was damaged, or who sent it has ended");
    constexpr std::chrono::seconds limit{20};
    return transport::connect_to(transport::address::parse(address), transport::session_token::from_text(token),
                                 number_of_run(number, run), limit)
        .release();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    ::_exit(3);
  }
}

}  // namespace query::cluster::backends
