// Queries whose rows are more than the memory of a process, in several processes: what they send and receive waits in files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "cluster/cluster_under_test.hpp"

namespace little_memory_test {

struct reading {
  std::int64_t key;
  double a, b, c, d;
  friend bool operator==(const reading&, const reading&) = default;
};
QUERY_RECORD(reading, key, a, b, c, d);
struct named {
  std::int64_t key;
  std::string name;
  friend bool operator==(const named&, const named&) = default;
};
QUERY_RECORD(named, key, name);

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

std::vector<std::int32_t> numbers(std::size_t n) {
  std::vector<std::int32_t> all;
  for (std::uint32_t i = 0; i < n; ++i) all.push_back(static_cast<std::int32_t>(i * 2654435761u >> 4));
  return all;
}

class little_memory : public ::testing::Test {
 protected:
  static constexpr std::size_t limit = 32 * mib;
  static query::session_options options() { return {.threads = 1, .memory_limit = limit, .gpu = query::gpu_use::off}; }
  query::Session many = query::Session::cluster(query::tests::three_processes(), options());
  query::Session one{options()};
  const std::vector<std::int32_t> source = numbers(1'000'000);

  // 40 MB.
  static auto readings(const query::Session& s, const std::vector<std::int32_t>& of) {
    static_assert(sizeof(reading) * 1'000'000 > limit);
    return query::from(of).in(s).select(
        [](auto x) { return query::make<reading>(query::cast<std::int64_t>(x), x * 0.5, x * 2.0, x * 1.0, x * 3.0); });
  }
  template <class F> void expect_alike(F f) {
    const auto expected = f(one);
    const auto found = f(many);
    EXPECT_TRUE(found == expected);
  }
};

TEST_F(little_memory, groups_of_many_keys) {
  expect_alike([&](const query::Session& s) {
    return readings(s, source)
        .group_by([](auto r) { return r.key; })
        .select([](auto g) {
          return query::make<reading>(g.key(), g.sum([](auto r) { return r.a; }), g.max([](auto r) { return r.b; }),
                                      g.min([](auto r) { return r.c; }), g.mean([](auto r) { return r.d; }));
        })
        .order_by([](auto r) { return r.key; })
        .to_vector();
  });
}

TEST_F(little_memory, groups_as_lists) {
  expect_alike([&](const query::Session& s) {
    auto all = readings(s, source)
                   .group_by([](auto r) { return r.key % 1000; })
                   .select([](const query::Group<std::int64_t, reading>& g) {
                     reading r{g.key(), 0, 0, 0, static_cast<double>(g.rows().size())};
                     for (const reading& x : g) r.a += x.a;
                     return r;
                   })
                   .to_vector();
    std::sort(all.begin(), all.end(), [](const reading& x, const reading& y) { return x.key < y.key; });
    return all;
  });
}

TEST_F(little_memory, sorts) {
  expect_alike([&](const query::Session& s) { return readings(s, source).order_by([](auto r) { return r.a; }).to_vector(); });
}

TEST_F(little_memory, texts) {
  expect_alike([&](const query::Session& s) {
    auto all = query::from(source)
                   .in(s)
                   .where([](auto x) { return x % 5 == 0; })
                   .select(query::opaque([](std::int32_t x) { return named{x, std::string(80, 'x') + std::to_string(x)}; }))
                   .group_by([](auto n) { return n.key % 500; })
                   .select([](const query::Group<std::int64_t, named>& g) {
                     named longest{g.key(), ""};
                     for (const named& n : g) longest.name = std::max(longest.name, n.name);
                     return longest;
                   })
                   .to_vector();
    std::sort(all.begin(), all.end(), [](const named& x, const named& y) { return x.key < y.key; });
    return all;
  });
}

TEST_F(little_memory, a_full_disk_is_an_error) {
  auto little = options();
  little.temp_limit = 1 * mib;
  const auto s = query::Session::cluster(query::tests::three_processes(), little);
  try {
    (void)readings(s, source).order_by([](auto r) { return r.a; }).to_vector();
    ADD_FAILURE() << "there was room";
  } catch (const query::resource_error& e) {
    EXPECT_NE(std::string(e.what()).find("temporary files"), std::string::npos) << e.what();
  }
  EXPECT_EQ(query::from(source).in(s).count(), source.size());
}

}  // namespace
}  // namespace little_memory_test
