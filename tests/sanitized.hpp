// QUERY_TEST_SANITIZED: the tests run under the address or thread sanitizer, which takes many times as long and more of the stack.
// g++ says so by macros, clang by features.
#pragma once

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define QUERY_TEST_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define QUERY_TEST_SANITIZED
#endif

namespace query::tests {

#ifdef QUERY_TEST_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace query::tests
