// Strings that interpreted functions make for a batch of rows count in the session's memory while they live.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <query/query.hpp>

namespace query::tests {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

// 32 MiB, in one batch.
std::vector<std::string> long_texts() { return std::vector<std::string>(512, std::string(64 << 10, 'A')); }

TEST(made_texts_memory, counts_until_the_batch_is_done) {
  const std::vector<std::string> rows = long_texts();
  const Session session({.threads = 1, .memory_limit = 256 * mib, .gpu = gpu_use::off});
  EXPECT_EQ(from(rows).in(session).where("lower(value) = 'a'").count(), 0);
  EXPECT_GE(session.memory_peak(), 31 * mib);
  EXPECT_LT(session.memory_used(), mib);
}

TEST(made_texts_memory, is_an_error_where_the_session_has_no_more) {
  const std::vector<std::string> rows = long_texts();
  const Session session({.threads = 1, .memory_limit = 16 * mib, .gpu = gpu_use::off});
  try {
    (void)from(rows).in(session).where("lower(value) = 'a'").count();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const resource_error& e) {
    EXPECT_NE(std::string(e.what()).find("over the session's limit"), std::string::npos) << e.what();
  }
  EXPECT_LT(session.memory_used(), mib);
  // What fits goes on, on the same thread.
  EXPECT_EQ(from(rows).in(session).take(20).where("lower(value) < 'b'").count(), 20);
}

}  // namespace
}  // namespace query::tests
