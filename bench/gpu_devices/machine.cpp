#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>

#include "gpu_devices/devices.hpp"
#include "gpu_engine/device.hpp"
#include "gpu_engine/device_memory.hpp"
#include "gpu_engine/several/peer_copy.hpp"
#include "runtime/session_state.hpp"

namespace bench::devices {

namespace {

using namespace query::gpu_engine;

double ms_of(const std::function<void()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}
double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}
double best_ms(const std::function<void()>& f) {
  double best = 1e30;
  for (int i = 0; i < 5; ++i) best = std::min(best, ms_of(f));
  return best;
}

// Room on one device, and in the host's pinned memory, for copies whose rate is taken.
struct copy_room {
  static constexpr std::size_t bytes = std::size_t{1} << 30, pinned_bytes = std::size_t{1} << 28;
  explicit copy_room(const device& d)
      : on(d), memory(d, 3 * bytes), work(d), from(memory.allocate(bytes, work)), to(memory.allocate(bytes, work)) {
    const scoped_context here(on);
    QUERY_CUDA(on.calls(), cuMemAllocHost, &pinned, pinned_bytes);
    std::memset(pinned, 1, pinned_bytes);
    wait();
  }
  ~copy_room() {
    const scoped_context here(on);
    (void)on.calls().cuMemFreeHost(pinned);
  }
  copy_room(const copy_room&) = delete;
  copy_room& operator=(const copy_room&) = delete;
  void wait() const { work.synchronize(query::runtime::cancel_flag()); }
  void send() const {
    const scoped_context here(on);
    for (std::size_t at = 0; at < bytes; at += pinned_bytes)
      QUERY_CUDA(on.calls(), cuMemcpyHtoDAsync, to.address() + at, pinned, pinned_bytes, work.handle());
  }

  const device& on;
  device_memory memory;
  stream work;
  device_buffer from, to;
  void* pinned = nullptr;
};

double host_read(std::size_t words) {
  const auto memory = filled<std::uint64_t>(words, [](std::size_t i) { return i; });
  std::vector<std::uint64_t> sums(1024);
  const double ms = best_ms([&] {
    parallel(sums.size(), [&](std::size_t from, std::size_t to) {
      for (std::size_t s = from; s < to; ++s) {
        std::uint64_t sum = 0;
        for (std::size_t i = words / sums.size() * s, end = words / sums.size() * (s + 1); i < end; ++i) sum += memory[i];
        sums[s] = sum;
      }
    });
  });
  if (std::count(sums.begin(), sums.end(), 42u) == 1024) std::printf(" ");  // they were read indeed
  return 8e-6 * static_cast<double>(words) / ms;
}

}  // namespace

side::side(std::vector<int> gpus, bool on_gpu)
    : session(on_gpu ? query::session_options{.memory_limit = std::size_t{200} << 30, .gpu_min_rows = 0, .gpus = std::move(gpus)}
                     : query::session_options{.gpu = query::gpu_use::off}),
      on_gpu_(on_gpu) {}

std::string side::fell_back() {
  const auto [times, why] = session.state()->history.fallbacks();
  if (times == fallbacks_) return {};
  fallbacks_ = times;
  return "FELL BACK TO THE CPU: " + why;
}

machine::machine(std::vector<int> gpus, bool cpu, int less, int rounds, std::string only)
    : gpus_(std::move(gpus)),
      cpu_(cpu),
      less_(less),
      rounds_(rounds),
      only_(std::move(only)),
      one_({gpus_.front()}, !cpu),
      all_(gpus_, !cpu) {
  if (!cpu_) measure_links();
  std::printf(
      "%zu devices, %u threads of the host. GB/s: copy on a device %.0f, from one device to another %.0f, over one bus %.1f, over all "
      "%.1f, "
      "host memory read %.1f\n",
      gpus_.size(), std::thread::hardware_concurrency(), rates_.copy, rates_.peer, rates_.bus, rates_.buses, rates_.host_read);
  std::printf("%-50s %9s %9s %6s %6s  %9s %9s\n", "case", "one, ms", "all, ms", "times", "wanted", "limit one", "all, ms");
  std::fflush(stdout);
}

