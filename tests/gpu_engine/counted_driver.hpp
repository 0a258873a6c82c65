// A driver that counts what it has given and not got back, around another one: the driver double, or that of a GPU. What a process holds
// of a GPU's memory says little where other processes use it too; these counts are of its own calls.
//
//   counted_driver counted(*driver::find());        // one at a time
//   device d(counted.calls(), 0);
//   EXPECT_EQ(counted.held(), counted_driver::counts());
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <ostream>
#include <type_traits>
#include <utility>

#include "gpu_engine/driver.hpp"

namespace query::gpu_engine {

class counted_driver {
 public:
  enum what : std::size_t { streams, events, modules, graphs, graph_programs, device_blocks, host_blocks, kinds };
  struct counts {
    std::array<std::int64_t, kinds> of{};
    bool operator==(const counts&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const counts& c) {
      constexpr std::array<const char*, kinds> names = {"streams", "events", "modules", "graphs", "graph programs", "device blocks",
                                                        "locked host blocks"};
      for (std::size_t i = 0; i < kinds; ++i) out << (i ? ", " : "") << c.of[i] << ' ' << names[i];
      return out;
    }
  };

  explicit counted_driver(const driver& under) : under_(under), calls_(under) {
    self_ = this;
    gives<&driver::cuStreamCreate, streams>();
    takes<&driver::cuStreamDestroy, streams>();
    gives<&driver::cuEventCreate, events>();
    takes<&driver::cuEventDestroy, events>();
    gives<&driver::cuModuleLoadData, modules>();
    takes<&driver::cuModuleUnload, modules>();
    gives<&driver::cuStreamEndCapture, graphs>();
    takes<&driver::cuGraphDestroy, graphs>();
    gives<&driver::cuGraphInstantiateWithFlags, graph_programs>();
    takes<&driver::cuGraphExecDestroy, graph_programs>();
    gives<&driver::cuMemAllocAsync, device_blocks>();
    gives<&driver::cuMemAlloc, device_blocks>();
    takes<&driver::cuMemFreeAsync, device_blocks>();
    takes<&driver::cuMemFree, device_blocks>();
    gives<&driver::cuMemAllocHost, host_blocks>();
    takes<&driver::cuMemFreeHost, host_blocks>();
  }
  ~counted_driver() { self_ = nullptr; }
  counted_driver(const counted_driver&) = delete;
  counted_driver& operator=(const counted_driver&) = delete;

  const driver& calls() const { return calls_; }
  counts held() const {
    counts now;
    for (std::size_t i = 0; i < kinds; ++i) now.of[i] = held_[i];
    return now;
  }

 private:
  template <auto Member, what What, int Change, class F> struct passed;
  template <auto Member, what What, int Change, class... A> struct passed<Member, What, Change, int (*)(A...)> {
    static int call(A... a) {
      const int result = (self_->under_.*Member)(a...);
      if (result == cuda_result::success) self_->held_[What] += Change;
      return result;
    }
  };
  template <auto Member, what What, int Change> void wrap() {
    using function = std::remove_cvref_t<decltype(std::declval<driver&>().*Member)>;
    if (under_.*Member) calls_.*Member = &passed<Member, What, Change, function>::call;
  }
  template <auto Member, what What> void gives() { wrap<Member, What, 1>(); }
  template <auto Member, what What> void takes() { wrap<Member, What, -1>(); }

  inline static counted_driver* self_ = nullptr;
  const driver under_;
  driver calls_;
  std::array<std::atomic<std::int64_t>, kinds> held_{};
};

}  // namespace query::gpu_engine
