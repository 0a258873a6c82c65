// What the parts of bench/gpu_devices share: two sessions, one GPU in the first and all in the second, and the race between them.
//
//   m.race({.name = "sum", .limit = {.read = 8.0 * n}}, [&](const side& s) {
//     const auto there = s.kept(rows);
//     return contestant{[there] { return there.sum(); }};
//   });
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <query/query.hpp>

namespace bench::devices {

// Bytes a second times 1e-9.
struct link_rates {
  double copy = 0;       // of one device, bytes read and written
  double peer = 0;       // from one device to another
  double bus = 0;        // pinned host memory to one device
  double buses = 0;      // the same to all devices at once
  double host_read = 0;  // host memory, read by all threads
};

// What bounds a case, in bytes of all devices together.
struct case_bytes {
  double device = 0;     // that devices read and write in their own memory
  double exchanged = 0;  // that leave a device for another, were each row on a random one
  double sent = 0;       // over the buses
  double host = 0;       // that the host reads to send them
};

struct case_info {
  std::string name;
  double target = 0;  // times as fast on four devices; 0: as many as the buses allow
  case_bytes bytes = {};
  double tolerance = 1e-9;  // of answers
};

// One session's run of a case. `answer` is what both are compared by, and what is timed where `timed` is empty.
struct contestant {
  std::function<double()> answer;
  std::function<void()> timed = {};
  std::function<std::string()> plan = {};
};

class side {
 public:
  side(std::vector<int> gpus, bool on_gpu);
  template <class Q> Q on(const Q& q) const { return demanded(Q(q.in(session))); }
  template <class Q> Q demanded(const Q& q) const { return on_gpu_ ? Q(q.require_gpu()) : q; }
  // Rows that lie on the devices.
  template <class Q> auto kept(const Q& q) const {
    auto there = on(q).cached();
    (void)there.count();
    return there;
  }
  void forget() const { (void)session.memory_used(); }  // rows that no query names any more
  std::string fell_back();

  query::Session session;

 private:
  bool on_gpu_;
  std::uint64_t fallbacks_ = 0;
};

class machine {
 public:
  machine(std::vector<int> gpus, bool cpu, int less, int rounds, std::string only);

  std::size_t rows(int log2) const { return std::size_t{1} << (log2 > less_ + 12 ? log2 - less_ : 12); }
  std::size_t fewer(std::size_t n) const { return n >> less_ > 4096 ? n >> less_ : 4096; }
  bool wants(std::string_view name) const { return only_.empty() || name.find(only_) != std::string_view::npos; }
  int rounds() const { return rounds_; }
  int failed() const { return failed_; }
  std::size_t devices() const { return gpus_.size(); }

  // Both contestants are made, their answers compared, and their times taken in turn. A case that fails is told of, and no more.
  void race(const case_info& info, const std::function<contestant(const side&)>& make);

 private:
  void measure_links();
  double limit_ms(const case_bytes& b, double devices) const;

  const std::vector<int> gpus_;
  const bool cpu_;
  const int less_, rounds_;
  const std::string only_;
  link_rates rates_;
  side one_, all_;
  int failed_ = 0;
};

// f(begin, end) on all cores, each its own range.
template <class F> void parallel(std::size_t n, const F& f) {
  const std::size_t k = std::thread::hardware_concurrency() ? std::thread::hardware_concurrency() : 1;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < k; ++t) threads.emplace_back([&f, n, k, t] { f(n / k * t, t + 1 == k ? n : n / k * (t + 1)); });
  for (std::thread& t : threads) t.join();
}

// Stafford's mix 13 of numbers in a row.
inline std::uint64_t random_of(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
inline double unit_of(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

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
template <class T, class F> std::vector<T, untouched<T>> filled(std::size_t n, const F& row) {
  std::vector<T, untouched<T>> rows(n);
  parallel(n, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) rows[i] = row(i);
  });
  return rows;
}

void folds(machine& m);
void groups(machine& m);
void joins(machine& m);
void sorts(machine& m);
void loops(machine& m);
// A loop of k-means over so many points, which lie on the side's devices.
std::function<void()> kmeans_rounds(const side& s, std::size_t points, int rounds);
void trace_calls(const std::vector<int>& gpus, int less);

}  // namespace bench::devices
