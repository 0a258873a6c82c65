#include "gpu_speed/speed.hpp"

#include <cstdio>
#include <cstring>

#include "gpu_engine/embedded_sources.hpp"
#include "runtime/session_state.hpp"

namespace bench::speed {

using namespace query::gpu_engine;

namespace {

const std::string fell_back_note = "FELL BACK TO THE CPU: ";

// Of copies that `give` gives to a stream: the best of seven, in seconds on the device.
template <class Give> double copy_seconds(const device& d, const Give& give) {
  const scoped_context here(d);
  const stream s(d);
  double best = 1e30;
  for (int i = 0; i < 7; ++i) {
    event begin(d, event::timing::on), end(d, event::timing::on);
    begin.record(s);
    give(s);
    end.record(s);
    s.synchronize(query::runtime::cancel_flag());
    best = std::min(best, end.seconds_since(begin));
  }
  return best;
}

double device_copy(const device& d) {
  const std::size_t bytes = std::min<std::size_t>(std::size_t{8} << 30, d.free_memory() / 4);
  device_memory memory(d, bytes * 3);  // sizes are rounded up
  const stream s(d);
  const device_buffer from = memory.allocate(bytes, s), to = memory.allocate(bytes, s);
  s.synchronize(query::runtime::cancel_flag());
  const double seconds = copy_seconds(
      d, [&](const stream& on) { QUERY_CUDA(d.calls(), cuMemcpyDtoDAsync, to.address(), from.address(), bytes, on.handle()); });
  return 2e-9 * static_cast<double>(bytes) / seconds;
}

double device_fill(const device& d) {
  const std::size_t bytes = std::min<std::size_t>(std::size_t{8} << 30, d.free_memory() / 4);
  device_memory memory(d, bytes * 2);
  const stream s(d);
  const device_buffer to = memory.allocate(bytes, s);
  s.synchronize(query::runtime::cancel_flag());
  const double seconds =
      copy_seconds(d, [&](const stream& on) { QUERY_CUDA(d.calls(), cuMemsetD8Async, to.address(), 1, bytes, on.handle()); });
  return 1e-9 * static_cast<double>(bytes) / seconds;
}

double pinned_copy(const device& d) {
  const std::size_t bytes = std::size_t{1} << 28;
  device_memory memory(d, bytes + (std::size_t{64} << 20));
  const stream s(d);
  const device_buffer to = memory.allocate(bytes, s);
  s.synchronize(query::runtime::cancel_flag());
  const scoped_context here(d);
  void* pinned = nullptr;
  QUERY_CUDA(d.calls(), cuMemAllocHost, &pinned, bytes);
  parallel(bytes, [&](std::size_t from, std::size_t end) { std::memset(static_cast<char*>(pinned) + from, 1, end - from); });
  const double seconds = copy_seconds(d, [&](const stream& on) {
    for (int i = 0; i < 4; ++i) QUERY_CUDA(d.calls(), cuMemcpyHtoDAsync, to.address(), pinned, bytes, on.handle());
  });
  (void)d.calls().cuMemFreeHost(pinned);
  return 4e-9 * static_cast<double>(bytes) / seconds;
}

double host_read(std::size_t words) {
  std::vector<std::uint64_t, untouched<std::uint64_t>> memory(words);
  parallel(words, [&](std::size_t from, std::size_t to) { std::fill(memory.data() + from, memory.data() + to, from); });
  std::uint64_t all = 0;
  double best = 1e30;
  for (int i = 0; i < 5; ++i)
    best = std::min(best, ms_of([&] {
                      std::vector<std::uint64_t> sums(std::max(1u, std::thread::hardware_concurrency()) + 1);
                      parallel(words, [&](std::size_t from, std::size_t to) {
                        std::uint64_t sum = 0;
                        for (std::size_t k = from; k < to; ++k) sum += memory[k];
                        sums[from / (words / (sums.size() - 1))] = sum;
                      });
                      for (const std::uint64_t s : sums) all += s;
                    }));
  if (all == 42) std::printf(" ");  // read indeed
  return 8e-6 * static_cast<double>(words) / best;
}

}  // namespace

machine::machine(const device* on, rehearsal r, int less, std::string only) : on_(on), rehearsal_(r), less_(less), only_(std::move(only)) {
  kernel_cache::settings s{.headers = embedded_sources(), .options = {"--fmad=false"}, .folder = {}, .compile = {}};
  if (r == rehearsal::driver_double) s.folder = "", s.compile = compile_for_double;
  kernels_ = std::make_unique<kernel_cache>(std::move(s));
  measure();
}

compiled compile_for_double(std::string_view source, int) {
  compiled made = compiler::find()->compile(source, embedded_sources(), 90, std::vector<std::string>{"--fmad=false"});
  const std::string image = "image:" + std::string(source);  // what the double takes
  made.cubin.assign(reinterpret_cast<const std::byte*>(image.data()), reinterpret_cast<const std::byte*>(image.data() + image.size() + 1));
  return made;
}

void machine::measure() {
  rates_.host_read = host_read(rows(29));
  if (real()) {
    rates_.copy = device_copy(*on_);
    rates_.fill = device_fill(*on_);
    rates_.pinned_up = pinned_copy(*on_);
    std::printf(
        "%s, %u processors of the host. Copies: device to device %.0f GB/s (read and written), memory filled at %.0f GB/s, "
        "pinned memory to the device %.1f GB/s; the host's memory is read at %.1f GB/s\n",
        on_->name().c_str(), std::thread::hardware_concurrency(), rates_.copy, rates_.fill, rates_.pinned_up, rates_.host_read);
  } else {
    rates_.copy = 4290, rates_.fill = 4480, rates_.pinned_up = 55;
    std::printf("A REHEARSAL ON THE %s: times mean nothing\n", on_ ? "DRIVER DOUBLE" : "CPU");
  }
  std::printf("%-56s %10s %9s         %9s %6s %9s  met\n", "case", "median ms", "rate", "limit", "of it", "must");
  std::fflush(stdout);
}

void machine::heading(const char* text) const {
  std::printf("-- %s\n", text);
  std::fflush(stdout);
}

void machine::line(const figure& f) const {
  const double rate = f.amount / f.ms * 1e-6, measured = f.amount > 0 ? rate : f.ms;
  const bool judged = f.must > 0 && real(),
             met = (f.amount > 0 ? measured >= f.must : measured <= f.must) && !f.note.starts_with(fell_back_note);
  const bool right = f.right || rehearsal_ == rehearsal::driver_double;
  if (judged && !met) ++missed_;
  if (!right) ++wrong_;
  std::printf("%-56s %10.3f", f.name.c_str(), f.ms);
  if (f.amount > 0)
    std::printf(" %9.1f %-7s", rate, f.unit);
  else
    std::printf(" %9s %-7s", "", "");
  if (f.limit > 0)
    std::printf(" %9.1f %5.0f%%", f.limit, 100 * rate / f.limit);
  else
    std::printf(" %9s %6s", "", "");
  if (f.must > 0)
    std::printf(" %9.1f  %s", f.must, !judged ? "-" : met ? "yes" : "NO");
  else
    std::printf(" %9s  -", "");
  std::printf("%s%s%s\n", right ? "" : "  WRONG ANSWER", f.note.empty() ? "" : "  ", f.note.c_str());
  std::fflush(stdout);
}

void machine::ratio(const std::string& name, double value, double most, const std::string& note) const {
  const bool met = value <= most && note.find(fell_back_note) == std::string::npos;
  if (real() && !met) ++missed_;
  std::printf("%-56s %10s %9.2f %-7s %9s %6s %9.1f  %s  %s\n", name.c_str(), "", value, "times", "", "", most,
              !real() ? "-"
              : met   ? "yes"
                      : "NO",
              note.c_str());
  std::fflush(stdout);
}

own_session::own_session(const machine& m, std::size_t gpu_memory, kernel_cache& kernels)
    : session(m.on() ? query::session_options{} : query::session_options{.gpu = query::gpu_use::off}) {
  if (!m.on()) return;
  if (m.how() == rehearsal::driver_double) gpu_memory = std::size_t{256} << 20;
  engine_ = make_engine(*m.on(), {gpu_memory, 0}, kernels);
  session.state()->take_gpu(engine_);
}

std::string own_session::fell_back() {
  const auto [times, why] = session.state()->history.fallbacks();
  if (times == fallbacks_) return {};
  fallbacks_ = times;
  return fell_back_note + why;
}

}  // namespace bench::speed
