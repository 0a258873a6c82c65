// What forms for the GPU in these tests do with the driver alone, so that the tests need no CUDA: copies within the device.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <stdexcept>

namespace conformance {

inline void copy_on_device(void* to, const void* from, std::size_t bytes, void* stream) {
  using function = int (*)(unsigned long long, unsigned long long, std::size_t, void*);
  static const auto f = reinterpret_cast<function>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "cuMemcpyDtoDAsync_v2"));
  if (bytes && f(reinterpret_cast<unsigned long long>(to), reinterpret_cast<unsigned long long>(from), bytes, stream) != 0)
    throw std::runtime_error("cuMemcpyDtoDAsync failed");
}

}  // namespace conformance
