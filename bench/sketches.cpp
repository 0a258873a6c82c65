// Approximate aggregates by 2 threads, beside exact ones: of all rows, and of 1,000 groups; results of groups are columns.
//
//   sketches ROWS FILE    writes the columns to FILE, for bench/sketches/peers.py, and answers each question three times
//
// A line a question: milliseconds, processor milliseconds of all threads, and the answer, or the sum of the groups' answers.
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "best_times.hpp"

namespace {

struct visit { std::int32_t group; std::int64_t user; std::int64_t page; double x; };
QUERY_RECORD(visit, group, user, page, x);
struct one { double sum; };
QUERY_RECORD(one, sum);

const auto user = [](auto v) { return v.user; };
const auto page = [](auto v) { return v.page; };
const auto x = [](auto v) { return v.x; };

}  // namespace

int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::stoul(argv[1]) : 10'000'000;
  std::uint64_t s = 88172645463325252u;
  const auto next = [&] {
    s ^= s << 13;
    s ^= s >> 7;
    return s ^= s << 17;
  };
  std::vector<std::int32_t> groups;
  std::vector<std::int64_t> users, pages;
  std::vector<double> values;
  for (std::size_t i = 0; i < rows; ++i) {
    const double share = static_cast<double>(next() >> 11) * 0x1p-53;
    groups.push_back(static_cast<std::int32_t>(next() % 1000));
    users.push_back(static_cast<std::int64_t>(next() % (rows / 10 + 1)));
    pages.push_back(static_cast<std::int64_t>(1 / (share + 1e-6)));
    values.push_back(-std::log(1 - share));
  }
  if (argc > 2) {
    std::ofstream file(argv[2], std::ios::binary);
    const auto write = [&](const auto& column) {
      file.write(reinterpret_cast<const char*>(column.data()), static_cast<std::streamsize>(rows * sizeof column[0]));
    };
    write(groups), write(users), write(pages), write(values);
  }
  const query::Session session({.threads = 2, .gpu = query::gpu_use::off});
  const auto q = query::from(query::columns<visit>(groups, users, pages, values)).in(session);
  const auto all = [&](const char* name, auto f) { bench::answer(name, q.aggregate([f](auto g) { return query::make<one>(f(g)); })); };
  const auto each = [&](const char* name, auto f) {
    bench::answer(name, q.group_by([](auto v) { return v.group; }).select([f](auto g) { return query::make<one>(f(g)); }));
  };
  const auto exact_count = [](auto g) { return query::cast<double>(g.count_distinct(user)); };
  const auto near_count = [](auto g) { return query::cast<double>(g.approx_count_distinct(user)); };
  const auto exact_rank = [](auto g) { return g.quantile(x, 0.99); };
  const auto near_rank = [](auto g) { return g.approx_quantile(x, 0.99); };
  all("count_distinct", exact_count);
  all("approx_count_distinct", near_count);
  all("quantile 0.99", exact_rank);
  all("approx_quantile 0.99", near_rank);
  each("count_distinct, 1,000 groups", exact_count);
  each("approx_count_distinct, 1,000 groups", near_count);
  each("quantile 0.99, 1,000 groups", exact_rank);
  each("approx_quantile 0.99, 1,000 groups", near_rank);
  bench::answer("top_k_frequent 10", q.aggregate([](auto g) { return g.top_k_frequent(page, 10); }).select_many([](const auto& counts) {
    std::vector<one> found;
    for (const auto& [value, n] : counts) found.push_back({static_cast<double>(n)});
    return found;
  }));
}
