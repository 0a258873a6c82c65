// A driver that fails where a test says so, around another one: the driver double, or that of a GPU.
//
// Broken, it is as a device whose context is lost: every call fails with one result, but for those that give something back. Work that
// the driver below was given before ends first, so that a GPU can be used again after mend().
//
//   faulty_driver faulty(*driver::find());        // one at a time
//   device d(faulty.calls(), 0);
//   faulty.break_after_launch(3, cuda_result::launch_failed);
//   faulty.fail_call_of("cuStreamCreate", 2, cuda_result::out_of_memory, false);
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "gpu_engine/driver.hpp"

namespace query::gpu_engine {

class faulty_driver {
 public:
  explicit faulty_driver(const driver& under) : under_(under), calls_(under) {
    self_ = this;
    wrap();
  }
  ~faulty_driver() { self_ = nullptr; }
  faulty_driver(const faulty_driver&) = delete;
  faulty_driver& operator=(const faulty_driver&) = delete;

  const driver& calls() const { return calls_; }

  // The n-th launch from now (1: the next) is the last thing that the device does.
  void break_after_launch(std::uint64_t n, int result) {
    mend();
    result_ = result;
    launches_left_ = n;
  }
  // The n-th call from now that gives the device work or asks it for something fails; with `for_ever` all after it, too.
  void fail_call(std::uint64_t n, int result, bool for_ever) {
    mend();
    result_ = result;
    for_ever_ = for_ever;
    calls_left_ = n;
  }
  // The same of the calls of one function.
  void fail_call_of(std::string_view function, std::uint64_t n, int result, bool for_ever) {
    mend();
    result_ = result;
    for_ever_ = for_ever;
    functions_.find(function)->second.left = n;
  }
  void break_now(int result) {
    mend();
    result_ = result;
    broken_ = true;
  }
  void mend() {
    broken_ = false;
    calls_left_ = launches_left_ = 0;
    for (auto& [name, f] : functions_) f.left = 0;
  }
  std::uint64_t launches() const { return launches_; }
  std::uint64_t counted() const { return counted_; }  // calls that fail_call() counts
  // The functions whose calls can be made to fail, and how often each was called; looks at work under way are as many as it took time.
  std::map<std::string, std::uint64_t> called() const {
    std::map<std::string, std::uint64_t> all;
    for (const auto& [name, f] : functions_) all[name] = f.called;
    return all;
  }
  // What fail_call_of() said has not come to pass yet.
  bool will_fail(std::string_view function) const { return functions_.find(function)->second.left != 0; }
  bool broken() const { return broken_; }
  std::uint64_t refused() const { return refused_; }  // calls while it was

 private:
  enum class kind { work, launch, look, recorded, captured, other };
  struct function_state {
    std::atomic<std::uint64_t> called{0}, left{0};
  };

  // What the call gives instead of its own result; success: that one.
  int before(kind what, function_state& of) {
    ++of.called;
    if (broken_) {
      ++refused_;
      return result_;
    }
    if (of.left != 0 && --of.left == 0) {
      broken_ = for_ever_.load();
      return result_;
    }
    if (what == kind::other || what == kind::look) return cuda_result::success;
    ++counted_;
    if (calls_left_ != 0 && --calls_left_ == 0) {
      broken_ = for_ever_.load();
      return result_;
    }
    return cuda_result::success;
  }
  void after(kind what) {
    if (what != kind::launch) return;
    ++launches_;
    if (launches_left_ != 0 && --launches_left_ == 0) broken_ = true;
  }

