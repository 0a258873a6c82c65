// The driver's functions, as driver_double.hpp has them; included there.
#pragma once

#include "gpu_engine/driver_double.hpp"

namespace query::gpu_engine {

inline void driver_double::bind_devices() {
  calls_.cuInit = [](unsigned) { return ok; };
  calls_.cuDeviceGetCount = [](int* n) {
    *n = static_cast<int>(self().devices_.size());
    return ok;
  };
  calls_.cuDeviceGet = [](int* handle, int ordinal) {
    *handle = ordinal;
    return ordinal >= 0 && ordinal < static_cast<int>(self().devices_.size()) ? ok : cuda_result::invalid_device;
  };
  calls_.cuDeviceGetName = [](char* name, int length, int) {
    std::strncpy(name, "driver double", static_cast<std::size_t>(length));
    return ok;
  };
  calls_.cuDeviceGetAttribute = [](int* value, int which, int) {
    static const std::map<int, int> values = {{cuda_attribute::multiprocessors, 4},
                                              {cuda_attribute::capability_major, 9},
                                              {cuda_attribute::capability_minor, 0},
                                              {cuda_attribute::threads_per_multiprocessor, 2048},
                                              {cuda_attribute::shared_memory_per_block_optin, 100'000},
                                              {cuda_attribute::l2_bytes, 1 << 20},
                                              {cuda_attribute::memory_pools_supported, 1}};
    *value = values.at(which);
    return ok;
  };
  calls_.cuDeviceTotalMem = [](std::size_t* bytes, int) {
    *bytes = self().memory_;
    return ok;
  };
  calls_.cuDevicePrimaryCtxRetain = [](context_handle* c, int device) {
    *c = reinterpret_cast<context_handle>(&self().at(device).context);
    return ok;
  };
  calls_.cuDevicePrimaryCtxRelease = [](int) { return ok; };
  calls_.cuDeviceCanAccessPeer = [](int* can, int device, int peer) {
    *can = device != peer;
    return ok;
  };
  calls_.cuMemPoolSetAccess = [](memory_pool_handle, const memory_pool_access*, std::size_t) { return ok; };
  calls_.cuCtxSetCurrent = [](context_handle c) {
    current_ = c;
    return ok;
  };
  calls_.cuCtxGetCurrent = [](context_handle* c) {
    *c = current_;
    return ok;
  };
}

inline void driver_double::bind_streams() {
  calls_.cuStreamCreate = [](stream_handle* s, unsigned) {
    const std::lock_guard lock(self().mutex_);
    *s = self().new_handle<stream_handle>();
    self().streams_[*s].device = self().current_device();
    return ok;
  };
  calls_.cuStreamDestroy = [](stream_handle s) {
    const std::lock_guard lock(self().mutex_);
    self().destroyed_[s] = true;
    return ok;
  };
  calls_.cuStreamQuery = [](stream_handle s) {
    const std::lock_guard lock(self().mutex_);
    self().poll();
    const int device = self().device_of(s);
    self().expect_current(device);
    if (self().at(device).fault != ok) return self().at(device).fault;
    if (self().streams_.at(s).captured) return 900;  // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    return self().streams_.at(s).empty() ? ok : cuda_result::not_ready;
  };
  calls_.cuStreamWaitEvent = [](stream_handle s, event_handle e, unsigned) {
    const std::lock_guard lock(self().mutex_);
    self().give(s, {[reached = self().events_[e].reached] { return *reached; }});
    return ok;
  };
  calls_.cuEventCreate = [](event_handle* e, unsigned) {
    const std::lock_guard lock(self().mutex_);
    *e = self().new_handle<event_handle>();
    self().events_[*e].device = self().current_device();
    return ok;
  };
  calls_.cuEventDestroy = [](event_handle) { return ok; };  // kept: streams may still wait for it
  calls_.cuEventRecord = [](event_handle e, stream_handle s) {
    const std::lock_guard lock(self().mutex_);
    if (self().events_[e].device != self().device_of(s)) ++self().misplaced_;
    const auto reached = self().events_[e].reached = std::make_shared<bool>(false);
    self().give(s, {[reached] { return *reached = true; }});
    return ok;
  };
  calls_.cuEventQuery = [](event_handle e) {
    const std::lock_guard lock(self().mutex_);
    self().poll();
    const mark& m = self().events_[e];
    if (self().at(m.device).fault != ok) return self().at(m.device).fault;
    return *m.reached ? ok : cuda_result::not_ready;
  };
  calls_.cuEventElapsedTime = [](float* milliseconds, event_handle, event_handle) {
    *milliseconds = 1;
    return ok;
  };
}

inline int driver_double::copy(void* to, const void* from, std::size_t n, stream_handle s, device_address checked,
                               device_address checked_too) {
  const std::lock_guard lock(self().mutex_);
  const int device = self().device_of(s);
  self().expect_current(device);
  if (checked_too == 0) self().up_ += n, self().at(device).up += n;
  if (checked == 0) self().down_ += n, ++self().copies_down_;
  self().give(s, {[=] {
                if (checked != 0) self().touch(checked, n, device);
                if (checked_too != 0) self().touch(checked_too, n, device);
                if (self().at(device).fault == ok) std::memcpy(to, from, n);
                if (checked == 0) self().arrived_ += n;
                return true;
              }});
  return ok;
}

inline void driver_double::bind_memory() {
  calls_.cuMemAllocAsync = [](device_address* at, std::size_t bytes, stream_handle s) {
    const std::lock_guard lock(self().mutex_);
    return self().allocate(at, bytes, self().device_of(s));
  };
  calls_.cuMemFreeAsync = [](device_address at, stream_handle s) {
    const std::lock_guard lock(self().mutex_);
    self().give(s, {[at, device = self().device_of(s)] { return self().release(at, device), true; }});
    return ok;
  };
  calls_.cuMemAllocHost = [](void** at, std::size_t bytes) {
    const std::lock_guard lock(self().mutex_);
    ++self().pinned_;
    if (self().failing_pinned_ != 0 && --self().failing_pinned_ == 0) return cuda_result::out_of_memory;
    if (bytes > self().pinnable_) return cuda_result::out_of_memory;
    self().pinnable_ -= bytes;
    *at = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    self().pinned_blocks_[*at] = bytes;
    return ok;
  };
  calls_.cuMemFreeHost = [](void* at) {
    const std::lock_guard lock(self().mutex_);
    const auto found = self().pinned_blocks_.find(at);
    if (found == self().pinned_blocks_.end()) return cuda_result::invalid_value;
    self().pinnable_ += found->second;
    self().pinned_blocks_.erase(found);
    std::free(at);
    return ok;
  };
  calls_.cuMemcpyHtoDAsync = [](device_address to, const void* from, std::size_t n, stream_handle s) {
    return copy(reinterpret_cast<void*>(to), from, n, s, to, 0);
  };
  calls_.cuMemcpyDtoHAsync = [](void* to, device_address from, std::size_t n, stream_handle s) {
    return copy(to, reinterpret_cast<const void*>(from), n, s, 0, from);
  };
  calls_.cuDriverGetVersion = [](int* version) {
    *version = 13000;
    return ok;
  };
  calls_.cuMemcpyDtoDAsync = [](device_address to, device_address from, std::size_t n, stream_handle s) {
    return copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), n, s, to, from);
  };
  calls_.cuMemcpyPeerAsync = [](device_address to, context_handle there, device_address from, context_handle here, std::size_t n,
                                stream_handle s) {
    const std::lock_guard lock(self().mutex_);
    const auto device_of = [](context_handle c) {
      int device = -1;
      for (std::size_t i = 0; i < self().devices_.size(); ++i)
        if (reinterpret_cast<context_handle>(&self().devices_[i].context) == c) device = static_cast<int>(i);
      return device;
    };
    const int target = device_of(there), origin = device_of(here);
    self().expect_current(self().device_of(s));
    self().between_ += n;
    self().give(s, {[=] {
                  self().touch(to, n, target);
                  self().touch(from, n, origin);
                  if (self().at(target).fault == ok && self().at(origin).fault == ok)
                    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), n);
                  return true;
                }});
    return ok;
  };
  calls_.cuMemsetD8Async = [](device_address at, unsigned char value, std::size_t n, stream_handle s) {
    const std::lock_guard lock(self().mutex_);
    const int device = self().device_of(s);
    self().expect_current(device);
    self().give(s, {[=] {
                  self().touch(at, n, device);
                  if (self().at(device).fault == ok) std::memset(reinterpret_cast<void*>(at), value, n);
                  return true;
                }});
    return ok;
  };
  calls_.cuMemGetInfo = [](std::size_t* free, std::size_t* total) {
    const std::lock_guard lock(self().mutex_);
    *free = self().memory_ - self().at(self().current_device()).in_use;
    *total = self().memory_;
    return ok;
  };
  calls_.cuDeviceGetDefaultMemPool = [](memory_pool_handle* pool, int) {
    *pool = nullptr;
    return ok;
  };
  calls_.cuMemPoolTrimTo = [](memory_pool_handle, std::size_t) { return ok; };
}

