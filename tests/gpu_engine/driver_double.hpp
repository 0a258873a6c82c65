// A CUDA driver without a GPU: streams are queues of operations that run, one at a time, whenever somebody polls.
//
// Work that was given to a stream has not run until somebody polls often enough, and which stream goes next is drawn from a
// seed: code that forgets to wait sees wrong data here. Memory is the host's; its use after release is a fault, which the
// next poll reports as the driver would. Kernels are functions of the test.
//
// There may be several devices, each with memory, streams and faults of its own. A call whose device is not the current
// context's, and memory used on another device than its own, are counted as misplaced.
//
//   driver_double fake;                       // one at a time: the driver's functions have no place for a `this`
//   device d(fake.calls(), 0);
//   driver_double four(1, 1 << 30, 4);
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu_engine/driver.hpp"
#include "gpu_engine/nvrtc.hpp"

namespace query::gpu_engine {

class driver_double {
 public:
  explicit driver_double(unsigned seed = 1, std::size_t memory = std::size_t{1} << 30, int devices = 1)
      : random_(seed), memory_(memory), devices_(static_cast<std::size_t>(devices)) {
    bind();
  }
  ~driver_double() {
    run_all();
    for (const auto& [address, b] : blocks_) std::free(reinterpret_cast<void*>(address));
    self_ = before_;
  }
  driver_double(const driver_double&) = delete;
  driver_double& operator=(const driver_double&) = delete;

  const driver& calls() const { return calls_; }

  // A kernel, by the name of its entry.
  using kernel_body = std::function<void(void** arguments)>;
  // `bytes`: of each argument.
  void add_kernel(const std::string& name, kernel_body body, std::size_t bytes = 8) { kernels_[name] = {std::move(body), bytes}; }

  // A generated kernel, by the name of its entry: its parameter words, and the program that it is of.
  struct generated_call {
    std::vector<std::uint64_t> words;
    const std::string& program;
    int device;
  };
  using generated_body = std::function<void(const generated_call&)>;
  void add_generated(const std::string& name, generated_body body) { generated_[name] = std::move(body); }

  // Nothing that is given to the stream from now on runs until let_go().
  void hold(stream_handle s) {
    const std::lock_guard lock(mutex_);
    held_.insert(s);
    give(s, {[this, s] { return !held_.contains(s); }});
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    held_.clear();
  }
  void let_go(stream_handle s) {
    const std::lock_guard lock(mutex_);
    held_.erase(s);
  }
  // Runs everything that can run.
  void run_all() {
    const std::lock_guard lock(mutex_);
    for (bool ran = true; ran;) {
      ran = false;
      for (auto& [handle, queue] : streams_)
        while (step(queue)) ran = true;
    }
  }
  // The next polls find the device in this state.
  void break_device(int result, int device = 0) {
    const std::lock_guard lock(mutex_);
    at(device).fault = result;
  }

  // Launches fail with this from now on; cuda_result::success: they do not.
  void fail_launches(int result, int device = 0) {
    const std::lock_guard lock(mutex_);
    at(device).launch_result = result;
  }
  // Kernels without a body do nothing, instead of being unknown.
  void allow_unknown_kernels() {
    const std::lock_guard lock(mutex_);
    unknown_kernels_ = true;
  }

  // It has graphs from now on, as drivers of CUDA 12 have: before others copy its table of calls.
  void have_graphs() { bind_graphs(); }

  // What streams are given runs at once from now on, where it can: for tests that are not about waiting.
  void run_at_once() {
    const std::lock_guard lock(mutex_);
    prompt_ = true;
  }

  // Host memory that can be locked from now on.
  void limit_pinned(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    pinnable_ = bytes;
  }

  // The n-th request to lock host memory from now (1: the next) is refused; 0: none is.
  void fail_pinned(std::size_t n) {
    const std::lock_guard lock(mutex_);
    failing_pinned_ = n;
  }

  std::size_t memory_in_use() const {  // of all devices
    const std::lock_guard lock(mutex_);
    std::size_t bytes = 0;
    for (const one_device& d : devices_) bytes += d.in_use;
    return bytes;
  }
  std::size_t launches_on(int device) const {
    const std::lock_guard lock(mutex_);
    return devices_[static_cast<std::size_t>(device)].launches;
  }
  std::size_t bytes_up_to(int device) const {
    const std::lock_guard lock(mutex_);
    return devices_[static_cast<std::size_t>(device)].up;
  }
  std::size_t bytes_between() const { return locked(between_); }  // copied from device to device
  std::size_t misplaced() const { return locked(misplaced_); }
  std::size_t allocations() const { return locked(allocated_); }  // of device memory
  std::size_t pinned_allocations() const { return locked(pinned_); }
  std::size_t modules() const { return locked(loaded_); }         // loaded now
  std::size_t bytes_up() const { return locked(up_); }            // copied from and to the host
  std::size_t bytes_down() const { return locked(down_); }
  std::size_t bytes_arrived() const { return locked(arrived_); }  // of those that were copied to the host: the copies have run
  std::size_t copies_down() const { return locked(copies_down_); }  // as many as the host waited for
  std::size_t launches(const std::string& kernel) const {
    const std::lock_guard lock(mutex_);
    const auto found = launches_.find(kernel);
    return found == launches_.end() ? 0 : found->second;
  }
  std::size_t shared_bytes(const std::string& kernel) const {  // dynamic ones of its last launch
    const std::lock_guard lock(mutex_);
    return shared_.at(kernel);
  }
  std::size_t streams() const {
    const std::lock_guard lock(mutex_);
    return streams_.size();
  }

 private:
  static constexpr int ok = cuda_result::success;

