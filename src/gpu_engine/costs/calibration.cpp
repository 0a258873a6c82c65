#include "gpu_engine/costs/calibration.hpp"

#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "gpu_engine/launch.hpp"
#include "runtime/best_seconds.hpp"

namespace query::gpu_engine {

namespace {

// A name for what the CPU can do.
std::string host_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 1);
  return "unknown";
}

template <class F> double seconds_of(F f) { return runtime::best_seconds(3, std::move(f)); }

// Rounds of what rows' expressions are made of, as vertex_work counts it: a product, a sum, a comparison with its choice, a quotient,
// and a function of the library's, which counts for eight.
constexpr double operations_of_a_round = 13;
constexpr std::uint64_t rounds = 256;
constexpr char mixed_operations[] = R"(
extern "C" __global__ void __launch_bounds__(256) mixed_operations(unsigned long long rounds, double* out) {
  double x = 1.0 + (blockIdx.x * 256 + threadIdx.x) * 1e-6;
  for (unsigned long long i = 0; i < rounds; ++i) {
    x = x * 0.75 + 0.5;
    x = x > 2.0 ? 1.5 : x;
    x = 3.0 / x + exp(-x);
  }
  if (x == 0.0) *out = x;  // never: what is stored nowhere is not computed
}
)";

double device_operations(gpu_session& gpu, const stream& s, device_address out) {
  const auto k = gpu.kernels().get(mixed_operations, "mixed_operations", gpu.on());
  const unsigned blocks = resident_blocks(*k, 256);
  const runtime::cancel_flag never;
  const double seconds = seconds_of([&] {
    launch(*k, {blocks, 256, 0}, s, rounds, out);
    s.synchronize(never);
  });
  return blocks * 256.0 * static_cast<double>(rounds) * operations_of_a_round / seconds;
}

}  // namespace

std::string calibration_key(const device& d, int threads) {
  int version = 0;
  QUERY_CUDA(d.calls(), cuDriverGetVersion, &version);
  return "placement 8\n" + d.name() + " " + std::to_string(d.ordinal()) + "\ndriver " + std::to_string(version) + "\n" + host_name() +
         ", threads " + std::to_string(threads);
}

void measure_device(rates& r, gpu_session& gpu, runtime::scheduler& threads) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  constexpr int copies = 8;
  const runtime::cancel_flag never;
  const scoped_context here(gpu.on());
  const stream_lease s = gpu.lease();
  const device_buffer a = gpu.memory().allocate(bytes, *s), b = gpu.memory().allocate(bytes, *s);
  // Several, one behind the other, so that the start of the first does not count much; more than the host's caches hold.
  constexpr std::size_t pieces = 4;
  const std::vector<unsigned char> large(pieces * bytes, 1);
  const auto upload = [&](runtime::scheduler& by, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) gpu.copies().upload_plain(a.address(), large.data() + i * bytes, bytes, *s, by, never);
    s->synchronize(never);
  };
  r.up = static_cast<double>(pieces * bytes) / seconds_of([&] { upload(threads, pieces); });
  runtime::serial_scheduler one_thread;
  r.up_thread = static_cast<double>(bytes) / seconds_of([&] { upload(one_thread, 1); });
  // Into fresh memory, as results are: its pages cost more than the bus.
  r.down = static_cast<double>(bytes) / seconds_of([&] {
             const std::unique_ptr<unsigned char[]> fresh(new unsigned char[bytes]);
             gpu.copies().download_plain(fresh.get(), a.address(), bytes, *s, threads, never);
           });
  r.launch = seconds_of([&] {
    std::uint64_t word = 0;
    QUERY_CUDA(gpu.on().calls(), cuMemsetD8Async, b.address(), 0, 256, s->handle());
    gpu.copies().download_plain(&word, b.address(), sizeof word, *s, threads, never);
  });
  const double copied = seconds_of([&] {
    for (int i = 0; i < copies; ++i) QUERY_CUDA(gpu.on().calls(), cuMemcpyDtoDAsync, b.address(), a.address(), bytes, s->handle());
    s->synchronize(never);
  });
  r.device_memory = 2.0 * copies * bytes / copied;
  r.device_operations = device_operations(gpu, *s, b.address());
}

std::optional<rates> calibrated(gpu_session& gpu, runtime::scheduler& threads, const disk_cache& files) {
  try {
    const std::string key = calibration_key(gpu.on(), threads.concurrency());
    if (const auto stored = files.find(key))
      if (const auto r = rates_from({reinterpret_cast<const char*>(stored->data()), stored->size()})) return r;
    rates r;
    measure_device(r, gpu, threads);
    static_cast<runtime::host_rates&>(r) = runtime::measured_host(threads.concurrency());
    if (!r.sensible()) return std::nullopt;
    // Measured beside others' work, as many programs that start at once are to each other: for this one, and measured anew by the next.
    constexpr double launch_of_a_quiet_machine = 0.2e-3;
    if (r.launch > launch_of_a_quiet_machine) return r;
    const std::string text = text_of(r);
    files.store(key, std::as_bytes(std::span(text)));
    return r;
  } catch (const resource_error&) {
    return std::nullopt;
  } catch (const internal_error&) {
    return std::nullopt;
  }
}

}  // namespace query::gpu_engine