// An image is "image:" and the names of its functions; anything else is refused.
inline void driver_double::bind_modules() {
  calls_.cuModuleLoadData = [](module_handle* m, const void* image) {
    const std::lock_guard lock(self().mutex_);
    const std::string text = static_cast<const char*>(image);
    if (!text.starts_with("image:")) return 200;  // CUDA_ERROR_INVALID_IMAGE
    *m = self().new_handle<module_handle>();
    self().images_[*m] = text;
    ++self().loaded_;
    return ok;
  };
  calls_.cuModuleUnload = [](module_handle) {
    const std::lock_guard lock(self().mutex_);
    --self().loaded_;
    return ok;
  };
  calls_.cuModuleGetFunction = [](function_handle* f, module_handle m, const char* name) {
    const std::lock_guard lock(self().mutex_);
    if (self().images_.at(m).find(name) == std::string::npos) return cuda_result::not_found;
    *f = self().new_handle<function_handle>();
    self().functions_[*f] = name;
    self().function_devices_[*f] = self().current_device();
    self().function_modules_[*f] = m;
    return ok;
  };
  calls_.cuFuncGetAttribute = [](int* value, int which, function_handle) {
    *value = which == cuda_attribute::function_max_threads ? 1024 : which == cuda_attribute::function_registers ? 32 : 0;
    return ok;
  };
  calls_.cuFuncSetAttribute = [](function_handle, int, int) { return ok; };
  calls_.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* blocks, function_handle, int threads, std::size_t) {
    *blocks = 2048 / threads;
    return ok;
  };
  calls_.cuLaunchKernel = [](function_handle f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared,
                             stream_handle s, void** arguments, void**) {
    const std::lock_guard lock(self().mutex_);
    const int device = self().device_of(s);
    self().expect_current(device);
    self().misplaced_ += self().function_devices_.at(f) == device ? 0 : 1;
    if (self().at(device).launch_result != ok) return self().at(device).launch_result;
    ++self().at(device).launches;
    const std::string& name = self().functions_.at(f);
    self().shared_[name] = shared;
    if (const auto generated = self().generated_.find(name); generated != self().generated_.end()) {
      const std::string& program = self().images_.at(self().function_modules_.at(f));
      const std::string_view declared = "struct words { u64 w[";
      std::vector<std::uint64_t> words(std::stoul(program.substr(program.find(declared) + declared.size())));
      std::memcpy(words.data(), *arguments, words.size() * 8);
      ++self().launches_[name];
      self().give(s, {[body = generated->second, words = std::move(words), &program, device] {
                    if (self().at(device).fault == ok) body({words, program, device});
                    return true;
                  }});
      return ok;
    }
    if (self().unknown_kernels_ && !self().kernels_.contains(name)) return ok;
    // Arguments are read at the launch, as the driver does.
    const auto& known = self().kernels_.at(name);
    const std::size_t bytes = known.second;
    std::vector<std::vector<std::uint64_t>> copied;
    for (void** a = arguments; a != nullptr && *a != nullptr; ++a)
      std::memcpy(copied.emplace_back((bytes + 7) / 8).data(), *a, bytes);
    ++self().launches_[name];
    self().give(s, {[body = known.first, copied, device]() mutable {
                  if (self().at(device).fault != ok) return true;  // as copies: the host may have freed what it writes to
                  std::vector<void*> addresses;
                  for (auto& value : copied) addresses.push_back(value.data());
                  body(addresses.data());
                  return true;
                }});
    return ok;
  };
}

