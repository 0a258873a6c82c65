// What generated code calls: arithmetic with the library's rules, checks, strings.
//
// Integers wrap; division by zero, INT_MIN / -1, an empty optional's value, an index outside and endless loops are reported through an
// error word; float to integer saturates and NaN gives 0; shifts use the low bits of the count (src/cpu_engine/interpreter.hpp
// has the same rules for the CPU).
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

template <class T> struct traits;
template <> struct traits<bool> { static constexpr bool floating = false, is_signed = false; using wide = u32; };
template <> struct traits<i8> { static constexpr bool floating = false, is_signed = true; using wide = u32; static constexpr i8 most = 127, least = -128; };
template <> struct traits<i16> { static constexpr bool floating = false, is_signed = true; using wide = u32; static constexpr i16 most = 32767, least = -32768; };
template <> struct traits<i32> { static constexpr bool floating = false, is_signed = true; using wide = u32; static constexpr i32 most = 2147483647, least = -2147483647 - 1; };
template <> struct traits<i64> { static constexpr bool floating = false, is_signed = true; using wide = u64; static constexpr i64 most = 9223372036854775807ll, least = -9223372036854775807ll - 1; };
template <> struct traits<u8> { static constexpr bool floating = false, is_signed = false; using wide = u32; static constexpr u8 most = 255, least = 0; };
template <> struct traits<u16> { static constexpr bool floating = false, is_signed = false; using wide = u32; static constexpr u16 most = 65535, least = 0; };
template <> struct traits<u32> { static constexpr bool floating = false, is_signed = false; using wide = u32; static constexpr u32 most = 4294967295u, least = 0; };
template <> struct traits<u64> { static constexpr bool floating = false, is_signed = false; using wide = u64; static constexpr u64 most = 18446744073709551615ull, least = 0; };
template <> struct traits<float> { static constexpr bool floating = true, is_signed = true; };
template <> struct traits<double> { static constexpr bool floating = true, is_signed = true; };

// Strings and lists: elements that lie elsewhere in device memory.
struct text {
  const char* at;
  u64 size;
};
template <class E> struct list {
  const E* at;
  u64 size;
};

// Why a row could not be computed. The first error of a kernel is kept: the site's number above, the code below.
enum error_code : u32 {
  no_error, division_by_zero, empty_optional, index_outside, endless_loop, empty_collection, substring_outside, division_overflow,
  number_too_wide
};

#if QUERY_GPU_DEVICE_CODE

__device__ __noinline__ inline void fail(u64* errors, error_code code, u32 site) { atomicCAS(errors, 0ull, (u64(site) << 8) | u64(code)); }

// A column of integers that follow one another, which lies in no memory.
template <class T> struct numbers_from {
  u64 first;
  __device__ __forceinline__ T operator[](u64 i) const { return T(first + i); }
};

template <class T> __device__ __forceinline__ T add(T a, T b) {
  if constexpr (traits<T>::floating) return a + b;
  else return T(typename traits<T>::wide(a) + typename traits<T>::wide(b));
}
template <class T> __device__ __forceinline__ T sub(T a, T b) {
  if constexpr (traits<T>::floating) return a - b;
  else return T(typename traits<T>::wide(a) - typename traits<T>::wide(b));
}
template <class T> __device__ __forceinline__ T mul(T a, T b) {
  if constexpr (traits<T>::floating) return a * b;
  else return T(typename traits<T>::wide(a) * typename traits<T>::wide(b));
}
template <class T> __device__ __forceinline__ T div(T a, T b, u64* errors, u32 site) {
  if constexpr (traits<T>::floating) return a / b;
  else {
    if (b == T(0)) {
      fail(errors, division_by_zero, site);
      return T(0);
    }
    if constexpr (traits<T>::is_signed)
      if (b == T(-1)) {
        if (a != T(0) && a == sub(T(0), a)) fail(errors, division_overflow, site);  // the smallest integer
        return sub(T(0), a);
      }
    return T(a / b);
  }
}
template <class T> __device__ __forceinline__ T mod(T a, T b, u64* errors, u32 site) {
  if constexpr (traits<T>::floating) return sizeof(T) == 4 ? T(fmodf(float(a), float(b))) : T(fmod(double(a), double(b)));
  else {
    if (b == T(0)) {
      fail(errors, division_by_zero, site);
      return T(0);
    }
    if constexpr (traits<T>::is_signed)
      if (b == T(-1)) return T(0);
    return T(a % b);
  }
}
template <class T> __device__ __forceinline__ T neg(T a) {
  if constexpr (traits<T>::floating) return -a;
  else return T(typename traits<T>::wide(0) - typename traits<T>::wide(a));
}
template <class T> __device__ __forceinline__ T bit_not(T a) { return T(~typename traits<T>::wide(a)); }
template <class T> __device__ __forceinline__ T bit_and(T a, T b) { return T(a & b); }
template <class T> __device__ __forceinline__ T bit_or(T a, T b) { return T(a | b); }
template <class T> __device__ __forceinline__ T bit_xor(T a, T b) { return T(a ^ b); }
template <class T> __device__ __forceinline__ T shl(T a, T b) { return T(typename traits<T>::wide(a) << (u32(b) & (sizeof(T) * 8 - 1))); }
template <class T> __device__ __forceinline__ T shr(T a, T b) { return T(a >> (u32(b) & (sizeof(T) * 8 - 1))); }

