// One round of a loop, written down while it runs: the kernels, fills and copies that its vertices gave the device, and what
// the host read of their results in between. As long as a later round finds the same there, the host would have given the
// device the same work; so the round can be repeated without the host (round_replay.hpp).
//
// Between vertex_run and the driver. Work that reaches the driver another way spoils the recording: the loop then runs
// vertex by vertex.
//
//   round_recording r;
//   { const round_recording::scope watching(r); run_vertices(); }   // on this thread
//   if (r.spoiled().empty()) for (const recorded_step& s : r.steps()) ...
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpu_engine/device_memory.hpp"
#include "gpu_engine/kernel_cache.hpp"
#include "gpu_engine/launch.hpp"

namespace query::gpu_engine {

inline constexpr std::size_t status_words = 64;

struct recorded_launch {
  kernel function;
  launch_shape shape;
  std::vector<std::uint64_t> words;  // the last one is `halt`
};
struct recorded_fill {
  device_address at;
  unsigned char value;
  std::size_t bytes;
};
struct recorded_copy {
  device_address to, from;
  std::size_t bytes;
};
// The host waited here and read the words of `mask`.
struct recorded_check {
  device_address status;
  std::uint64_t mask;
  std::array<std::uint64_t, status_words> values;
};
using recorded_step = std::variant<recorded_launch, recorded_fill, recorded_copy, recorded_check>;

class round_recording final : public call_witness {
 public:
  round_recording() = default;
  round_recording(const round_recording&) = delete;
  round_recording& operator=(const round_recording&) = delete;

  static round_recording* here() noexcept { return current_; }  // the one that this thread writes to; null: none

  // While it lives, its thread writes to the recording.
  class scope {
   public:
    explicit scope(round_recording& r) { call_witness::current = current_ = &r; }
    ~scope() {
      current_ = nullptr;
      call_witness::current = nullptr;
    }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
  };
  // Work in between that repeated rounds leave out.
  class aside {
   public:
    aside() : before_(current_) {
      current_ = nullptr;
      call_witness::current = nullptr;
    }
    ~aside() { call_witness::current = current_ = before_; }
    aside(const aside&) = delete;
    aside& operator=(const aside&) = delete;

   private:
    round_recording* before_;
  };
  // The driver's calls inside are known to the recording, or need not be repeated.
  class permitted {
   public:
    permitted() : recording_(current_) {
      if (recording_) ++recording_->permitted_;
    }
    ~permitted() {
      if (recording_) --recording_->permitted_;
    }
    permitted(const permitted&) = delete;
    permitted& operator=(const permitted&) = delete;
    explicit operator bool() const { return recording_ != nullptr; }
    round_recording* operator->() const { return recording_; }

   private:
    round_recording* recording_;
  };

  void launch(recorded_launch l) { add(std::move(l)); }
  void fill(recorded_fill f) { add(f); }
  void copy(recorded_copy c) { add(c); }
  void check(const recorded_check& c);
  void read(std::size_t word);  // of the last check

  // Memory that the steps use; a buffer is refused where the recording is spoiled.
  void keep(std::shared_ptr<const void> owner) {
    if (spoiled_.empty()) owners_.push_back(std::move(owner));
  }
  bool keep(device_buffer&& b) noexcept;

  void spoil(const char* why) noexcept;  // and gives up the memory
  const std::string& spoiled() const { return spoiled_; }  // why; "": it is not
  const std::vector<recorded_step>& steps() const { return steps_; }
  void forget();  // all of it, memory too; outside a scope

  void called(const char* call) noexcept override;

 private:
  inline static thread_local round_recording* current_ = nullptr;

  // Made in place: of a moved variant, g++ with sanitizers says that it may be uninitialised.
  template <class Step> void add(Step&& s) {
    if (spoiled_.empty()) steps_.emplace_back(std::forward<Step>(s));
  }

  std::vector<recorded_step> steps_;
  std::size_t last_check_ = 0;
  std::vector<std::shared_ptr<const void>> owners_;
  std::vector<device_buffer> buffers_;
  std::string spoiled_;
  int permitted_ = 0;
};

}  // namespace query::gpu_engine
