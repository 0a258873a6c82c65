#include "gpu_engine/driver.hpp"

#include <dlfcn.h>

#include <memory>
#include <optional>

#include <query/errors.hpp>

#include "gpu_engine/device_lost.hpp"
#include "gpu_engine/library_functions.hpp"

namespace query::gpu_engine {
namespace {

struct search {
  std::optional<driver> found;
  std::string why_not;
};

search look() {
  search s;
  try {
    driver d = driver::load("libcuda.so.1");
    d.check(d.cuInit(0), "cuInit");
    int devices = 0;
    d.check(d.cuDeviceGetCount(&devices), "cuDeviceGetCount");
    if (devices == 0) s.why_not = "gpu: the NVIDIA driver shows no GPU";
    else s.found = d;
  } catch (const error& e) {
    s.why_not = e.what();
  }
  return s;
}

// Never destroyed: sessions of other static objects may end after this one would.
const search& the_search() {
  static const search& s = *std::make_unique<search>(look()).release();
  return s;
}

// Results after which the context gives no other, as far as cuda_result does not have them.
constexpr int context_is_destroyed = 709, assertion = 710, illegal_instruction = 715, misaligned_address = 716, invalid_address_space = 717,
              invalid_pc = 718, unknown_error = 999;

// The device failed, or the context is unusable for the rest of the process, whatever did that to it: nothing that lies there can be
// read any more.
bool is_loss_of_device(int result) {
  switch (result) {
    case cuda_result::device_unavailable:
    case cuda_result::no_device:
    case cuda_result::ecc_uncorrectable:
    case cuda_result::nvlink_uncorrectable:
    case cuda_result::contained:
    case cuda_result::illegal_address:
    case cuda_result::launch_timeout:
    case context_is_destroyed:
    case assertion:
    case cuda_result::hardware_stack_error:
    case illegal_instruction:
    case misaligned_address:
    case invalid_address_space:
    case invalid_pc:
    case cuda_result::launch_failed:
    case cuda_result::system_not_ready:
    case unknown_error: return true;
    default: return false;
  }
}

}  // namespace

const driver* driver::find() {
  const search& s = the_search();
  return s.found ? &*s.found : nullptr;
}

const std::string& driver::why_not() { return the_search().why_not; }

driver driver::load(const std::string& library) {
  void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) throw resource_error(std::string("gpu: no NVIDIA driver: ") + ::dlerror());
  library_functions b(loaded, library);
  driver d;
  b.bind(d.cuInit, "cuInit");
  b.bind(d.cuDriverGetVersion, "cuDriverGetVersion");
  b.bind(d.cuDeviceGetCount, "cuDeviceGetCount");
  b.bind(d.cuDeviceGet, "cuDeviceGet");
  b.bind(d.cuDeviceGetName, "cuDeviceGetName");
  b.bind(d.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  b.bind(d.cuDeviceTotalMem, "cuDeviceTotalMem_v2");
  b.bind(d.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  b.bind(d.cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  b.bind(d.cuCtxSetCurrent, "cuCtxSetCurrent");
  b.bind(d.cuCtxGetCurrent, "cuCtxGetCurrent");

  b.bind(d.cuStreamCreate, "cuStreamCreate");
  b.bind(d.cuStreamDestroy, "cuStreamDestroy_v2");
  b.bind(d.cuStreamSynchronize, "cuStreamSynchronize");
  b.bind(d.cuStreamQuery, "cuStreamQuery");
  b.bind(d.cuStreamWaitEvent, "cuStreamWaitEvent");
  b.bind(d.cuEventCreate, "cuEventCreate");
  b.bind(d.cuEventDestroy, "cuEventDestroy_v2");
  b.bind(d.cuEventRecord, "cuEventRecord");
  b.bind(d.cuEventSynchronize, "cuEventSynchronize");
  b.bind(d.cuEventQuery, "cuEventQuery");
  b.bind(d.cuEventElapsedTime, "cuEventElapsedTime");

  b.bind(d.cuMemAllocAsync, "cuMemAllocAsync");
  b.bind(d.cuMemFreeAsync, "cuMemFreeAsync");
  b.bind(d.cuMemAlloc, "cuMemAlloc_v2");
  b.bind(d.cuMemFree, "cuMemFree_v2");
  b.bind(d.cuMemAllocHost, "cuMemAllocHost_v2");
  b.bind(d.cuMemFreeHost, "cuMemFreeHost");
  b.bind(d.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  b.bind(d.cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  b.bind(d.cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  b.bind(d.cuMemsetD8Async, "cuMemsetD8Async");
  b.bind(d.cuMemsetD32Async, "cuMemsetD32Async");
  b.bind(d.cuMemGetInfo, "cuMemGetInfo_v2");
  b.bind(d.cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool");
  b.bind(d.cuMemPoolSetAttribute, "cuMemPoolSetAttribute");
  b.bind(d.cuMemPoolTrimTo, "cuMemPoolTrimTo");

  b.bind(d.cuModuleLoadData, "cuModuleLoadData");
  b.bind(d.cuModuleUnload, "cuModuleUnload");
  b.bind(d.cuModuleGetFunction, "cuModuleGetFunction");
  b.bind(d.cuFuncSetAttribute, "cuFuncSetAttribute");
  b.bind(d.cuFuncGetAttribute, "cuFuncGetAttribute");
  b.bind(d.cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  b.bind(d.cuLaunchKernel, "cuLaunchKernel");
  b.bind_if_there(d.cuStreamBeginCapture, "cuStreamBeginCapture_v2");
  b.bind_if_there(d.cuStreamEndCapture, "cuStreamEndCapture");
  b.bind_if_there(d.cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
  b.bind_if_there(d.cuGraphLaunch, "cuGraphLaunch");
  b.bind_if_there(d.cuGraphExecDestroy, "cuGraphExecDestroy");
  b.bind_if_there(d.cuGraphDestroy, "cuGraphDestroy");
  b.bind_if_there(d.cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer");
  b.bind_if_there(d.cuMemcpyPeerAsync, "cuMemcpyPeerAsync");
  b.bind_if_there(d.cuMemPoolSetAccess, "cuMemPoolSetAccess");
  b.bind(d.cuGetErrorName, "cuGetErrorName");
  b.bind(d.cuGetErrorString, "cuGetErrorString");
  if (!b.missing().empty()) throw resource_error("gpu: the NVIDIA driver is too old: " + b.missing());
  return d;
}

std::string driver::text(int result) const {
  const char *name = nullptr, *what = nullptr;
  if (cuGetErrorName != nullptr) cuGetErrorName(result, &name);
  if (cuGetErrorString != nullptr) cuGetErrorString(result, &what);
  std::string text = name != nullptr ? name : "CUDA error " + std::to_string(result);
  if (what != nullptr) text += std::string(": ") + what;
  return text;
}

void driver::fail(int result, const char* call) const {
  const std::string what = std::string(call) + ": " + text(result);
  if (result == cuda_result::out_of_memory) throw out_of_memory("gpu: the device has no memory left: " + what);
  if (is_loss_of_device(result)) {
    note_loss(*this, what);
    throw device_lost("gpu: the device is lost: " + what);
  }
  throw internal_error("gpu: a call of the driver failed: " + what);
}

}  // namespace query::gpu_engine