// Moves a mean that is kept in two doubles, the lower one for what rounding takes (query/detail/moments.hpp). No fused operation
// may come in between.
__device__ __forceinline__ void move_mean(double& mean, double& low, double by) {
  const double next = __dadd_rn(mean, by), moved = __dsub_rn(next, mean);
  low = __dadd_rn(low, __dadd_rn(__dsub_rn(mean, __dsub_rn(next, moved)), __dsub_rn(by, moved)));
  mean = next;
}

template <class To, class From> __device__ __forceinline__ To convert(From x) {
  if constexpr (traits<From>::floating && !traits<To>::floating) {
    // 2^digits is exact in every float type, the largest integer is not.
    constexpr From past = From(u64(1) << (sizeof(To) * 8 - 1 - (traits<To>::is_signed ? 1 : 0))) * From(2);
    constexpr From lowest = traits<To>::is_signed ? -past : From(0);
    if (x >= past) return traits<To>::most;
    if (x < lowest) return traits<To>::least;
    return x == x ? To(x) : To(0);
  } else {
    return To(x);
  }
}
// An integer that must fit a field of query::make.
template <class To, class From> __device__ __forceinline__ To narrow(From x, u64* errors, u32 site) {
  const To t = To(x);
  if (From(t) != x || (t < To(0)) != (x < From(0))) fail(errors, number_too_wide, site);
  return t;
}
template <class From> __device__ __forceinline__ bool to_bool(From x) { return x != From(0); }

template <class T> __device__ __forceinline__ T absolute(T x) {
  if constexpr (traits<T>::floating) return sizeof(T) == 4 ? T(fabsf(float(x))) : T(fabs(double(x)));
  else if constexpr (traits<T>::is_signed) return x < T(0) ? sub(T(0), x) : x;
  else return x;
}
__device__ __forceinline__ bool is_nan(float x) { return x != x; }
__device__ __forceinline__ bool is_nan(double x) { return x != x; }
__device__ __forceinline__ bool is_inf(float x) { return (__float_as_uint(x) & 0x7fffffffu) == 0x7f800000u; }
__device__ __forceinline__ bool is_inf(double x) { return (u64(__double_as_longlong(x)) & 0x7fffffffffffffffull) == 0x7ff0000000000000ull; }
__device__ __forceinline__ bool is_finite(float x) { return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u; }
__device__ __forceinline__ bool is_finite(double x) { return (u64(__double_as_longlong(x)) & 0x7ff0000000000000ull) != 0x7ff0000000000000ull; }
__device__ __forceinline__ bool sign_bit(float x) { return (__float_as_uint(x) >> 31) != 0; }
__device__ __forceinline__ bool sign_bit(double x) { return (u64(__double_as_longlong(x)) >> 63) != 0; }

