// Runs a function on a thread with a small stack, for plans that are thousands of verbs deep.
//
//   query::tests::on_small_stack([&] { rows = q.to_vector(); });
#pragma once

#include <pthread.h>

#include <cstddef>
#include <exception>
#include <functional>

#include <gtest/gtest.h>

#include "sanitized.hpp"

namespace query::tests {

// Sanitizers take more of a stack for each frame.
inline constexpr std::size_t small_stack = (sanitized ? std::size_t{4096} : std::size_t{512}) << 10;

// What f throws is thrown here.
inline void on_small_stack(const std::function<void()>& f) {
  struct call {
    const std::function<void()>& f;
    std::exception_ptr error;
  } c{f, nullptr};
  pthread_attr_t with;
  ASSERT_EQ(pthread_attr_init(&with), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&with, small_stack), 0);
  pthread_t thread;
  const auto body = [](void* p) -> void* {
    call& c = *static_cast<call*>(p);
    try {
      c.f();
    } catch (...) {
      c.error = std::current_exception();
    }
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &with, body, &c), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&with);
  if (c.error) std::rethrow_exception(c.error);
}

}  // namespace query::tests
