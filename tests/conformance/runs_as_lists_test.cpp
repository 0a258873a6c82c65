// chunk(n) and window(n) as lists: each row has its own values, however many come before it, and whatever its reader does with them.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"

namespace conformance {
namespace {

template <class T> using lists = std::vector<std::vector<T>>;

template <class T> lists<T> runs_of(const std::vector<T>& rows, std::size_t length, std::size_t step, bool short_end) {
  lists<T> all;
  for (std::size_t i = 0; i < rows.size(); i += step) {
    const std::size_t end = std::min(rows.size(), i + length);
    if (end - i < length && !short_end) break;
    all.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(i), rows.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return all;
}
template <class T, class Q> lists<T> one_by_one(const Q& q) {
  lists<T> all;
  for (const std::vector<T>& run : q) all.push_back(run);
  return all;
}
template <class T, class Q> void expect_runs(const Q& q, const lists<T>& wanted) {
  EXPECT_ROWS(q.to_vector(), wanted);
  EXPECT_ROWS(one_by_one<T>(q), wanted);
  EXPECT_ROWS(q.where([](const std::vector<T>& run) { return !run.empty(); }).to_vector(), wanted);
  EXPECT_ROWS(one_by_one<T>(q.concat(q)), [&] {
    lists<T> twice = wanted;
    twice.insert(twice.end(), wanted.begin(), wanted.end());
    return twice;
  }());
  lists<T> taken;
  q.for_each([&](const std::vector<T>& run) { taken.push_back(run); });
  EXPECT_ROWS(taken, wanted);
  EXPECT_EQ(q.count(), std::ssize(wanted));
}
template <class T> void check(const engine_config& e, const std::vector<T>& rows, std::size_t length) {
  SCOPED_TRACE(std::to_string(rows.size()) + " rows, runs of " + std::to_string(length));
  expect_runs<T>(source(e, rows).window(length), runs_of(rows, length, 1, false));
  expect_runs<T>(source(e, rows).chunk(length), runs_of(rows, length, length, true));
}

std::vector<std::int64_t> numbers(std::size_t n) {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(static_cast<std::int64_t>(i * 2654435761u % 100'003));
  return all;
}

CONFORMS(runs_as_lists, of_numbers, "chunk", "window") {
  for (const std::size_t n : {0u, 1u, 2u, 3u, 1000u}) check(e, numbers(n), 3);
  check(e, numbers(10'000), 1);
  check(e, numbers(20'000), 3);
  check(e, numbers(2'000), 300);
  check(e, numbers(5'020), 5'000);  // longer than those that are made together
}

CONFORMS(runs_as_lists, of_strings_and_awkward_numbers, "chunk", "window") {
  std::vector<std::string> texts;
  for (const std::int64_t x : numbers(12'000)) texts.push_back((x % 3 ? "" : "a text that lies on the heap ") + std::to_string(x));
  check(e, texts, 2);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  check(e, std::vector<double>{nan, -0.0, 0.0, 1e308, nan, -1e-320}, 2);
  check(e, std::vector<std::optional<std::int32_t>>{1, std::nullopt, 3, std::nullopt}, 3);
}

// Readers that go on to other verbs, keep lists, or want a few only.
CONFORMS(runs_as_lists, of_other_verbs, "chunk", "window", "select", "order_by", "zip", "take", "skip", "first", "last") {
  const auto rows = numbers(30'000);
  const auto wanted = runs_of(rows, 3, 1, false);
  const auto q = source(e, rows).window(3);
  const auto sum = [](const std::vector<std::int64_t>& run) { return run[0] + 2 * run[1] + 3 * run[2]; };
  std::int64_t total = 0;
  std::vector<std::int64_t> sums;
  for (const auto& run : wanted) total += sums.emplace_back(sum(run));
  EXPECT_EQ(q.select(sum).sum(), total);
  EXPECT_EQ(q.select([](auto run) { return run[0] + 2 * run[1] + 3 * run[2]; }).sum(), total);
  EXPECT_ROWS(q.select(sum).to_vector(), sums);
  lists<std::int64_t> sorted = wanted;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_ROWS(q.order_by([](const auto& run) { return run; }).to_vector(), sorted);
  EXPECT_EQ(q.zip(q, [](const auto& a, const auto& b) { return a == b ? 1 : 0; }).sum(), std::ssize(wanted));
  EXPECT_ROWS(q.skip(20'000).take(2).to_vector(), (lists<std::int64_t>{wanted[20'000], wanted[20'001]}));
  EXPECT_ROWS(q.chunk(2).first(), (lists<std::int64_t>{wanted[0], wanted[1]}));
  EXPECT_ROWS(q.last(), wanted.back());
  std::size_t seen = 0;
  for (const auto& run : q) {
    ASSERT_EQ(run, wanted[seen]);
    if (++seen == 9'000) break;
  }
}

}  // namespace
}  // namespace conformance
