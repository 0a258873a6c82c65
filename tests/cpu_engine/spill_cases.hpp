// What goes wrong with temporary files, of any query that writes some: it ends with an error that says why, nothing is left, and the
// session goes on.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "faulty_files.hpp"
#include "sanitized.hpp"
#include "temp_folder.hpp"

namespace query::tests {

struct spilling_query {
  std::size_t memory;                                // so little that it writes files
  std::string verb;                                  // that errors name
  std::function<bool(const query::Session&)> right;  // runs it: is the answer right?

  query::Session session(const std::string& folder) const {
    return query::Session({.threads = 2, .memory_limit = memory, .temp_folder = folder});
  }
};

template <class Run> std::string resource_error_of(Run run) {
  try {
    run();
  } catch (const query::resource_error& e) {
    return e.what();
  }
  return "";
}

inline void expect_error_without_folder(const spilling_query& q) {
  const temp_folder at("spill_cases");
  const auto s = q.session(at.name());
  at.remove();
  const std::string why = resource_error_of([&] { q.right(s); });
  EXPECT_NE(why.find(at.name()), std::string::npos) << why;
  EXPECT_NE(why.find("No such file"), std::string::npos) << why;
  EXPECT_NE(why.find("while running " + q.verb), std::string::npos) << why;
  EXPECT_EQ(s.memory_used(), 0u);
  std::filesystem::create_directories(at.name());
  EXPECT_TRUE(q.right(s));
}

// Files may have so many bytes. How much is written depends on which pages were evicted: with room enough, the answer is right.
// Was it full?
inline bool ran_into_full_disk(const spilling_query& q, std::size_t bytes) {
  const temp_folder at("spill_cases");
  const auto s = q.session(at.name());
  rlimit before;
  EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = bytes;
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  bool right = false;
  const std::string why = resource_error_of([&] { right = q.right(s); });
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(right || why.find("File too large") != std::string::npos) << bytes << " bytes: " << why;
  EXPECT_TRUE(at.empty());
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(q.right(s));
  return !right;
}

// At the first page, and behind some.
inline void expect_error_of_full_disk(const spilling_query& q, std::initializer_list<std::size_t> more_bytes = {}) {
  EXPECT_TRUE(ran_into_full_disk(q, 10'000));
  for (const std::size_t bytes : more_bytes) ran_into_full_disk(q, bytes);
}

inline void expect_error_over_limit_of_files(const spilling_query& q, const char* limit) {
  const temp_folder at("spill_cases");
  ASSERT_EQ(::setenv("QUERY_TEMP_LIMIT", limit, 1), 0);
  const auto s = q.session(at.name());
  ASSERT_EQ(::unsetenv("QUERY_TEMP_LIMIT"), 0);
  const std::string why = resource_error_of([&] { q.right(s); });
  EXPECT_NE(why.find("QUERY_TEMP_LIMIT"), std::string::npos) << why;
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
  EXPECT_TRUE(q.right(q.session(at.name())));
}

// Not even root may write to /proc.
inline void expect_error_of_read_only_folder(const spilling_query& q) {
  const auto s = q.session("/proc");
  const std::string why = resource_error_of([&] { q.right(s); });
  EXPECT_NE(why.find("a temporary file in /proc cannot be made"), std::string::npos) << why;
  EXPECT_NE(why.find("while running " + q.verb), std::string::npos) << why;
  EXPECT_EQ(s.memory_used(), 0u);
  const std::vector<int> few{1, 2, 3};
  EXPECT_EQ(query::from(few).in(s).sum(), 6);
}

inline void expect_error_of_faulty_disk(const spilling_query& q, faulty_files::fault fault, const char* message) {
  const temp_folder at("spill_cases");
  const auto s = q.session(at.name());
  {
    const faulty_files disk(fault);
    const std::string why = resource_error_of([&] { q.right(s); });
    EXPECT_GT(disk.met(), 0u);
    EXPECT_NE(why.find(at.name()), std::string::npos) << why;
    EXPECT_NE(why.find(message), std::string::npos) << why;
  }
  EXPECT_TRUE(at.empty());
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(q.right(s));
}
inline void expect_error_of_damaged_page(const spilling_query& q) {
  expect_error_of_faulty_disk(q, faulty_files::fault::damage, "gives back other bytes than were written");
}
inline void expect_error_of_disk_that_fills_up(const spilling_query& q) {
  expect_error_of_faulty_disk(q, faulty_files::fault::full, "No space left on device");
}

// The rest is written and read by further calls.
inline void expect_right_after_short_writes(const spilling_query& q) {
  const temp_folder at("spill_cases");
  const auto s = q.session(at.name());
  const faulty_files disk(faulty_files::fault::short_transfers);
  EXPECT_TRUE(q.right(s));
  EXPECT_GT(disk.met(), 0u);
  EXPECT_EQ(s.memory_used(), 0u);
}

inline void expect_right_or_error_of_faulty_files(const spilling_query& q) {
  expect_error_of_read_only_folder(q);
  expect_error_of_damaged_page(q);
  expect_error_of_disk_that_fills_up(q);
  expect_right_after_short_writes(q);
}

}  // namespace query::tests