// A graph is what its stream was given meanwhile, in that order.
inline void driver_double::bind_graphs() {
  calls_.cuStreamBeginCapture = [](stream_handle s, int) {
    const std::lock_guard lock(self().mutex_);
    self().streams_.at(s).captured = std::make_unique<std::vector<operation>>();
    return ok;
  };
  calls_.cuStreamEndCapture = [](stream_handle s, graph_handle* made) {
    const std::lock_guard lock(self().mutex_);
    const auto captured = std::move(self().streams_.at(s).captured);
    if (!captured) return cuda_result::invalid_value;
    *made = self().new_handle<graph_handle>();
    self().graphs_[*made] = std::move(*captured);
    return ok;
  };
  calls_.cuGraphInstantiateWithFlags = [](graph_program_handle* made, graph_handle of, unsigned long long) {
    const std::lock_guard lock(self().mutex_);
    *made = self().new_handle<graph_program_handle>();
    self().graphs_[*made] = self().graphs_.at(of);
    return ok;
  };
  calls_.cuGraphLaunch = [](graph_program_handle program, stream_handle s) {
    const std::lock_guard lock(self().mutex_);
    for (const operation& o : self().graphs_.at(program)) self().give(s, o);
    return ok;
  };
  calls_.cuGraphExecDestroy = [](graph_program_handle program) {
    const std::lock_guard lock(self().mutex_);
    return self().graphs_.erase(program) ? ok : cuda_result::invalid_value;
  };
  calls_.cuGraphDestroy = [](graph_handle graph) {
    const std::lock_guard lock(self().mutex_);
    return self().graphs_.erase(graph) ? ok : cuda_result::invalid_value;
  };
}

}  // namespace query::gpu_engine
