#include "gpu_engine/round_recording.hpp"

#include <string_view>

namespace query::gpu_engine {

void round_recording::check(const recorded_check& c) {
  last_check_ = steps_.size();
  if (spoiled_.empty()) steps_.emplace_back(c);
}

void round_recording::read(std::size_t word) {
  auto* c = last_check_ < steps_.size() ? std::get_if<recorded_check>(&steps_[last_check_]) : nullptr;
  if (c) c->mask |= std::uint64_t{1} << word;
  else if (spoiled_.empty()) spoil("a status word was read before the device was waited for");
}

bool round_recording::keep(device_buffer&& b) noexcept {
  if (!spoiled_.empty()) return false;
  try {
    buffers_.emplace_back();
  } catch (...) {
    spoil("no memory for the recording");
    return false;
  }
  buffers_.back().swap(b);
  return true;
}

void round_recording::spoil(const char* why) noexcept {
  if (!spoiled_.empty()) return;
  try {
    spoiled_ = why;
  } catch (...) {
    spoiled_ = "?";  // short enough to need no memory
  }
  // Whoever goes on without the recording may need the memory. Buffers that end here are not kept again.
  steps_.clear();
  owners_.clear();
  buffers_.clear();
}

void round_recording::forget() {
  steps_.clear();
  owners_.clear();
  buffers_.clear();
  spoiled_.clear();
  last_check_ = 0;
}

void round_recording::called(const char* call) noexcept {
  if (permitted_ > 0) return;
  const std::string_view name = call;
  if (name.starts_with("cuMemcpyDtoH")) spoil("the host reads rows in each round");
  else if (name.starts_with("cuMemcpyHtoD")) spoil("rows are brought over in each round");
  else if (name.starts_with("cuMemcpy") || name.starts_with("cuMemset") || name == "cuLaunchKernel") spoil(call);
}

}  // namespace query::gpu_engine
