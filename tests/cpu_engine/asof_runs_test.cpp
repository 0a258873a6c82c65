// Right rows of an asof_join out of the order of their times: few of a key, some that share the room of a task, and many that all threads
// sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <query/query.hpp>

namespace query::tests {
namespace {

struct Tick { std::int32_t key; std::int64_t time; std::int32_t id; };
QUERY_RECORD(Tick, key, time, id);

TEST(asof_runs, of_any_length_are_sorted_by_time) {
  std::mt19937 random(5);
  std::vector<Tick> right;
  std::int32_t key = 0;
  for (const std::int64_t length : {1, 2, 64, 65, 5'000, 66, 300, 128, 32'767, 100, 32'768, 40'000, 3}) {
    for (std::int64_t i = 0; i < length; ++i) right.push_back({key, i * 3, static_cast<std::int32_t>(right.size())});
    ++key;
  }
  std::shuffle(right.begin(), right.end(), random);
  std::vector<Tick> left;
  std::map<std::pair<std::int32_t, std::int64_t>, std::int32_t> known;
  for (const Tick& t : right) known[{t.key, t.time}] = t.id;
  std::vector<std::int32_t> wanted;
  for (int i = 0; i < 50'000; ++i) {
    left.push_back({static_cast<std::int32_t>(random() % 14), static_cast<std::int64_t>(random() % 130'000) - 10, i});
    auto at = known.upper_bound({left.back().key, left.back().time});
    const bool found = at != known.begin() && (--at)->first.first == left.back().key;
    wanted.push_back(found ? at->second : -1);
  }
  const auto k = [](auto t) { return t.key; };
  const auto time = [](auto t) { return t.time; };
  for (const int threads : {1, 4}) {
    const Session session({.threads = threads, .gpu = gpu_use::off});
    EXPECT_EQ(from(left).in(session).asof_join(from(right), k, k, time, time, [](auto, auto r) {
      return r.has_value() ? r->id : decltype(r->id)(-1);
    }).to_vector(), wanted);
  }
}

}  // namespace
}  // namespace query::tests
