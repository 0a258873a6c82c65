// Windows beside a loop, and sorts of long strings beside std::stable_sort with as many threads.
//
//   windows_and_strings [threads]
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <query/query.hpp>

#include "timing.hpp"

namespace {

struct account {
  std::string name;
  std::int64_t id = 0;
  bool operator<(const account& o) const { return name < o.name; }
};
QUERY_RECORD(account, name, id);

// Two halves at once where there are two threads.
template <class T> void stable_sorted(std::vector<T>& rows, int threads) {
  if (threads < 2) return std::stable_sort(rows.begin(), rows.end());
  const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2);
  std::thread other([&] { std::stable_sort(rows.begin(), middle); });
  std::stable_sort(middle, rows.end());
  other.join();
  std::inplace_merge(rows.begin(), middle, rows.end());
}

template <class Of> std::vector<double> loop(const std::vector<double>& rows, std::size_t k, Of of) {
  std::vector<double> all;
  all.reserve(rows.size());
  for (std::size_t i = 0; i + k <= rows.size(); ++i) all.push_back(of(std::span(rows).subspan(i, k)));
  return all;
}
double sum_of(std::span<const double> w) {
  double t = 0;
  for (const double x : w) t += x;
  return t;
}
double max_of(std::span<const double> w) {
  double t = w[0];
  for (const double x : w) t = x > t ? x : t;
  return t;
}

void windows(const query::Session& session) {
  std::vector<double> rows(2'000'000);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(i * 2'654'435'761u % 1000);
  const auto itself = [](auto x) { return x; };
  for (const std::size_t k : {std::size_t{3}, std::size_t{10}, std::size_t{100}}) {
    const auto q = query::from(rows).in(session);
    bench::race r("windows of " + std::to_string(k) + " of 2 million doubles, to a vector");
    r.add("sum: loop", [&] { return loop(rows, k, sum_of).back(); });
    r.add("sum: traced", [&] { return q.window(k, [&](auto w) { return query::sum(w, itself); }).to_vector().back(); });
    r.add("sum: opaque", [&] { return q.window(k, [](std::span<const double> w) { return sum_of(w); }).to_vector().back(); });
    r.add("max: loop", [&] { return loop(rows, k, max_of).back(); });
    r.add("max: traced", [&] { return q.window(k, [&](auto w) { return query::max(w, itself); }).to_vector().back(); });
    r.run(5);
  }
}

// Windows as rows: a std::vector each.
void lists(const query::Session& session) {
  const std::vector<double> rows(2'000'000, 1.0);
  const auto q = query::from(rows).in(session);
  const auto first = [](const std::vector<double>& w) { return w.front(); };
  for (const std::size_t k : {std::size_t{3}, std::size_t{100}}) {
    bench::race r("windows of " + std::to_string(k) + " of 2 million doubles, as lists");
    r.add("loop that makes a vector each", [&] {
      return loop(rows, k, [&](std::span<const double> w) { return first(std::vector<double>(w.begin(), w.end())); }).back();
    });
    r.add("window(k), first of each, sum", [&] { return q.window(k).select(first).sum(); });
    r.add("window(k), count", [&] { return static_cast<double>(q.window(k).count()); });
    r.run(5);
  }
}

void strings(const query::Session& session, int threads) {
  for (const std::size_t prefix : {std::size_t{0}, std::size_t{26}, std::size_t{200}}) {
    std::mt19937_64 random(1);
    std::vector<std::string> names(1'000'000);
    for (std::string& s : names) {
      s.assign(prefix, 'p');
      for (int i = 0; i < 24; ++i) s += static_cast<char>('a' + random() % 26);
    }
    std::vector<account> accounts;
    for (std::size_t i = 0; i < names.size(); ++i) accounts.push_back({names[i], static_cast<std::int64_t>(i)});
    bench::race r("a million strings with " + std::to_string(prefix) + " letters in common and 24 of their own");
    r.add("strings: copy, std::stable_sort", [&] {
      auto all = names;
      stable_sorted(all, threads);
      return static_cast<double>(all.front().back());
    });
    r.add("strings: order_by", [&] {
      return static_cast<double>(query::from(names).in(session).order_by([](const auto& s) { return s; }).to_vector().front().back());
    });
    r.add("records: copy, std::stable_sort", [&] {
      auto all = accounts;
      stable_sorted(all, threads);
      return static_cast<double>(all.front().id);
    });
    r.add("records: order_by", [&] {
      const auto all = query::from(accounts).in(session).order_by([](const auto& a) { return a.name; }).to_vector();
      return static_cast<double>(all.front().id);
    });
    r.run(3);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const query::Session session({.threads = threads, .gpu = query::gpu_use::off});
  windows(session);
  lists(session);
  strings(session, threads);
}
