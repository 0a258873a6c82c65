// The session of queries that name none: made when it is first used, with what the environment says, and gone when the program ends.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <query/query.hpp>

namespace standard_session_test {

struct late {
  std::vector<int> rows = {3, 1, 2};
  ~late() {
    try {
      std::fprintf(stderr, "%d", query::from(rows).order_descending().first());
    } catch (const query::user_error& e) {
      std::fputs(e.what(), stderr);
      std::_Exit(7);
    }
  }
};

TEST(standard_session_death, a_query_of_a_static_destructor_is_told_that_it_is_gone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static late l;
        (void)query::from(l.rows).count();
        std::exit(0);
      },
      testing::ExitedWithCode(7), "the standard session is gone");
}

TEST(standard_session_death, values_of_the_environment_that_make_no_sense_are_refused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto refuses = [](const char* name, const char* value, const char* text) {
    EXPECT_EXIT(
        {
          ::setenv(name, value, 1);
          try {
            (void)query::Session::standard();
          } catch (const query::user_error& e) {
            std::fputs(e.what(), stderr);
            std::_Exit(7);
          }
          std::_Exit(0);
        },
        testing::ExitedWithCode(7), text);
  };
  refuses("QUERY_GPU", "maybe", "^QUERY_GPU: expected on or off: found 'maybe'");
  refuses("QUERY_VERIFY", "maybe", "QUERY_VERIFY: expected 0 or 1: found 'maybe'");
  refuses("QUERY_CHECKED", "maybe", "QUERY_CHECKED: expected 0 or 1: found 'maybe'");
  refuses("QUERY_TEMP", "/nowhere", "QUERY_TEMP: expected a folder: found '/nowhere'");
  refuses("QUERY_THREADS", "many", "QUERY_THREADS: expected a number");
  for (const char* bytes : {"12Q", "512MX", "512MiBB", "512Mi", "MB", "-1", "-1M", "99999999T"})
    refuses("QUERY_MEMORY_LIMIT", bytes, "QUERY_MEMORY_LIMIT: ");
}

TEST(standard_session_death, a_size_may_have_a_unit_in_any_usual_form) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const char* bytes : {"536870912", "512M", "512m", "512MB", "512Mb", "512MiB", "512mib", "2MiB"})
    EXPECT_EXIT(
        {
          ::setenv("QUERY_MEMORY_LIMIT", bytes, 1);
          (void)query::Session::standard();
          std::_Exit(0);
        },
        testing::ExitedWithCode(0), "")
        << bytes;
}

}  // namespace standard_session_test
