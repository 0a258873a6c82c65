// The form of a function object: another process of the same program makes it again from its bytes by this.
//
// Such objects are made in cleared memory, so that bytes which no member has are zero wherever the compiler lets them be: old addresses
// that lie about in memory would look like captured pointers.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace query::detail {

struct closure_form {
  std::size_t size = 0, align = 1;
  void (*destroy)(void* f) = nullptr;
};
template <class F> inline constexpr closure_form closure_form_of{sizeof(F), alignof(F), [](void* f) { static_cast<F*>(f)->~F(); }};

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

template <class T> struct cleared_memory {
  using value_type = T;
  cleared_memory() = default;
  template <class U> cleared_memory(const cleared_memory<U>&) noexcept {}
  T* allocate(std::size_t n) {
    T* const memory = std::allocator<T>().allocate(n);
    void* const bytes = const_cast<void*>(static_cast<const volatile void*>(memory));
    __builtin_memset(bytes, 0, n * sizeof(T));
    keep_stores(bytes);  // an object's life begins with its constructor, so they would be dead
    return memory;
  }
  void deallocate(T* memory, std::size_t n) noexcept { std::allocator<T>().deallocate(memory, n); }
  template <class U> bool operator==(const cleared_memory<U>&) const { return true; }
};

template <class T, class... A> std::shared_ptr<T> make_in_cleared_memory(A&&... a) {
  return std::allocate_shared<T>(cleared_memory<T>(), static_cast<A&&>(a)...);
}

}  // namespace query::detail
