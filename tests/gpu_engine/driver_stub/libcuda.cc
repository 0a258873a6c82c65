// A libcuda.so.1 that can do nothing: a machine with NVIDIA's driver and as many GPUs as QUERY_STUB_GPUS says, none without it. Whoever
// gets as far as asking it for memory or kernels is told that the device is unavailable. For tests of what a session says where a GPU
// cannot be used; a child process loads it by LD_LIBRARY_PATH.
#include <cstddef>
#include <cstdlib>
#include <cstring>

#define UNAVAILABLE(name) \
  int name(...) { return 46; }

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int* n) {
  const char* gpus = std::getenv("QUERY_STUB_GPUS");
  *n = gpus ? std::atoi(gpus) : 0;
  return 0;
}
int cuDeviceGet(int* handle, int ordinal) {
  *handle = ordinal;
  return 0;
}
int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "stub", static_cast<std::size_t>(length));
  return 0;
}
int cuDeviceGetAttribute(int* value, int which, int) {
  *value = which == 75 ? 9 : which == 76 ? 0 : 1;  // compute capability 9.0
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = std::size_t{1} << 30;
  return 0;
}
int cuGetErrorName(int, const char** text) {
  *text = "stub";
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "a stub";
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = context;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxGetCurrent(void** context) {
  *context = nullptr;
  return 0;
}

UNAVAILABLE(cuDriverGetVersion)
UNAVAILABLE(cuStreamCreate)
UNAVAILABLE(cuStreamDestroy_v2)
UNAVAILABLE(cuStreamSynchronize)
UNAVAILABLE(cuStreamQuery)
UNAVAILABLE(cuStreamWaitEvent)
UNAVAILABLE(cuEventCreate)
UNAVAILABLE(cuEventDestroy_v2)
UNAVAILABLE(cuEventRecord)
UNAVAILABLE(cuEventSynchronize)
UNAVAILABLE(cuEventQuery)
UNAVAILABLE(cuEventElapsedTime)
UNAVAILABLE(cuMemAllocAsync)
UNAVAILABLE(cuMemFreeAsync)
UNAVAILABLE(cuMemAlloc_v2)
UNAVAILABLE(cuMemFree_v2)
UNAVAILABLE(cuMemAllocHost_v2)
UNAVAILABLE(cuMemFreeHost)
UNAVAILABLE(cuMemcpyHtoDAsync_v2)
UNAVAILABLE(cuMemcpyDtoHAsync_v2)
UNAVAILABLE(cuMemcpyDtoDAsync_v2)
UNAVAILABLE(cuMemsetD8Async)
UNAVAILABLE(cuMemsetD32Async)
UNAVAILABLE(cuMemGetInfo_v2)
UNAVAILABLE(cuDeviceGetDefaultMemPool)
UNAVAILABLE(cuMemPoolSetAttribute)
UNAVAILABLE(cuMemPoolTrimTo)
UNAVAILABLE(cuModuleLoadData)
UNAVAILABLE(cuModuleUnload)
UNAVAILABLE(cuModuleGetFunction)
UNAVAILABLE(cuFuncSetAttribute)
UNAVAILABLE(cuFuncGetAttribute)
UNAVAILABLE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
UNAVAILABLE(cuLaunchKernel)
UNAVAILABLE(cuStreamBeginCapture_v2)
UNAVAILABLE(cuStreamEndCapture)
UNAVAILABLE(cuGraphInstantiateWithFlags)
UNAVAILABLE(cuGraphLaunch)
UNAVAILABLE(cuGraphExecDestroy)
UNAVAILABLE(cuGraphDestroy)
UNAVAILABLE(cuDeviceCanAccessPeer)
UNAVAILABLE(cuMemcpyPeerAsync)
UNAVAILABLE(cuMemPoolSetAccess)

}  // extern "C"
