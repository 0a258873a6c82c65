#include "runtime/long_lists.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <query/detail/discard.hpp>
#include <query/detail/stop.hpp>
#include <query/group.hpp>

namespace query::runtime {
namespace {

using strings = std::vector<std::string>;
strings long_list(std::size_t n) {
  strings all;
  for (std::size_t i = 0; i < n; ++i) all.push_back("a string that is longer than what it holds in itself " + std::to_string(i));
  return all;
}

template <class T> const ir::type& type_of() { return *ir::describe<T>(); }

// Rows in raw memory, as operators have them.
template <class T> struct raw_rows {
  explicit raw_rows(std::size_t n) : at(static_cast<T*>(::operator new(n * sizeof(T)))) {}
  ~raw_rows() { ::operator delete(at); }
  raw_rows(const raw_rows&) = delete;
  raw_rows& operator=(const raw_rows&) = delete;
  T* at;
};

struct stopped {};
struct stopping {
  explicit stopping(bool now) {
    state.raise = [](const detail::stop_state&) { throw stopped(); };
    state.stopped_now = now;
  }
  detail::stop_state state;
  detail::stop_scope scope{state};
};

template <class T> void expect_copies(const std::vector<T>& rows) {
  const ir::type& t = type_of<T>();
  raw_rows<T> to(rows.size());
  copy_rows_with_lists(t, to.at, rows.data(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_TRUE(to.at[i] == rows[i]) << i;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    assign_with_lists(t, to.at + i, &rows[rows.size() - 1 - i]);
    EXPECT_TRUE(to.at[i] == rows[rows.size() - 1 - i]) << i;
  }
  destroy_rows_with_lists(t, to.at, rows.size());
}

TEST(long_lists, are_copied_whole) {
  expect_copies<strings>({{}, {"one"}, long_list(1024), long_list(1025), long_list(5000)});
  expect_copies<std::vector<int>>({{}, std::vector<int>(100'000, 7), {1, 2}});
  expect_copies<std::pair<int, strings>>({{1, {}}, {2, long_list(3000)}, {3, {"three"}}});
  expect_copies<std::tuple<std::string, strings, double>>({{"a", long_list(2000), 0.5}, {"b", {}, -0.0}});
  expect_copies<std::vector<strings>>({{long_list(3000), {}, long_list(2)}, {}, std::vector<strings>(2000, strings{"x"})});
  expect_copies<std::optional<strings>>({std::nullopt, long_list(3000), strings()});
}

TEST(long_lists, are_not_copied_once_the_query_stops) {
  const auto expect_stops = []<class T>(const std::vector<T>& rows) {
    raw_rows<T> to(rows.size());
    const stopping now(true);
    EXPECT_THROW(copy_rows_with_lists(type_of<T>(), to.at, rows.data(), rows.size()), stopped);
  };
  expect_stops(std::vector<strings>{{"short"}, long_list(5000)});
  expect_stops(std::vector<std::pair<int, strings>>{{1, {"short"}}, {2, long_list(5000)}});
  detail::wait_for_discarded();
}

// All threads look at one flag: what goes while it is set goes elsewhere, and is gone when somebody waits for it.
TEST(long_lists, go_to_another_thread_once_the_query_stops) {
  for (const bool now : {false, true}) {
    raw_rows<strings> rows(3);
    for (std::size_t i = 0; i < 3; ++i) new (rows.at + i) strings(long_list(i * 5000));
    raw_rows<std::pair<int, strings>> pairs(1);
    new (pairs.at) std::pair<int, strings>(1, long_list(5000));
    raw_rows<Group<int, std::string>> groups(1);
    new (groups.at) Group<int, std::string>(1, long_list(5000));
    {
      const stopping state(now);
      destroy_rows_with_lists(type_of<strings>(), rows.at, 3);
      destroy_rows_with_lists(type_of<std::pair<int, strings>>(), pairs.at, 1);
      destroy_rows_with_lists(type_of<Group<int, std::string>>(), groups.at, 1);
    }
    detail::wait_for_discarded();
  }
}

TEST(long_lists, of_groups_are_copied_with_looks) {
  const Group<int, std::string> group(1, long_list(5000));
  const Group<int, std::string> copy = group;
  EXPECT_EQ(copy.rows(), group.rows());
  const stopping now(true);
  EXPECT_THROW((Group<int, std::string>(group)), stopped);
}

}  // namespace
}  // namespace query::runtime