// A value that lies at a multiple of Align bytes, by loads of as many bytes.
template <u32 Align, class T> __device__ __forceinline__ T load_wide(const T& from) {
  constexpr u32 width = Align >= 16 && sizeof(T) % 16 == 0 ? 16 : Align >= 8 && sizeof(T) % 8 == 0 ? 8 : 0;
  if constexpr (width == 0) {
    return from;
  } else {
    T to;
#pragma unroll
    for (u32 i = 0; i < sizeof(T) / width; ++i) {
      if constexpr (width == 16) {
        const uint4 w = reinterpret_cast<const uint4*>(&from)[i];
        memcpy(reinterpret_cast<char*>(&to) + i * 16, &w, 16);
      } else {
        const uint2 w = reinterpret_cast<const uint2*>(&from)[i];
        memcpy(reinterpret_cast<char*>(&to) + i * 8, &w, 8);
      }
    }
    return to;
  }
}

__device__ __forceinline__ float bits_f32(u64 w) { return __uint_as_float(u32(w)); }
__device__ __forceinline__ double bits_f64(u64 w) { return __longlong_as_double(i64(w)); }

// A value of at most 8 bytes as a word, and read as if it were the only element of a column.
template <class T> struct carried {
  static_assert(sizeof(T) <= 8);
  u64 word;
  __device__ __forceinline__ T operator[](u64) const {
    T value;
    memcpy(&value, &word, sizeof(T));
    return value;
  }
  static __device__ __forceinline__ u64 bits(const T& value) {
    u64 word = 0;
    memcpy(&word, &value, sizeof(T));
    return word;
  }
};

// A value that was read before, as if it were the only element of a column.
template <class T> struct held {
  const T& value;
  __device__ __forceinline__ const T& operator[](u64) const { return value; }
};

// Places in arrays and lists; the first element, or a spare one, stands in for what is outside.
__device__ __forceinline__ u64 inside(i64 at, u64 size, u64* errors, u32 site) {
  if (at >= 0 && u64(at) < size) return u64(at);
  fail(errors, index_outside, site);
  return 0;
}

// ---------------------------------------------------------------- strings
__device__ inline int compare(const text& a, const text& b) {
  const u64 n = a.size < b.size ? a.size : b.size;
  for (u64 i = 0; i < n; ++i)
    if (a.at[i] != b.at[i]) return u8(a.at[i]) < u8(b.at[i]) ? -1 : 1;
  return a.size == b.size ? 0 : a.size < b.size ? -1 : 1;
}
__device__ inline bool equal(const text& a, const text& b) {
  if (a.size != b.size) return false;
  u64 i = 0;
  if (((u64(a.at) | u64(b.at)) & 7) == 0)
    for (; i + 8 <= a.size; i += 8)
      if (*(const u64*)(a.at + i) != *(const u64*)(b.at + i)) return false;
  for (; i < a.size; ++i)
    if (a.at[i] != b.at[i]) return false;
  return true;
}
__device__ __forceinline__ bool less(const text& a, const text& b) { return compare(a, b) < 0; }
__device__ inline bool starts_with(const text& a, const text& b) { return b.size <= a.size && compare({a.at, b.size}, b) == 0; }
__device__ inline bool ends_with(const text& a, const text& b) { return b.size <= a.size && compare({a.at + (a.size - b.size), b.size}, b) == 0; }
// Code points, as query::length counts them.
__device__ inline u64 length(const text& a) {
  u64 n = a.size != 0;
  for (u64 i = 1; i < a.size; ++i) n += (u8(a.at[i]) & 0xC0) != 0x80;
  return n;
}
__device__ inline u64 find(const text& a, const text& b) {
  for (u64 i = 0; b.size <= a.size && i <= a.size - b.size; ++i)
    if (compare({a.at + i, b.size}, b) == 0) return i;
  return ~u64(0);
}
__device__ inline u64 rfind(const text& a, const text& b) {
  for (u64 i = b.size <= a.size ? a.size - b.size + 1 : 0; i-- > 0;)
    if (compare({a.at + i, b.size}, b) == 0) return i;
  return ~u64(0);
}
__device__ inline text substr(const text& a, u64 from, u64 n, u64* errors, u32 site) {
  if (from > a.size) {
    fail(errors, substring_outside, site);
    return {a.at, 0};
  }
  return {a.at + from, n < a.size - from ? n : a.size - from};
}

#endif

}  // namespace query::gpu
