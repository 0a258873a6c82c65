// What the parts of bench/gpu_speed share: the GPU (or what stands in for it), sessions with engines of their own, and the lines
// that are printed.
//
//   own_session s(m, {.memory = 0});
//   const auto there = s.on_gpu(query::from(rows)).cached();
//   m.line({.name = "sum", .ms = median_ms([&] { answer = there.sum(); }), .bytes = 8.0 * n, .limit = m.rates().copy, .must = 0.9, ...});
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/gpu_engine.hpp"

namespace bench::speed {

// Bytes a second times 1e-9.
struct machine_rates {
  double copy = 0;       // device to device, bytes read and written
  double fill = 0;       // the device's memory, written
  double pinned_up = 0;  // pinned host memory to the device
  double host_read = 0;  // host memory, read by all threads
};

// One line. A rate is amount / ms, an amount being bytes (GB/s) or rows (Grow/s).
struct figure {
  std::string name;
  double ms = 0;
  double amount = 0;  // 0: the time is the figure
  const char* unit = "GB/s";
  double limit = 0;   // in the unit; 0: none
  double must = 0;    // in the unit, or ms where there is no amount; 0: none is asked for
  bool right = true;  // the answer
  std::string note = {};
};

// What the benchmark runs on. `cpu`: no GPU, the CPU engine does all: shows that the answers are right. `double`: the tests' driver
// double: shows that the GPU takes every query and that its kernels compile; answers mean nothing.
enum class rehearsal { none, cpu, driver_double };

query::gpu_engine::compiled compile_for_double(std::string_view source, int compute_capability);

class machine {
 public:
  machine(const query::gpu_engine::device* on, rehearsal r, int less, std::string only);
  const query::gpu_engine::device* on() const { return on_; }
  rehearsal how() const { return rehearsal_; }
  bool real() const { return rehearsal_ == rehearsal::none; }
  const machine_rates& rates() const { return rates_; }
  double scale() const { return rates_.copy / 4290; }  // of figures that were measured on an H200
  query::gpu_engine::kernel_cache& kernels() const { return *kernels_; }

  std::size_t rows(int log2) const { return std::size_t{1} << std::max(log2 - less_, 12); }
  std::size_t fewer(std::size_t n) const { return std::max<std::size_t>(n >> less_, 1); }
  bool wants(std::string_view name) const { return name.starts_with(only_); }
  bool concerns(std::string_view beginning) const { return wants(beginning) || std::string_view(only_).starts_with(beginning); }

  void heading(const char* text) const;
  void line(const figure& f) const;
  void ratio(const std::string& name, double value, double most, const std::string& note) const;  // no time: how much of something
  int missed() const { return missed_; }
  int wrong() const { return wrong_; }

 private:
  void measure();
  const query::gpu_engine::device* on_;
  rehearsal rehearsal_;
  int less_;
  std::string only_;
  machine_rates rates_;
  std::unique_ptr<query::gpu_engine::kernel_cache> kernels_;
  mutable int missed_ = 0, wrong_ = 0;
};

// A session whose GPU engine, and memory on the device, no other shares.
class own_session {
 public:
  explicit own_session(const machine& m, std::size_t gpu_memory = 0) : own_session(m, gpu_memory, m.kernels()) {}
  own_session(const machine& m, std::size_t gpu_memory, query::gpu_engine::kernel_cache& kernels);

  template <class Q> Q on_gpu(const Q& q) const { return engine_ ? Q(q.in(session).require_gpu()) : Q(q.in(session)); }
  query::gpu_engine::gpu_session* gpu() const { return engine_ ? &query::gpu_engine::session_of(*engine_) : nullptr; }
  // Gives back the rows that no query names any more.
  void forget() const { (void)session.memory_used(); }
  // Why vertices went to the CPU since it was last asked; "": none did.
  std::string fell_back();

  query::Session session;

 private:
  std::shared_ptr<query::runtime::engine> engine_;
  std::uint64_t fallbacks_ = 0;
};

inline double ms_of(const auto& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}
inline double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}
// Of warm runs: two before them, then 5 to 15, as many as there is time for.
template <class F> double median_ms(const F& f, double seconds = 0.5) {
  f();
  f();
  std::vector<double> ms;
  for (double sum = 0; ms.size() < 5 || (ms.size() < 15 && sum < seconds * 1e3); sum += ms.back()) ms.push_back(ms_of(f));
  return median(std::move(ms));
}

// f(begin, end) on all cores, each its own range.
template <class F> void parallel(std::size_t n, const F& f) {
  const std::size_t k = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < k; ++t) threads.emplace_back([&f, n, k, t] { f(n / k * t, t + 1 == k ? n : n / k * (t + 1)); });
  for (std::thread& t : threads) t.join();
}
template <class F> double parallel_sum(std::size_t n, const F& value) {
  const std::size_t k = 256;
  std::vector<double> parts(k);
  parallel(k, [&](std::size_t from, std::size_t to) {
    for (std::size_t p = from; p < to; ++p) {
      double sum = 0;
      for (std::size_t i = n / k * p, end = p + 1 == k ? n : n / k * (p + 1); i < end; ++i) sum += value(i);
      parts[p] = sum;
    }
  });
  double sum = 0;
  for (const double p : parts) sum += p;
  return sum;
}

// Stafford's mix 13, a bijection of 64 bits.
inline std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
inline std::uint64_t random_of(std::uint64_t i) { return mix((i + 1) * 0x9E3779B97F4A7C15u); }
inline double unit_of(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }  // [0, 1)

inline bool near(double a, double b, double tolerance = 1e-9) {
  return a == b || std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

// Pages are touched first by the threads that fill them.
template <class T> struct untouched {
  using value_type = T;
  untouched() = default;
  template <class U> untouched(const untouched<U>&) {}
  T* allocate(std::size_t n) { return std::allocator<T>().allocate(n); }
  void deallocate(T* p, std::size_t n) { std::allocator<T>().deallocate(p, n); }
  template <class U> void construct(U*) {}
  template <class U, class... A> void construct(U* p, A&&... a) { ::new (static_cast<void*>(p)) U(std::forward<A>(a)...); }
  bool operator==(const untouched&) const = default;
};

void resident_rows(const machine& m);
void groups(const machine& m);
void block_groups(const machine& m);
void joins_and_sorts(const machine& m);
void repeated_joins(const machine& m);
void record_sorts(const machine& m);
void first_of_order(const machine& m);
void host_rows(const machine& m);
void new_queries(const machine& m);
void peak_memory(const machine& m);

}  // namespace bench::speed