  struct operation {
    std::function<bool()> run;  // false: cannot run yet
  };
  struct queue : std::deque<operation> {
    int device = 0;
    std::unique_ptr<std::vector<operation>> captured;  // instead of running: into a graph
  };
  struct block {
    std::size_t bytes;
    int device;
  };
  struct one_device {
    char context = 0;  // whose address is the handle
    std::size_t in_use = 0, launches = 0, up = 0;
    int fault = cuda_result::success, launch_result = cuda_result::success;
  };
  // An event: its last record, which waits keep. An earlier one, on another stream, may end after it and says nothing then.
  struct mark {
    std::shared_ptr<bool> reached = std::make_shared<bool>(true);
    int device = 0;
  };

  template <class T>
  T locked(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }

  // Everything below is called with the lock held.

  one_device& at(int device) { return devices_[static_cast<std::size_t>(device)]; }
  int current_device() {
    for (std::size_t i = 0; i < devices_.size(); ++i)
      if (reinterpret_cast<context_handle>(&devices_[i].context) == current_) return static_cast<int>(i);
    ++misplaced_;
    return 0;
  }
  // A call for something of this device.
  void expect_current(int device) { misplaced_ += current_device() == device ? 0 : 1; }
  int device_of(stream_handle s) { return streams_.at(s).device; }

  void give(stream_handle s, operation o) {
    queue& q = streams_.at(s);
    if (q.captured) {
      q.captured->push_back(std::move(o));
      return;
    }
    q.push_back(std::move(o));
    while (prompt_ && step(q)) {
    }
  }

  bool step(queue& q) {
    if (q.empty() || !q.front().run()) return false;
    q.pop_front();
    return true;
  }

  // One poll lets up to three operations run, of streams drawn at random.
  void poll() {
    for (int i = 0; i < 3 && !streams_.empty(); ++i) {
      auto at = streams_.begin();
      std::advance(at, std::uniform_int_distribution<std::size_t>(0, streams_.size() - 1)(random_));
      step(at->second);
    }
    // A destroyed stream's work ends, and then it is gone.
    std::erase_if(streams_, [this](const auto& s) { return s.second.empty() && destroyed_.contains(s.first); });
  }

  // The device uses the memory, which is its own.
  void touch(device_address address, std::size_t bytes, int device) {
    const auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin() || address + bytes > std::prev(after)->first + std::prev(after)->second.bytes)
      at(device).fault = cuda_result::illegal_address;
    else if (std::prev(after)->second.device != device)
      ++misplaced_;
  }

  int allocate(device_address* to, std::size_t bytes, int device) {
    expect_current(device);
    if (bytes > memory_ - at(device).in_use) return cuda_result::out_of_memory;
    const std::size_t whole = (bytes + 511) / 512 * 512;
    *to = reinterpret_cast<device_address>(std::aligned_alloc(512, whole));
    std::memset(reinterpret_cast<void*>(*to), 0xDD, whole);
    blocks_[*to] = {bytes, device};
    at(device).in_use += bytes;
    ++allocated_;
    return ok;
  }
  void release(device_address address, int device) {
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) {
      at(device).fault = cuda_result::illegal_address;
      return;
    }
    misplaced_ += found->second.device == device ? 0 : 1;
    at(found->second.device).in_use -= found->second.bytes;
    std::free(reinterpret_cast<void*>(address));
    blocks_.erase(found);
  }

  template <class Handle>
  Handle new_handle() {
    return reinterpret_cast<Handle>(++next_handle_ * 16);
  }

  static driver_double& self() { return *self_; }

  void bind() {
    bind_devices();
    bind_streams();
    bind_memory();
    bind_modules();
  }

  void bind_devices();
  void bind_streams();
  void bind_memory();
  void bind_modules();
  void bind_graphs();
  static int copy(void* to, const void* from, std::size_t n, stream_handle s, device_address checked, device_address checked_too);

  inline static driver_double* self_ = nullptr;
  inline static thread_local context_handle current_ = nullptr;

  driver_double* const before_ = std::exchange(self_, this);  // its calls reach it again when this one is gone
  driver calls_;
  mutable std::mutex mutex_;
  std::mt19937 random_;
  std::map<stream_handle, queue> streams_;
  std::map<stream_handle, bool> destroyed_;
  std::map<event_handle, mark> events_;
  std::map<device_address, block> blocks_;
  std::map<void*, std::size_t> pinned_blocks_;
  std::map<void*, std::vector<operation>> graphs_;  // and programs made of them
  std::map<module_handle, std::string> images_;
  std::map<function_handle, std::string> functions_;
  std::map<function_handle, int> function_devices_;
  std::map<function_handle, module_handle> function_modules_;
  std::map<std::string, generated_body> generated_;
  std::map<std::string, std::pair<kernel_body, std::size_t>> kernels_;
  std::map<std::string, std::size_t> launches_, shared_;
  const std::size_t memory_;
  std::vector<one_device> devices_;
  std::size_t pinnable_ = std::size_t{1} << 30, allocated_ = 0, loaded_ = 0, pinned_ = 0, failing_pinned_ = 0;
  std::size_t up_ = 0, down_ = 0, arrived_ = 0, copies_down_ = 0, between_ = 0, misplaced_ = 0;
  std::uintptr_t next_handle_ = 0;
  std::set<stream_handle> held_;
  bool unknown_kernels_ = false, prompt_ = false;
};

// What the double takes for a compiled source: an image that lists its text, and so the entries in it.
inline compiled image_of(std::string_view source, compiled result = {}) {
  const std::string text = "image:" + std::string(source);
  const auto* at = reinterpret_cast<const std::byte*>(text.c_str());
  result.cubin.assign(at, at + text.size() + 1);
  return result;
}

}  // namespace query::gpu_engine

#include "gpu_engine/driver_double_calls.hpp"
