// The CUDA driver, loaded at run time: this library needs neither the CUDA toolkit to be built nor a driver to start.
//
// Under everything else in this folder. Only the calls that the engine uses are declared here, with the driver's own ABI.
//
//   if (const driver* d = driver::find()) QUERY_CUDA(*d, cuMemAllocAsync, &p, n, stream);
//   else say(driver::why_not());                                   // "no NVIDIA driver: libcuda.so.1: cannot open..."
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <query/errors.hpp>

namespace query::gpu_engine {

// The device's memory, or the session's part of it, does not suffice: with less at a time it may (out_of_core/).
struct out_of_memory : resource_error {
  using resource_error::resource_error;
};

using device_address = std::uint64_t;  // CUdeviceptr
struct opaque_handle;
using context_handle = opaque_handle*;
using stream_handle = opaque_handle*;
using event_handle = opaque_handle*;
using module_handle = opaque_handle*;
using function_handle = opaque_handle*;
using memory_pool_handle = opaque_handle*;
using graph_handle = opaque_handle*;
using graph_program_handle = opaque_handle*;  // CUgraphExec

// CUmemAccessDesc: what a device may do with a pool of another.
struct memory_pool_access {
  int location_type = 1;  // a device
  int device = 0;
  int flags = 3;          // read and write
};

// What the calls return, as far as the engine tells results apart.
namespace cuda_result {
inline constexpr int success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, deinitialized = 4, device_unavailable = 46,
                     no_device = 100, invalid_device = 101, ecc_uncorrectable = 214, nvlink_uncorrectable = 220, contained = 226,
                     not_found = 500, not_ready = 600, illegal_address = 700, launch_timeout = 702,
                     hardware_stack_error = 714, launch_failed = 719, system_not_ready = 802;
}

// CUdevice_attribute, CUfunction_attribute and flags, as far as the engine uses them.
namespace cuda_attribute {
inline constexpr int shared_memory_per_block = 8, multiprocessors = 16, l2_bytes = 38, threads_per_multiprocessor = 39, copy_engines = 40,
                     capability_major = 75, capability_minor = 76, shared_memory_per_block_optin = 97, memory_pools_supported = 115;
inline constexpr int function_max_threads = 0, function_static_shared = 1, function_local_bytes = 3, function_registers = 4,
                     function_max_dynamic_shared = 8;
inline constexpr unsigned stream_non_blocking = 1, event_disable_timing = 2;
inline constexpr int capture_relaxed = 2;
}  // namespace cuda_attribute

// Told of the calls that a thread makes through QUERY_CUDA: how a recording notices work that it was not given.
class call_witness {
 public:
  virtual void called(const char* call) noexcept = 0;
  static void tell(const char* call) noexcept {
    if (current) current->called(call);
  }
  inline static thread_local call_witness* current = nullptr;  // of this thread; null: nobody wants to know

 protected:
  ~call_witness() = default;
};

// A table of the driver's functions. Calls on a device need its context to be current on the thread (scoped_context).
class driver {
 public:
  static const driver* find();          // loaded once a process and kept; null without a driver or a GPU
  static const std::string& why_not();  // "" if there is one

  // Loads `library`; throws resource_error naming what is missing. Does not call cuInit. The library is never unloaded.
  static driver load(const std::string& library);

  driver() = default;  // all null: for test doubles, which fill it in

  int (*cuInit)(unsigned flags) = nullptr;
  int (*cuDriverGetVersion)(int* version) = nullptr;  // 13000
  int (*cuDeviceGetCount)(int* n) = nullptr;
  int (*cuDeviceGet)(int* device, int ordinal) = nullptr;
  int (*cuDeviceGetName)(char* name, int length, int device) = nullptr;
  int (*cuDeviceGetAttribute)(int* value, int attribute, int device) = nullptr;
  int (*cuDeviceTotalMem)(std::size_t* bytes, int device) = nullptr;
  int (*cuDevicePrimaryCtxRetain)(context_handle*, int device) = nullptr;
  int (*cuDevicePrimaryCtxRelease)(int device) = nullptr;
  int (*cuCtxSetCurrent)(context_handle) = nullptr;
  int (*cuCtxGetCurrent)(context_handle*) = nullptr;

  int (*cuStreamCreate)(stream_handle*, unsigned flags) = nullptr;
  int (*cuStreamDestroy)(stream_handle) = nullptr;
  int (*cuStreamSynchronize)(stream_handle) = nullptr;  // waits without a way out: the engine polls cuStreamQuery
  int (*cuStreamQuery)(stream_handle) = nullptr;
  int (*cuStreamWaitEvent)(stream_handle, event_handle, unsigned flags) = nullptr;
  int (*cuEventCreate)(event_handle*, unsigned flags) = nullptr;
  int (*cuEventDestroy)(event_handle) = nullptr;
  int (*cuEventRecord)(event_handle, stream_handle) = nullptr;
  int (*cuEventSynchronize)(event_handle) = nullptr;
  int (*cuEventQuery)(event_handle) = nullptr;
  int (*cuEventElapsedTime)(float* milliseconds, event_handle from, event_handle to) = nullptr;

