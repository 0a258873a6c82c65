// Reading files that are larger than memory, stopping while one is read, and many readers at once.
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "columnar_fixture.hpp"

namespace arrow_files_test {

struct counted {
  std::int64_t n = 0;
  std::string word;
  double x = 0;
  bool operator==(const counted&) const = default;
};
QUERY_RECORD(counted, n, word, x);

class large_files : public columnar_test {
 protected:
  static auto counted_rows(std::int64_t n) {
    return query::range(std::int64_t{0}, n).select([](std::int64_t i) { return counted{i, "a word that is as long as this one", 1.0}; });
  }
  static query::session_options small(std::size_t memory) { return {.threads = 2, .memory_limit = memory, .gpu = query::gpu_use::off}; }
};

// 1,000,000 rows are 48 MB in memory, and much less in the file, since all but a column repeats. Many groups do not come into memory at
// once, nor does a large one as rows.
TEST_F(large_files, are_read_within_the_memory_limit) {
  constexpr std::int64_t n = 1'000'000;
  const query::Session session(small(std::size_t{32} << 20));
  for (const std::uint64_t group : {10'000, 250'000}) {
    query::write_parquet(counted_rows(n), at("c.parquet"), {.row_group_rows = group});
    EXPECT_LT(bytes_of(at("c.parquet")).size(), 12u << 20);
    const auto all = query::read_parquet<counted>(at("c.parquet")).in(session);
    EXPECT_EQ(all.count(), n);
    EXPECT_EQ(all.sum([](auto c) { return c.x; }), static_cast<double>(n));
    EXPECT_EQ(all.where([](auto c) { return c.word.size() > 5; }).sum([](auto c) { return c.n; }), n * (n - 1) / 2);
    EXPECT_EQ(all.group_by([](auto c) { return c.n % 3; }).select([](auto g) { return g.count(); }).count(), 3);
    query::write_parquet(all, at("copy.parquet"), {.row_group_rows = 100'000});
    EXPECT_EQ(query::read_parquet<counted>(at("copy.parquet")).in(session).count(), n);
  }
}

TEST_F(large_files, are_charged_for_what_is_unpacked) {
  query::write_parquet(counted_rows(1'000'000), at("c.parquet"));
  const auto sum = [&](std::size_t memory) {
    return query::read_parquet<counted>(at("c.parquet")).in(query::Session(small(memory))).sum([](auto c) { return c.n; });
  };
  EXPECT_THROW((void)sum(std::size_t{4} << 20), query::resource_error);
  EXPECT_EQ(sum(std::size_t{64} << 20), 1'000'000ll * 999'999 / 2);
}

TEST_F(large_files, first_rows_come_early) {
  query::write_parquet(counted_rows(1'000'000), at("c.parquet"));
  int rows = 0;
  for (const counted& c : query::read_parquet<counted>(at("c.parquet"))) {
    EXPECT_EQ(c.n, rows);
    if (++rows == 3000) break;
  }
  EXPECT_EQ(rows, 3000);
}

TEST_F(large_files, stop_when_asked) {
  query::write_parquet(counted_rows(1'000'000), at("c.parquet"), {.row_group_rows = 10'000});
  const auto all = query::read_parquet<counted>(at("c.parquet"));
  EXPECT_THROW((void)all.timeout(1e-4).count([](auto c) { return c.word == "no"; }), query::error);
  std::stop_source stop;
  std::jthread asks([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop.request_stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(
      {
        for (;;) (void)all.stop_on(stop.get_token()).sum([](auto c) { return c.n; });
      },
      query::error);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(large_files, have_many_readers_at_once) {
  query::write_parquet(counted_rows(50'000), at("c.parquet"), {.row_group_rows = 1000});
  query::write_arrow_file(counted_rows(50'000), at("c.arrow"), {.batch_rows = 1000});
  const auto parquet = query::read_parquet<counted>(at("c.parquet"));
  const auto ipc = query::read_arrow_file<counted>(at("c.arrow"));
  const query::Session session({.threads = 8, .gpu = query::gpu_use::off});
  std::vector<std::jthread> readers;
  for (int r = 0; r < 4; ++r)
    readers.emplace_back([&, r] {
      for (int i = 0; i < 3; ++i) {
        const auto& q = (r + i) % 2 ? parquet : ipc;
        EXPECT_EQ(q.in(session).where([r](auto c) { return c.n >= 1000 * r; }).count(), 50'000 - 1000 * r);
        EXPECT_EQ(q.in(session).to_vector().back(), (counted{49'999, "a word that is as long as this one", 1.0}));
      }
    });
}

}  // namespace arrow_files_test
