// Rows whose copies throw: whatever a query has made by then is destroyed, once.
#include <list>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <query/query.hpp>

namespace conformance {
namespace {

// It has no move constructor, as rows of old have. In one thread.
struct counted {
  static inline std::set<const counted*> alive;
  static inline int wrong = 0;      // made or destroyed twice
  static inline int copies = 0, last = 0;  // that one throws

  int id = 0;
  explicit counted(int i) : id(i) { born(); }
  counted(const counted& other) : id(other.id) {
    if (++copies == last) throw std::runtime_error("a copy");
    born();
  }
  counted& operator=(const counted&) = default;
  ~counted() { wrong += alive.erase(this) != 1; }

 private:
  void born() { wrong += !alive.insert(this).second; }
};

// Lets the copies of a run throw, one in each of about 50 runs.
template <class Run> void leaves_nothing(const char* what, Run run) {
  SCOPED_TRACE(what);
  counted::copies = counted::last = 0;
  run();
  const int all = counted::copies;
  const auto before = counted::alive;
  EXPECT_GT(all, 0);
  for (int last = 1; last <= all; last += 1 + all / 50) {
    counted::copies = 0;
    counted::last = last;
    EXPECT_THROW(run(), std::runtime_error) << last;
    ASSERT_EQ(counted::alive.size(), before.size()) << last;
    ASSERT_TRUE(counted::alive == before) << last;
    ASSERT_EQ(counted::wrong, 0) << last;
  }
}

TEST(throwing_rows, leave_nothing_behind) {
  const query::Session s({.threads = 1});
  std::list<counted> some;
  std::vector<counted> rows;
  rows.reserve(500);
  for (int i = 0; i < 500; ++i) {
    rows.emplace_back(i);
    some.emplace_back(i);
  }
  const auto id = [](const counted& c) { return c.id; };
  const auto all = query::from(rows).in(s);
  leaves_nothing("select", [&] { all.select(query::opaque([](const counted& c) { return c; })).to_vector(); });
  leaves_nothing("order_by", [&] { all.order_by(id).to_vector(); });
  leaves_nothing("states of groups", [&] { all.group_by(id).select([](auto g) { return g.first(); }).to_vector(); });
  leaves_nothing("results of groups", [&] {
    all.group_by(query::opaque([](const counted& c) { return c.id % 100; })).select([](auto g) { return g.first(); }).to_vector();
  });
  leaves_nothing("a range", [&] { query::from(some).in(s).to_vector(); });
  leaves_nothing("repeat", [&] { query::repeat(rows.front(), 500).in(s).to_vector(); });
  leaves_nothing("generate", [&] {
    query::generate([n = 0]() mutable { return n < 500 ? std::optional(counted(n++)) : std::nullopt; }).in(s).to_vector();
  });
}

// The function may throw as well as the copy.
TEST(throwing_rows, leave_nothing_behind_where_a_function_of_groups_or_a_generator_throws) {
  const query::Session s({.threads = 1});
  std::vector<counted> rows;
  for (int i = 0; i < 500; ++i) rows.emplace_back(i);
  const auto before = counted::alive;
  counted::last = 0;
  const auto kept = [](const query::Group<int, counted>& g) {
    if (g.key() == 40) throw std::domain_error("a group");
    return *g.begin();
  };
  EXPECT_THROW(query::from(rows).in(s).group_by([](const counted& c) { return c.id; }).select(kept).to_vector(), std::domain_error);
  EXPECT_TRUE(counted::alive == before);
  EXPECT_THROW(query::generate([n = 0]() mutable {
                 if (n == 40) throw std::domain_error("a generator");
                 return std::optional(counted(n++));
               }).in(s).to_vector(),
               std::domain_error);
  EXPECT_TRUE(counted::alive == before);
  EXPECT_EQ(counted::wrong, 0);
}

}  // namespace
}  // namespace conformance