void machine::measure_links() {
  std::vector<std::unique_ptr<copy_room>> rooms;
  std::vector<const device*> all;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const auto times = std::count(gpus_.begin(), gpus_.begin() + static_cast<std::ptrdiff_t>(i), gpus_[i]);
    all.push_back(device::find(gpus_[i], static_cast<int>(times)));
    if (!all.back()) throw query::resource_error(device::why_not(gpus_[i]));
  }
  allow_peers(all);
  for (const device* d : all) rooms.push_back(std::make_unique<copy_room>(*d));
  const double bytes = static_cast<double>(copy_room::bytes);
  const copy_room& first = *rooms.front();
  rates_.copy =
      2e-6 * bytes / best_ms([&] {
        const scoped_context here(first.on);
        QUERY_CUDA(first.on.calls(), cuMemcpyDtoDAsync, first.to.address(), first.from.address(), copy_room::bytes, first.work.handle());
        first.wait();
      });
  rates_.bus = 1e-6 * bytes / best_ms([&] { first.send(), first.wait(); });
  rates_.buses = 1e-6 * bytes * static_cast<double>(rooms.size()) / best_ms([&] {
                   for (const auto& r : rooms) r->send();
                   for (const auto& r : rooms) r->wait();
                 });
  if (rooms.size() > 1)
    rates_.peer = 1e-6 * bytes / best_ms([&] {
                    peer_copy(rooms[1]->on, rooms[1]->to.address(), first.on, first.from.address(), copy_room::bytes, rooms[1]->work);
                    rooms[1]->wait();
                  });
  rates_.host_read = host_read(rows(29));
}

// The limit of one device that has all rows, or of several that share them. Transfers that overlap count once.
double machine::limit_ms(const case_bytes& b, double devices) const {
  const double own = b.device / devices / rates_.copy,
               others = devices > 1 ? b.exchanged * (devices - 1) / devices / devices / rates_.peer : 0;
  const double buses = b.sent / (devices > 1 ? rates_.buses : rates_.bus), host = b.host / rates_.host_read;
  return 1e-6 * std::max({own + others, buses, host});
}

void machine::race(const case_info& info, const std::function<contestant(const side&)>& make) {
  if (!wants(info.name)) return;
  try {
    const contestant one = make(one_), all = make(all_);
    const auto timed = [](const contestant& c) { return c.timed ? c.timed : std::function<void()>([&c] { (void)c.answer(); }); };
    // What kernels there are, and how many rows come out, is known from the second run on.
    for (int i = 0; i < 2; ++i) timed(one)(), timed(all)();
    const double a = one.answer(), b = all.answer();
    const bool same = a == b || std::abs(a - b) <= info.tolerance * std::max(std::abs(a), std::abs(b));
    std::vector<double> ones, alls, times;
    for (int i = 0; i < rounds_; ++i) {
      ones.push_back(ms_of(timed(one)));
      alls.push_back(ms_of(timed(all)));
      times.push_back(ones.back() / alls.back());
    }
    std::string notes = same ? "" : "  WRONG: " + std::to_string(a) + " and " + std::to_string(b);
    notes += one_.fell_back() + all_.fell_back();
    if (all.plan) {
      const std::string plan = all.plan();
      for (std::size_t at = plan.find("on one GPU"); at != std::string::npos; at = plan.find("on one GPU", at + 1))
        notes += "  [" + plan.substr(at, plan.find('\n', at) - at) + "]";
    }
    failed_ += same ? 0 : 1;
    std::printf("%-50s %9.2f %9.2f %6.2f %6.1f  %9.2f %9.2f%s\n", info.name.c_str(), median(ones), median(alls), median(times), info.target,
                cpu_ ? 0 : limit_ms(info.bytes, 1), cpu_ ? 0 : limit_ms(info.bytes, static_cast<double>(gpus_.size())), notes.c_str());
  } catch (const std::exception& e) {
    ++failed_;
    std::printf("%-50s FAILED: %s\n", info.name.c_str(), e.what());
  }
  std::fflush(stdout);
  one_.forget();
  all_.forget();
}

}  // namespace bench::devices
