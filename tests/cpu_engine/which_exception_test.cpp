// Of several rows for which a function throws, the first in the order of rows counts, whoever comes to it first.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "sanitized.hpp"

namespace query::tests {

struct wrong_row {
  std::int64_t x;
};
QUERY_RECORD(wrong_row, x);

namespace {

constexpr std::int64_t rows_there = sanitized ? 700'000 : 3'000'000, first_wrong = rows_there / 3 + 3;
constexpr std::int64_t later_wrong = first_wrong + rows_there / 3;

const std::vector<std::int64_t>& numbers() {
  static const std::vector<std::int64_t> all = [] {
    std::vector<std::int64_t> v(static_cast<std::size_t>(rows_there));
    std::iota(v.begin(), v.end(), 0);
    return v;
  }();
  return all;
}

std::atomic<std::int64_t> spent{0};

// Slow before the first wrong row, so that other threads come to the later ones before.
const auto careful = [](const std::int64_t& x) {
  if (x == first_wrong || x == later_wrong || x == later_wrong + 70'000) throw std::runtime_error("row " + std::to_string(x));
  if (x < first_wrong && x + 3000 > first_wrong)
    for (std::int64_t i = 0; i < 300; ++i) spent.store(i, std::memory_order_relaxed);
  return x;
};

template <class F> void throws_for_the_first(const char* what, F run) {
  for (int round = 0; round < (sanitized ? 2 : 12); ++round) {
    try {
      run();
      ADD_FAILURE() << what << ": nothing was thrown";
    } catch (const std::runtime_error& e) {
      ASSERT_EQ(std::string(e.what()), "row " + std::to_string(first_wrong)) << what;
    }
  }
}

void of_all_verbs(const Session& session) {
  const auto q = from(numbers()).in(session);
  const auto mod = [](const std::int64_t& x) { return careful(x) % 1000; };
  const std::vector<std::int64_t> few{1, 2, 3};
  const auto itself = [](const std::int64_t& x) { return x; };
  throws_for_the_first("select, to_vector", [&] { q.select(careful).to_vector(); });
  throws_for_the_first("where, count", [&] { q.where([](const std::int64_t& x) { return careful(x) > 0; }).count(); });
  throws_for_the_first("sum", [&] { q.sum(careful); });
  throws_for_the_first("to_columns", [&] { q.select([](const std::int64_t& x) { return wrong_row{careful(x)}; }).to_columns(); });
  throws_for_the_first("for_each", [&] { q.select(careful).for_each([](const std::int64_t&) {}); });
  throws_for_the_first("group_by", [&] { q.group_by(mod).count().to_vector(); });
  throws_for_the_first("group_by, many", [&] { q.group_by(careful).count().to_vector(); });
  throws_for_the_first("aggregate", [&] {
    q.group_by([](auto x) { return x % 7; }).select([](auto g) { return g.sum(careful); }).to_vector();
  });
  throws_for_the_first("distinct_by", [&] { q.distinct_by(careful).to_vector(); });
  throws_for_the_first("join", [&] { q.join(few, careful, itself).to_vector(); });
  throws_for_the_first("join, build side", [&] { from(few).in(session).join(numbers(), itself, careful).to_vector(); });
  throws_for_the_first("semi_join", [&] { q.semi_join(few, careful, itself).to_vector(); });
  throws_for_the_first("order_by", [&] { q.order_by(careful).to_vector(); });
  throws_for_the_first("order_by, before", [&] { q.select(careful).order().to_vector(); });
  throws_for_the_first("top", [&] { q.top(10, careful).to_vector(); });
  throws_for_the_first("except_by", [&] { q.except_by(few, careful).to_vector(); });
  const auto left = [](const std::int64_t& a, const std::int64_t&) { return careful(a); };
  throws_for_the_first("zip", [&] { q.zip(numbers(), left).to_vector(); });
  throws_for_the_first("hash_partitioned_by", [&] { q.hash_partitioned_by(careful, 4).to_vector(); });
}

TEST(which_exception, is_that_of_the_first_row) { of_all_verbs(Session({.threads = 7, .gpu = gpu_use::off})); }

TEST(which_exception, is_that_of_the_first_row_in_little_memory) {
  of_all_verbs(Session({.threads = 4, .memory_limit = (sanitized ? 8u : 24u) << 20, .gpu = gpu_use::off}));
}

}  // namespace
}  // namespace query::tests