  int (*cuMemAllocAsync)(device_address*, std::size_t bytes, stream_handle) = nullptr;
  int (*cuMemFreeAsync)(device_address, stream_handle) = nullptr;
  int (*cuMemAlloc)(device_address*, std::size_t bytes) = nullptr;
  int (*cuMemFree)(device_address) = nullptr;
  int (*cuMemAllocHost)(void**, std::size_t bytes) = nullptr;
  int (*cuMemFreeHost)(void*) = nullptr;
  int (*cuMemcpyHtoDAsync)(device_address to, const void* from, std::size_t bytes, stream_handle) = nullptr;
  int (*cuMemcpyDtoHAsync)(void* to, device_address from, std::size_t bytes, stream_handle) = nullptr;
  // Between devices. Null in drivers without them.
  int (*cuDeviceCanAccessPeer)(int* can, int device, int peer) = nullptr;
  int (*cuMemcpyPeerAsync)(device_address to, context_handle there, device_address from, context_handle here, std::size_t bytes,
                           stream_handle) = nullptr;
  int (*cuMemPoolSetAccess)(memory_pool_handle, const memory_pool_access*, std::size_t n) = nullptr;
  int (*cuMemcpyDtoDAsync)(device_address to, device_address from, std::size_t bytes, stream_handle) = nullptr;
  int (*cuMemsetD8Async)(device_address, unsigned char value, std::size_t n, stream_handle) = nullptr;
  int (*cuMemsetD32Async)(device_address, unsigned value, std::size_t n, stream_handle) = nullptr;
  int (*cuMemGetInfo)(std::size_t* free, std::size_t* total) = nullptr;
  int (*cuDeviceGetDefaultMemPool)(memory_pool_handle*, int device) = nullptr;
  int (*cuMemPoolSetAttribute)(memory_pool_handle, int attribute, void* value) = nullptr;
  int (*cuMemPoolTrimTo)(memory_pool_handle, std::size_t bytes_to_keep) = nullptr;

  int (*cuModuleLoadData)(module_handle*, const void* image) = nullptr;
  int (*cuModuleUnload)(module_handle) = nullptr;
  int (*cuModuleGetFunction)(function_handle*, module_handle, const char* name) = nullptr;
  int (*cuFuncSetAttribute)(function_handle, int attribute, int value) = nullptr;
  int (*cuFuncGetAttribute)(int* value, int attribute, function_handle) = nullptr;
  int (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, function_handle, int threads, std::size_t dynamic_shared) = nullptr;
  int (*cuLaunchKernel)(function_handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned dynamic_shared, stream_handle, void** arguments, void** extra) = nullptr;
  // Graphs: null where the driver is older than CUDA 12.
  int (*cuStreamBeginCapture)(stream_handle, int mode) = nullptr;
  int (*cuStreamEndCapture)(stream_handle, graph_handle*) = nullptr;
  int (*cuGraphInstantiateWithFlags)(graph_program_handle*, graph_handle, unsigned long long flags) = nullptr;
  int (*cuGraphLaunch)(graph_program_handle, stream_handle) = nullptr;
  int (*cuGraphExecDestroy)(graph_program_handle) = nullptr;
  int (*cuGraphDestroy)(graph_handle) = nullptr;
  bool has_graphs() const {
    return cuStreamBeginCapture && cuStreamEndCapture && cuGraphInstantiateWithFlags && cuGraphLaunch && cuGraphExecDestroy &&
           cuGraphDestroy;
  }

  int (*cuGetErrorName)(int result, const char** text) = nullptr;
  int (*cuGetErrorString)(int result, const char** text) = nullptr;

  // Throws out_of_memory, resource_error for a lost device, internal_error for anything else; names the call and the driver's text.
  void check(int result, const char* call) const {
    call_witness::tell(call);
    if (result != cuda_result::success) fail(result, call);
  }
  // "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
  std::string text(int result) const;

 private:
  [[noreturn]] void fail(int result, const char* call) const;
};

}  // namespace query::gpu_engine

// Calls a function of the driver and throws unless it succeeds: QUERY_CUDA(driver, cuMemFreeAsync, address, stream).
#define QUERY_CUDA(driver, function, ...) (driver).check((driver).function(__VA_ARGS__), #function)
