// Queries whose rows are more than the memory of a process, in several processes: what they send and receive waits in files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
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

TEST_F(little_memory, windows_and_partitions) {
  const auto of_partition = [](std::span<const reading> rows) {
    reading r{std::ssize(rows), 0, 0, 0, 0};
    for (const reading& x : rows) r.a = r.a / 2 + x.a;  // as the rows follow each other
    return r;
  };
  const auto key = [](auto r) { return r.key % 1000; };
  expect_alike([&](const query::Session& s) { return readings(s, source).hash_partitioned_by(key, 300).apply(of_partition).to_vector(); });
  expect_alike([&](const query::Session& s) { return readings(s, source).partitioned(300).apply(of_partition).to_vector(); });
  expect_alike([&](const query::Session& s) {
    return readings(s, source).over(key).order_by([](const auto& r) { return r.a; }).select([](const auto&, auto w) {
      return w.row_number();
    }).to_vector();
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

// Of both sides, each process has more than its memory holds.
TEST_F(little_memory, joins_of_two_large_sides) {
  expect_alike([&](const query::Session& s) {
    const auto others = readings(s, source).select([](auto r) { return query::make<reading>(r.key, r.d, r.c, r.b, r.a); });
    auto all = readings(s, source)
                   .join(others, [](auto r) { return r.key; }, [](auto r) { return r.key; },
                         [](auto x, auto y) { return query::make<reading>(x.key, x.a, x.b, y.a, y.b); })
                   .to_vector();
    std::sort(all.begin(), all.end(), [](const reading& x, const reading& y) { return x.key < y.key; });
    return all;
  });
}

TEST_F(little_memory, outer_joins_and_sets_of_two_large_sides) {
  expect_alike([&](const query::Session& s) {
    const auto odd = readings(s, source).where([](auto r) { return r.key % 2 != 0; });
    return readings(s, source)
        .left_join(odd, [](auto r) { return r.key; }, [](auto r) { return r.key; },
                   [](auto x, auto y) { return query::make<reading>(x.key, x.a, x.b, y ? y->a : -1.0, x.d); })
        .order_by([](auto r) { return r.key; })
        .to_vector();
  });
  expect_alike([&](const query::Session& s) {
    return readings(s, source)
        .full_join(readings(s, source).where([](auto r) { return r.key % 3 == 0; }), [](auto r) { return r.key; },
                   [](auto r) { return r.key; },
                   [](auto l, auto r) { return query::make<reading>(l ? l->key : std::int64_t{0}, r ? r->a : 0.0, 0.0, 0.0, 0.0); })
        .sum([](auto r) { return r.key; });
  });
  expect_alike([&](const query::Session& s) {
    return readings(s, source)
        .group_join(readings(s, source), [](auto r) { return r.key; }, [](auto r) { return r.key; },
                    [](const reading& l, std::span<const reading> all) {
                      return reading{l.key, static_cast<double>(all.size()), 0, 0, 0};
                    })
        .sum([](auto r) { return r.a; });
  });
  expect_alike([&](const query::Session& s) {
    return readings(s, source).union_with(readings(s, source).where([](auto r) { return r.a > 0; })).count();
  });
  expect_alike([&](const query::Session& s) {
    return readings(s, source).except(readings(s, source).where([](auto r) { return r.a > 0; })).count();
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
