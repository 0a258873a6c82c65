// The form of a function object: how the library copies and destroys one, and how another process of the same program makes it again
// from its bytes.
//
// Copies are made in cleared memory, so that bytes which no member has are zero wherever the compiler lets them be: old addresses
// that lie about in memory would look like captured pointers.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace query::detail {

// The compiler keeps stores to that memory, though nobody seems to read it.
inline void keep_stores(void* memory) { __asm__ volatile("" : : "r"(memory) : "memory"); }

// Copies of what can be copied byte by byte take what lies between the members along. (A constant among the captures is enough for g++
// not to call a closure trivially copyable; of such types it clears variables alone.)
template <class T> void clear_padding([[maybe_unused]] T& x) {
#ifdef __has_builtin
#if __has_builtin(__builtin_clear_padding)
  if constexpr (std::is_trivially_copy_constructible_v<T> && std::is_trivially_destructible_v<T>) {
    T cleared(x);
    __builtin_clear_padding(&cleared);
    keep_stores(std::addressof(cleared));
    __builtin_memcpy(static_cast<void*>(std::addressof(x)), static_cast<const void*>(std::addressof(cleared)), sizeof(T));
    keep_stores(std::addressof(x));
  }
#endif
#endif
}

struct closure_form {
  std::size_t size = 0, align = 1;
  void (*copy)(void* raw, const void* f) = nullptr;
  void (*destroy)(void* f) = nullptr;
};
template <class F> struct closure_calls {
  static void copy(void* raw, const void* f) {
    F* const made = ::new (raw) F(*static_cast<const F*>(f));
    if constexpr (!std::is_empty_v<F>) clear_padding(*made);
  }
  static void destroy(void* f) { static_cast<F*>(f)->~F(); }
};
template <class F>
inline constexpr closure_form closure_form_of{sizeof(F), alignof(F), &closure_calls<F>::copy, &closure_calls<F>::destroy};

std::shared_ptr<const void> copy_of(const void* f, const closure_form& form);
// An object of the user's, of whatever type, to be kept: std::make_shared would compile a dozen functions for each type.
template <class F> void move_to(void* raw, const void* f) { ::new (raw) F(static_cast<F&&>(*static_cast<F*>(const_cast<void*>(f)))); }
template <class F> std::shared_ptr<const void> keep(F f) {
  static constexpr closure_form form{sizeof(F), alignof(F), &move_to<F>, &closure_calls<F>::destroy};
  return copy_of(std::addressof(f), form);
}

}  // namespace query::detail
