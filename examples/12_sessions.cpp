// How a query runs: threads, memory, a deadline, a way to stop it, its progress.
#include <atomic>
#include <iostream>
#include <memory>
#include <thread>

#include <query/query.hpp>

namespace {

// Anything with stop_requested() will do; std::stop_token of a std::jthread is one.
struct Token {
  std::shared_ptr<std::atomic<bool>> stopped = std::make_shared<std::atomic<bool>>(false);
  bool stop_requested() const { return stopped->load(); }
};

}  // namespace

int main() {
  const auto work = query::range(0, 20'000'000).select([](auto n) { return query::sqrt(n) * query::sin(n); });

  const query::Session two_threads({.threads = 2, .memory_limit = std::size_t{1} << 30});
  std::cout << work.in(two_threads).sum() << " with " << two_threads.threads() << " threads\n";
  std::cout << work.in(two_threads).timeout(60).count() << " rows within the deadline\n";

  const auto most = std::make_shared<std::atomic<double>>(0);
  std::cout << work.on_progress([most](double fraction) { most->store(fraction); }).count() << " rows, progress last seen at " << most->load() << "\n";

  try {
    work.timeout(1e-6).order_by([](auto x) { return x; }).to_vector();
  } catch (const query::cancelled& e) {
    std::cout << "cancelled: " << e.what() << "\n";
  }
  try {
    const Token token;
    token.stopped->store(true);
    work.stop_on(token).order_by([](auto x) { return x; }).to_vector();
  } catch (const query::cancelled& e) {
    std::cout << "cancelled: " << e.what() << "\n";
  }
  try {
    const query::Session small({.memory_limit = std::size_t{16} << 20});
    work.in(small).order_by([](auto x) { return x; }).to_vector();
  } catch (const query::resource_error& e) {
    std::cout << "too little memory: " << e.what() << "\n";
  }
}
