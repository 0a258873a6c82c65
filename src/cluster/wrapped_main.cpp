// main() of programs that are linked with -Wl,--wrap=main, as CMake does for those that use query::query: processes of a cluster are this
// program, and must not run what its user wrote before they are told to. A file of its own, as only such programs have a __real_main.
#include <query/session.hpp>

extern "C" {
// The names are the linker's: man ld, --wrap.
int __real_main(int argc, char** argv, char** environment) __attribute__((weak));  // NOLINT
int __wrap_main(int argc, char** argv, char** environment) {                       // NOLINT
  query::container_main();
  return __real_main(argc, argv, environment);
}
}
