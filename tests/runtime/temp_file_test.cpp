// Temporary files: what is written comes back; full disks, limits, folders that are not there and damage are errors that say so.
#include "runtime/temp_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include <query/errors.hpp>

#include "temp_folder.hpp"

namespace query::runtime {
namespace {

struct folder : tests::temp_folder {
  folder() : temp_folder("temp_file_test") {}
};

std::vector<std::uint64_t> words(std::size_t n, bool random) {
  std::mt19937_64 r(n);
  std::vector<std::uint64_t> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = random ? r() : i / 100;
  return v;
}

template <class Call> std::string error_of(Call call) {
  try {
    call();
  } catch (const resource_error& e) {
    return e.what();
  }
  return {};
}

TEST(temp_file, gives_back_what_was_written_and_leaves_no_name) {
  const folder at;
  temp_space space(at.name());
  {
    temp_file f(space);
    std::vector<std::vector<std::uint64_t>> all;
    std::vector<temp_file::place> places;
    for (const std::size_t n : {1u, 7u, 1000u, 100'000u})
      for (const bool random : {false, true}) {
        all.push_back(words(n, random));
        places.push_back(f.write(all.back().data(), n * 8));
      }
    EXPECT_TRUE(at.empty());
    for (std::size_t i = all.size(); i-- > 0;) {
      std::vector<std::uint64_t> back(all[i].size());
      f.read(places[i], back.data());
      EXPECT_EQ(back, all[i]);
    }
    EXPECT_LT(places[6].stored, places[6].bytes / 10);  // of words that repeat
    EXPECT_GT(space.used(), 800'000u);
  }
  EXPECT_EQ(space.used(), 0u);
  EXPECT_TRUE(at.empty());
}

// Pages that do not get smaller are written as they lie; what follows them may get smaller again.
TEST(temp_file, gives_back_pages_of_any_kind) {
  const folder at;
  temp_space space(at.name());
  temp_file f(space);
  struct page {
    std::vector<std::uint64_t> data;
    std::vector<std::size_t> begins;
    std::vector<temp_file::place> places;
  };
  std::vector<page> pages;
  for (std::size_t p = 0; p < 60; ++p) {
    page& g = pages.emplace_back();
    g.begins.push_back(0);
    for (const std::size_t n : {0u, 700u, 1u, 2500u, 3000u, 0u, 10u}) {
      const bool random = p < 20 ? true : p < 40 ? false : (p + n) % 3 == 0;
      const auto block = words(n + p, random);
      g.data.insert(g.data.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(n));
      g.begins.push_back(g.data.size() * 8);
    }
    g.places = f.write(g.data.data(), g.begins);
  }
  EXPECT_LT(space.used(), 50u * 6211 * 8);
  for (const page& g : pages)
    for (std::size_t b = 0; b + 1 < g.begins.size(); ++b) {
      ASSERT_EQ(g.places[b].bytes, g.begins[b + 1] - g.begins[b]);
      std::vector<std::uint64_t> back(g.places[b].bytes / 8);
      f.read(g.places[b], back.data());
      ASSERT_TRUE(std::equal(back.begin(), back.end(), g.data.begin() + static_cast<std::ptrdiff_t>(g.begins[b] / 8)));
    }
}

TEST(temp_file, takes_blocks_of_many_threads) {
  const folder at;
  temp_space space(at.name());
  temp_file f(space);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t)
    threads.emplace_back([&f, t] {
      for (std::size_t i = 1; i < 40; ++i) {
        const auto out = words(i * 100 + t, true);
        std::vector<std::uint64_t> in(out.size());
        f.read(f.write(out.data(), out.size() * 8), in.data());
        EXPECT_EQ(in, out);
      }
    });
  for (auto& t : threads) t.join();
}

TEST(temp_file, names_the_folder_that_it_cannot_write_to) {
  const std::string missing = error_of([] {
    temp_space space("/nowhere/at/all");
    const temp_file f(space);
  });
  EXPECT_NE(missing.find("/nowhere/at/all"), std::string::npos) << missing;
  EXPECT_NE(missing.find("No such file or directory"), std::string::npos) << missing;
  EXPECT_NE(missing.find("QUERY_TEMP"), std::string::npos) << missing;
  const std::string refused = error_of([] {
    temp_space space("/proc");  // not even root may
    const temp_file f(space);
  });
  EXPECT_NE(refused.find("/proc"), std::string::npos) << refused;
}

TEST(temp_file, keeps_to_its_limit) {
  const folder at;
  temp_space space(at.name(), 10'000);
  const auto data = words(1000, true);  // 8000 bytes, which do not get smaller
  temp_file f(space);
  const auto first = f.write(data.data(), 8000);
  const std::string more = error_of([&] { f.write(data.data(), 8000); });
  EXPECT_NE(more.find("the limit is 10000"), std::string::npos) << more;
  std::vector<std::uint64_t> back(1000);
  f.read(first, back.data());  // it is of use afterwards
  EXPECT_EQ(back, data);
}

TEST(temp_file, a_full_disk_is_an_error_and_no_signal) {
  const folder at;
  temp_space space(at.name());
  temp_file f(space);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 50'000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto data = words(10'000, true);
  const std::string full = error_of([&] { f.write(data.data(), 80'000); });  // a short write first
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(full.find("File too large"), std::string::npos) << full;
  EXPECT_NE(full.find(at.name()), std::string::npos) << full;
}

TEST(temp_file, finds_damage) {
  const folder at;
  temp_space space(at.name());
  temp_file f(space);
  for (const bool random : {false, true}) {
    const auto data = words(10'000, random);
    std::vector<std::uint64_t> back(data.size());
    for (const double where : {0.01, 0.5, 0.99}) {
      const auto to = f.write(data.data(), data.size() * 8);
      const auto at_byte = static_cast<off_t>(to.at + static_cast<std::uint64_t>(where * static_cast<double>(to.stored)));
      unsigned char byte = 0;
      ASSERT_EQ(::pread(f.descriptor(), &byte, 1, at_byte), 1);
      byte ^= 0x10;
      ASSERT_EQ(::pwrite(f.descriptor(), &byte, 1, at_byte), 1);
      const std::string damaged = error_of([&] { f.read(to, back.data()); });
      EXPECT_NE(damaged.find(at.name()), std::string::npos) << damaged << where;
    }
    const auto to = f.write(data.data(), data.size() * 8);
    ASSERT_EQ(::ftruncate(f.descriptor(), static_cast<off_t>(to.at + to.stored - 1)), 0);
    EXPECT_NE(error_of([&] { f.read(to, back.data()); }), "");
  }
}

}  // namespace
}  // namespace query::runtime