  template <auto Member, kind What, class F> struct passed;
  template <auto Member, kind What, class... A> struct passed<Member, What, int (*)(A...)> {
    static int call(A... a) {
      faulty_driver& f = *self_;
      const auto below = [&] { return (f.under_.*Member)(a...); };
      const int fails = f.before(What, *state);
      if (fails == cuda_result::success) {
        const int result = below();
        if (result == cuda_result::success) f.after(What);
        return result;
      }
      if constexpr (What == kind::recorded) below();
      if constexpr (What == kind::captured) f.end_capture(a...);
      if (What == kind::look)
        while (below() == cuda_result::not_ready) std::this_thread::yield();
      return fails;
    }
    inline static function_state* state = nullptr;  // that of the driver which wrapped last
  };
  // Ended, but for the graph.
  void end_capture(stream_handle s, graph_handle* made) {
    if (under_.cuStreamEndCapture(s, made) == cuda_result::success && *made) under_.cuGraphDestroy(*made);
    *made = nullptr;
  }
  template <auto Member, kind What> void wrap_one(const char* name) {
    using function = std::remove_cvref_t<decltype(std::declval<driver&>().*Member)>;
    if (!(under_.*Member)) return;
    passed<Member, What, function>::state = &functions_[name];
    calls_.*Member = &passed<Member, What, function>::call;
  }
  void wrap() {
    wrap_one<&driver::cuLaunchKernel, kind::launch>("cuLaunchKernel");
    wrap_one<&driver::cuGraphLaunch, kind::launch>("cuGraphLaunch");
    wrap_one<&driver::cuMemAllocAsync, kind::work>("cuMemAllocAsync");
    wrap_one<&driver::cuMemAlloc, kind::work>("cuMemAlloc");
    wrap_one<&driver::cuMemAllocHost, kind::work>("cuMemAllocHost");
    wrap_one<&driver::cuMemcpyHtoDAsync, kind::work>("cuMemcpyHtoDAsync");
    wrap_one<&driver::cuMemcpyDtoHAsync, kind::work>("cuMemcpyDtoHAsync");
    wrap_one<&driver::cuMemcpyDtoDAsync, kind::work>("cuMemcpyDtoDAsync");
    wrap_one<&driver::cuMemsetD8Async, kind::work>("cuMemsetD8Async");
    wrap_one<&driver::cuMemsetD32Async, kind::work>("cuMemsetD32Async");
    wrap_one<&driver::cuStreamCreate, kind::work>("cuStreamCreate");
    wrap_one<&driver::cuEventCreate, kind::work>("cuEventCreate");
    wrap_one<&driver::cuEventRecord, kind::recorded>("cuEventRecord");
    wrap_one<&driver::cuStreamWaitEvent, kind::recorded>("cuStreamWaitEvent");
    wrap_one<&driver::cuStreamEndCapture, kind::captured>("cuStreamEndCapture");
    wrap_one<&driver::cuModuleLoadData, kind::work>("cuModuleLoadData");
    wrap_one<&driver::cuModuleGetFunction, kind::work>("cuModuleGetFunction");
    wrap_one<&driver::cuStreamQuery, kind::look>("cuStreamQuery");
    wrap_one<&driver::cuEventQuery, kind::look>("cuEventQuery");
    wrap_one<&driver::cuStreamSynchronize, kind::look>("cuStreamSynchronize");
    wrap_one<&driver::cuEventSynchronize, kind::look>("cuEventSynchronize");
    wrap_one<&driver::cuMemGetInfo, kind::other>("cuMemGetInfo");
    wrap_one<&driver::cuStreamBeginCapture, kind::other>("cuStreamBeginCapture");
    wrap_one<&driver::cuGraphInstantiateWithFlags, kind::other>("cuGraphInstantiateWithFlags");
    wrap_one<&driver::cuFuncGetAttribute, kind::other>("cuFuncGetAttribute");
    wrap_one<&driver::cuFuncSetAttribute, kind::other>("cuFuncSetAttribute");
    wrap_one<&driver::cuOccupancyMaxActiveBlocksPerMultiprocessor, kind::other>("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    wrap_one<&driver::cuEventElapsedTime, kind::other>("cuEventElapsedTime");
    wrap_one<&driver::cuDeviceGetDefaultMemPool, kind::other>("cuDeviceGetDefaultMemPool");
    wrap_one<&driver::cuMemPoolTrimTo, kind::other>("cuMemPoolTrimTo");
  }

  inline static faulty_driver* self_ = nullptr;
  const driver under_;
  driver calls_;
  std::atomic<int> result_{cuda_result::success};
  std::atomic<bool> broken_{false}, for_ever_{false};
  std::map<std::string, function_state, std::less<>> functions_;  // filled before the first call
  std::atomic<std::uint64_t> calls_left_{0}, launches_left_{0}, launches_{0}, counted_{0}, refused_{0};
};

}  // namespace query::gpu_engine
