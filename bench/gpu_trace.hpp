// What a query asks of the CUDA driver, call by call: when, on which thread, and how long it took. Waits are shown as such, however
// often they look. With `waiting` every kernel and every copy between devices is waited for, so that its line has the device's time;
// threads then no longer overlap as they do.
//
//   trace t;                                   // before the first session
//   t.show("4 million groups", false, [&] { query(); });
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu_engine/driver.hpp"

namespace bench {

class trace {
  using driver = query::gpu_engine::driver;

 public:
  trace() {
    const driver* found = driver::find();
    if (!found) return;
    calls_ = const_cast<driver*>(found);  // the driver's table itself is no constant
    wrap<&driver::cuLaunchKernel>("launch");
    wrap<&driver::cuModuleGetFunction>("cuModuleGetFunction");
    wrap<&driver::cuModuleLoadData>("cuModuleLoadData");
    wrap<&driver::cuStreamQuery>("wait");
    wrap<&driver::cuEventQuery>("wait");
    wrap<&driver::cuMemcpyPeerAsync>("copy between devices");
    wrap<&driver::cuMemcpyDtoDAsync>("copy");
    wrap<&driver::cuMemcpyHtoDAsync>("copy up");
    wrap<&driver::cuMemcpyDtoHAsync>("copy down");
    wrap<&driver::cuMemsetD8Async>("fill");
    wrap<&driver::cuMemAllocAsync>("cuMemAllocAsync");
    wrap<&driver::cuMemFreeAsync>("cuMemFreeAsync");
    wrap<&driver::cuMemAllocHost>("cuMemAllocHost");
    wrap<&driver::cuStreamCreate>("cuStreamCreate");
    wrap<&driver::cuEventCreate>("cuEventCreate");
  }

  void show(const char* title, bool waiting, const std::function<void()>& f) {
    if (!calls_) return;
    lines_.clear();
    begin_ = clock::now();
    waits_ = waiting;
    on_ = true;
    f();
    on_ = false;
    std::printf("%s%s: %.0f us\n", title, waiting ? ", each kernel waited for" : "", us(clock::now()));
    std::map<std::thread::id, int> numbers;
    for (const line& l : lines_)
      std::printf("  %8.0f us  thread %d  %6.0f us  %s\n", l.at,
                  numbers.try_emplace(l.thread, static_cast<int>(numbers.size())).first->second, l.took, l.what.c_str());
  }

 private:
  using clock = std::chrono::steady_clock;
  struct line {
    double at, took;
    std::thread::id thread;
    std::string what;
  };

  template <auto Call> struct wrapped;
  template <class... A, int (*driver::*Call)(A...)> struct wrapped<Call> {
    inline static int (*original)(A...) = nullptr;
    inline static const char* name = "";
    static int call(A... a) {
      const double at = us(clock::now());
      int result = original(a...);
      const auto arguments = std::tie(a...);
      std::string what = name;
      if constexpr (std::is_same_v<wrapped, wrapped<&driver::cuModuleGetFunction>>) {
        const std::lock_guard hold(lock_);
        kernels_[*std::get<0>(arguments)] = std::get<2>(arguments);
      }
      if (!on_) return result;
      if constexpr (std::is_same_v<wrapped, wrapped<&driver::cuLaunchKernel>>) {
        if (waits_ && result == 0) result = calls_->cuStreamSynchronize(std::get<8>(arguments));
        const std::lock_guard hold(lock_);
        what = kernels_[std::get<0>(arguments)] + " <" + std::to_string(std::get<1>(arguments)) + ", " +
               std::to_string(std::get<4>(arguments)) + ">";
      }
      if constexpr (std::is_same_v<wrapped, wrapped<&driver::cuMemcpyPeerAsync>>) {
        if (waits_ && result == 0) result = calls_->cuStreamSynchronize(std::get<5>(arguments));
        what += ", " + std::to_string(std::get<4>(arguments)) + " bytes";
      }
      note({at, us(clock::now()) - at, std::this_thread::get_id(), std::move(what)});
      return result;
    }
  };
  template <auto Call> void wrap(const char* name) {
    wrapped<Call>::original = calls_->*Call;
    wrapped<Call>::name = name;
    calls_->*Call = &wrapped<Call>::call;
  }

  static double us(clock::time_point t) { return std::chrono::duration<double, std::micro>(t - begin_).count(); }
  // Polls of one wait are one line.
  static void note(line l) {
    const std::lock_guard hold(lock_);
    if (l.what == "wait") {
      const auto last = std::find_if(lines_.rbegin(), lines_.rend(), [&](const line& x) { return x.thread == l.thread; });
      if (last != lines_.rend() && last->what == "wait") {
        last->took = l.at + l.took - last->at;
        return;
      }
    }
    lines_.push_back(std::move(l));
  }

  inline static driver* calls_ = nullptr;
  inline static std::atomic<bool> on_ = false, waits_ = false;
  inline static clock::time_point begin_ = clock::now();
  inline static std::mutex lock_;
  inline static std::map<query::gpu_engine::function_handle, std::string> kernels_;
  inline static std::vector<line> lines_;
};

}  // namespace bench
