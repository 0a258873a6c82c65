#include "runtime/stack_room.hpp"

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace query::runtime {

namespace {

// What a vertex takes between two looks, and the user's functions that it calls.
constexpr std::size_t least = std::size_t{128} << 10;

// Where this thread's stack ends; 0 where that is not known.
std::uintptr_t end_of_stack() {
  pthread_attr_t all;
  if (pthread_getattr_np(pthread_self(), &all) != 0) return 0;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  const bool known = pthread_attr_getstack(&all, &lowest, &bytes) == 0;
  pthread_attr_destroy(&all);
  return known ? reinterpret_cast<std::uintptr_t>(lowest) : 0;
}

}  // namespace

bool stack_room() {
  static thread_local const std::uintptr_t end = end_of_stack();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return here - end > least;
}

}  // namespace query::runtime
