// Turns keys of any scalar type into unsigned words whose numeric order is the library's order of the keys, and back.
//
// The order is that of the CPU engine (src/cpu_engine/order_keys.hpp): all NaNs are equal and larger than every number, -0.0 equals 0.0,
// false is before true. Descending keys are the complement. A null is one more bit above the key; for a key of 64 bits that bit is a key
// of its own, sorted by one more (later) call.
//
//   u64 k = sort_key(price[i]);                                  // ascending
//   u64 k = descending_key(sort_key(price[i]));
//   u64 k = nullable_key<32>(valid[i], sort_key(quantity[i]), false);   // 33 bits, nulls last
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

namespace detail {

template <class T>
inline constexpr bool is_floating = false;
template <>
inline constexpr bool is_floating<float> = true;
template <>
inline constexpr bool is_floating<double> = true;

}  // namespace detail

// The word that stands for a T in sorts.
template <class T>
using sort_key_of = typename detail::unsigned_of<u32(sizeof(T))>::type;

template <class T>
inline constexpr u32 sort_key_bits = 8 * u32(sizeof(T));
template <>
inline constexpr u32 sort_key_bits<bool> = 1;

// Order-preserving: sort_key(a) < sort_key(b) exactly if a comes before b.
template <class T>
QUERY_GPU_BOTH inline sort_key_of<T> sort_key(T value) {
  using U = sort_key_of<T>;
  constexpr U sign = U(U(1) << (8 * sizeof(U) - 1));
  if constexpr (detail::is_floating<T>) {
    if (value != value) return U(~U(0));
    value = value + T(0);  // -0.0 becomes 0.0
    U bits;
    copy_bits(bits, value);
    return (bits & sign) != 0 ? U(~bits) : U(bits | sign);
  } else if constexpr (T(-1) < T(0)) {
    return U(U(value) ^ sign);
  } else {
    return U(value);
  }
}

// Inverse of sort_key, but for what the order does not tell apart: -0.0 comes back as 0.0 and every NaN as one NaN.
template <class T>
QUERY_GPU_BOTH inline T from_sort_key(sort_key_of<T> key) {
  using U = sort_key_of<T>;
  constexpr U sign = U(U(1) << (8 * sizeof(U) - 1));
  if constexpr (detail::is_floating<T>) {
    const U bits = key == U(~U(0)) ? U(~U(0) >> 1) : (key & sign) != 0 ? U(key ^ sign) : U(~key);
    T value;
    copy_bits(value, bits);
    return value;
  } else if constexpr (T(-1) < T(0)) {
    return T(U(key ^ sign));
  } else {
    return T(key);
  }
}

// Does the key tell this value from all others? That of -0.0 is 0.0's, and all NaNs have one.
template <class T>
QUERY_GPU_BOTH inline bool sort_key_tells(T value) {
  if constexpr (detail::is_floating<T>) {
    using U = sort_key_of<T>;
    U bits;
    copy_bits(bits, value);
    return value == value && bits != U(U(1) << (8 * sizeof(U) - 1));
  } else {
    return true;
  }
}

// The key of the reversed order; its own inverse.
template <class U>
QUERY_GPU_BOTH constexpr U descending_key(U key) {
  return U(~key);
}

// The word of a number whose type is known when the kernel runs: the number's bits, and what they are inverted by where the sign bit is set
// and where it is not. One kernel so sorts numbers of all types of a width, in both directions.
template <class U>
struct number_form {
  U negative, other;
  bool floating;
};
template <class U>
QUERY_GPU_BOTH constexpr number_form<U> number_form_of(bool is_signed, bool floating, bool descending) {
  constexpr U sign = U(U(1) << (8 * sizeof(U) - 1));
  const U negative = floating ? U(~U(0)) : is_signed ? sign : U(0), other = floating || is_signed ? sign : U(0);
  return {descending ? U(~negative) : negative, descending ? U(~other) : other, floating};
}
template <class U>
QUERY_GPU_BOTH inline U sort_key_of_bits(U bits, const number_form<U>& form) {
  constexpr U sign = U(U(1) << (8 * sizeof(U) - 1));
  constexpr U infinity = sizeof(U) == 8 ? U(u64(0x7ff) << 52) : U(u32(0xff) << 23);
  if (form.floating) {
    const U magnitude = U(bits & ~sign);
    if (magnitude == 0) bits = 0;
    if (magnitude > infinity) bits = U(~sign);
  }
  return U(bits ^ ((bits & sign) != 0 ? form.negative : form.other));
}
// Inverse, as from_sort_key is.
template <class U>
QUERY_GPU_BOTH inline U bits_of_sort_key(U key, const number_form<U>& form) {
  constexpr U sign = U(U(1) << (8 * sizeof(U) - 1));
  const U bits = U(key ^ form.other);
  return (bits & sign) != 0 ? U(key ^ form.negative) : bits;
}
template <class U>
QUERY_GPU_BOTH inline bool sort_key_tells(U bits, const number_form<U>& form) {
  return !form.floating || bits_of_sort_key(sort_key_of_bits(bits, form), form) == bits;
}

// One bit that places a null before or after all values. Place it as asked, whatever the direction of the key.
QUERY_GPU_BOTH constexpr u8 null_key(bool valid, bool nulls_first) { return valid == nulls_first ? 1 : 0; }

// A key of Bits < 64 bits and its null bit: Bits + 1 bits in all. All nulls are equal.
template <u32 Bits, class U>
QUERY_GPU_BOTH constexpr u64 nullable_key(bool valid, U key, bool nulls_first) {
  static_assert(Bits < 64, "nullable_key: no room for the null bit; sort by the key, then by null_key");
  return u64(null_key(valid, nulls_first)) << Bits | (valid ? u64(key) & ((u64(1) << Bits) - 1) : u64(0));
}

}  // namespace query::gpu
