#include "gpu_engine/device.hpp"

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <query/errors.hpp>

#include "gpu_engine/backoff.hpp"
#include "gpu_engine/device_lost.hpp"

namespace query::gpu_engine {
namespace {

// The devices opened so far. Never destroyed: sessions of other static objects may end after it would.
struct opened {
  std::mutex mutex;
  std::map<std::pair<int, int>, std::unique_ptr<device>> devices;  // by ordinal and copy
  std::map<int, std::string> why_not;
};
opened& all() {
  static opened& o = *std::make_unique<opened>().release();
  return o;
}

}  // namespace

const device* device::find(int ordinal, int copy) {
  const driver* d = driver::find();
  if (d == nullptr) return nullptr;
  opened& o = all();
  const std::lock_guard lock(o.mutex);
  if (const auto known = o.devices.find({ordinal, copy}); known != o.devices.end()) return known->second.get();
  if (o.why_not.contains(ordinal)) return nullptr;
  try {
    return (o.devices[{ordinal, copy}] = std::make_unique<device>(*d, ordinal)).get();
  } catch (const error& e) {
    o.devices.erase({ordinal, copy});
    o.why_not[ordinal] = "gpu: GPU " + std::to_string(ordinal) + " cannot be used: " + e.what();
    return nullptr;
  }
}

std::string device::why_not(int ordinal) {
  if (driver::find() == nullptr) return driver::why_not();
  if (const device* there = find(ordinal)) {
    const std::string loss = loss_of(*there);
    return loss.empty() ? loss : "gpu: " + std::string(runtime::gpu_was_lost) + loss;
  }
  opened& o = all();
  const std::lock_guard lock(o.mutex);
  return o.why_not[ordinal];
}

int device::count() {
  int n = 0;
  const driver* d = driver::find();
  return d != nullptr && d->cuDeviceGetCount(&n) == cuda_result::success ? n : 0;
}

device::device(const driver& d, int ordinal) : driver_(d), ordinal_(ordinal) {
  QUERY_CUDA(d, cuDeviceGet, &handle_, ordinal);
  std::array<char, 256> name{};
  QUERY_CUDA(d, cuDeviceGetName, name.data(), static_cast<int>(name.size()) - 1, handle_);
  name_ = name.data();
  QUERY_CUDA(d, cuDeviceTotalMem, &total_memory_, handle_);
  compute_capability_ = attribute(cuda_attribute::capability_major) * 10 + attribute(cuda_attribute::capability_minor);
  if (compute_capability_ < oldest_capability)
    throw resource_error(name_ + " has compute capability " + std::to_string(compute_capability_ / 10) + "." +
                         std::to_string(compute_capability_ % 10) + ", kernels need 8.0 or later");
  multiprocessors_ = attribute(cuda_attribute::multiprocessors);
  threads_per_multiprocessor_ = attribute(cuda_attribute::threads_per_multiprocessor);
  shared_memory_ = static_cast<std::size_t>(attribute(cuda_attribute::shared_memory_per_block_optin));
  l2_bytes_ = static_cast<std::size_t>(attribute(cuda_attribute::l2_bytes));
  has_memory_pools_ = attribute(cuda_attribute::memory_pools_supported) != 0;
  QUERY_CUDA(d, cuDevicePrimaryCtxRetain, &context_, handle_);
}

device::~device() {
  forget_loss(*this);
  driver_.cuDevicePrimaryCtxRelease(handle_);
}

int device::attribute(int which) const {
  int value = 0;
  QUERY_CUDA(driver_, cuDeviceGetAttribute, &value, which, handle_);
  return value;
}

std::size_t device::free_memory() const {
  const scoped_context here(*this);
  std::size_t free = 0, total = 0;
  QUERY_CUDA(driver_, cuMemGetInfo, &free, &total);
  return free;
}

// Errors show at the calls that need the context; this one is also used where nothing may throw.
scoped_context::scoped_context(const driver& d, context_handle context) : driver_(d) {
  working_in(context);
  if (d.cuCtxGetCurrent(&before_) == cuda_result::success && before_ == context) return;
  changed_ = d.cuCtxSetCurrent(context) == cuda_result::success;
}

scoped_context::~scoped_context() {
  working_in(before_);
  if (changed_) driver_.cuCtxSetCurrent(before_);
}

event::event(const device& d, timing t) : device_(&d) {
  const scoped_context here(d);
  QUERY_CUDA(d.calls(), cuEventCreate, &handle_, t == timing::on ? 0 : cuda_attribute::event_disable_timing);
}

event::~event() {
  if (handle_ == nullptr) return;
  const scoped_context here(*device_);
  device_->calls().cuEventDestroy(handle_);
}

event::event(event&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

event& event::operator=(event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  return *this;
}

void event::record(const stream& s) {
  const scoped_context here(*device_);
  QUERY_CUDA(device_->calls(), cuEventRecord, handle_, s.handle());
}

bool event::done() const {
  const scoped_context here(*device_);
  const int result = device_->calls().cuEventQuery(handle_);
  if (result == cuda_result::not_ready) return false;
  device_->calls().check(result, "cuEventQuery");
  return true;
}

void event::wait(const runtime::cancel_flag& cancel) const {
  for (backoff b; !done(); b.pause()) cancel.check();
}

double event::seconds_since(const event& from) const {
  const scoped_context here(*device_);
  float milliseconds = 0;
  QUERY_CUDA(device_->calls(), cuEventElapsedTime, &milliseconds, from.handle_, handle_);
  return static_cast<double>(milliseconds) / 1000;
}

namespace {

std::uint64_t next_stream_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

stream_state::stream_state(const device& d) : on(d), id(next_stream_id()) {
  const scoped_context here(d);
  QUERY_CUDA(d.calls(), cuStreamCreate, &handle, cuda_attribute::stream_non_blocking);
}

stream_state::~stream_state() {
  const scoped_context here(on);
  on.calls().cuStreamDestroy(handle);  // returns at once; what the stream was given still ends
}

stream::stream(const device& d) : state_(std::make_shared<stream_state>(d)) {}
const device& stream::on() const { return state_->on; }
stream_handle stream::handle() const { return state_->handle; }

bool stream::done() const {
  const scoped_context here(on());
  const int result = on().calls().cuStreamQuery(handle());
  if (result == cuda_result::not_ready) return false;
  on().calls().check(result, "cuStreamQuery");
  return true;
}

void stream::wait(const event& e) const {
  const scoped_context here(on());
  QUERY_CUDA(on().calls(), cuStreamWaitEvent, handle(), e.handle(), 0);
}

void stream::synchronize(const runtime::cancel_flag& cancel) const {
  std::optional<backoff> draining;  // from when the query was cancelled
  for (backoff b; !done(); b.pause()) {
    if (!draining && cancel.stopped()) draining.emplace();
    if (draining && draining->seconds() > drain_seconds) {
      state_->waited_in_vain = true;
      throw resource_error("gpu: the device did not finish the work of a cancelled query: " + on().name());
    }
  }
  state_->waited_in_vain = false;
  cancel.check();
}

bool stream::hangs() const { return state_->waited_in_vain; }

void stream::drain() const noexcept {
  try {
    for (backoff b; !done(); b.pause()) {
      if (!state_->waited_in_vain && b.seconds() < drain_seconds) continue;
      state_->waited_in_vain = true;  // who waits next does not wait as long again
      return;
    }
    state_->waited_in_vain = false;
  } catch (...) {  // the next call says so
  }
}

}  // namespace query::gpu_engine
