// Lists whose copies share their elements.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <query/detail/grown_list.hpp>

namespace {

using list = query::detail::grown_list<std::string>;
using strings = std::vector<std::string>;

strings all_of(const list& l) { return {l.begin(), l.end()}; }

TEST(grown_list, copies_keep_what_they_had) {
  const list none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.begin(), none.end());
  list a = none;
  a.push_back("a");
  list b = a;
  b.push_back("b");
  list c = b;
  c.push_back("c");
  EXPECT_EQ(all_of(a), (strings{"a"}));
  EXPECT_EQ(all_of(b), (strings{"a", "b"}));
  EXPECT_EQ(all_of(c), (strings{"a", "b", "c"}));
  EXPECT_EQ(c.front() + c[1] + c.back(), "abc");
  EXPECT_EQ(c.at(2), "c");
  EXPECT_THROW(b.at(2), std::out_of_range);
}

TEST(grown_list, copies_grow_apart) {
  list a{"x", "y"};
  list b = a, c = a;
  b.push_back("b");
  c.push_back("c");
  a.push_back("a");
  EXPECT_EQ(all_of(a), (strings{"x", "y", "a"}));
  EXPECT_EQ(all_of(b), (strings{"x", "y", "b"}));
  EXPECT_EQ(all_of(c), (strings{"x", "y", "c"}));
  c.replace(1, "w");
  EXPECT_EQ(all_of(c), (strings{"x", "w", "c"}));
  EXPECT_EQ(all_of(a), (strings{"x", "y", "a"}));
  c.clear();
  EXPECT_TRUE(c.empty());
  c.push_back("z");
  EXPECT_EQ(all_of(c), (strings{"z"}));
  EXPECT_EQ(all_of(b), (strings{"x", "y", "b"}));
}

// Each copy has one element more than the one before, and lives: few elements are copied.
TEST(grown_list, a_chain_of_copies_copies_few_elements) {
  struct counted {
    explicit counted(int* n) : copies(n) {}
    counted(const counted& o) : copies(o.copies) { ++*copies; }
    counted(counted&&) noexcept = default;
    int* copies;
  };
  int copies = 0;
  std::vector<query::detail::grown_list<counted>> chain(1);
  for (int i = 0; i < 1000; ++i) {
    auto next = chain.back();
    next.push_back(counted(&copies));
    chain.push_back(std::move(next));
  }
  EXPECT_EQ(chain.back().size(), 1000u);
  EXPECT_LT(copies, 1000 * 24);  // half of 16, and each element again whenever its piece is carried
}

// A list that was copied and grew keeps nothing alive in the one that it came from, nor the other way round.
TEST(grown_list, elements_end_with_the_lists_that_have_them) {
  for (const int n : {0, 1, 15, 16, 17, 40, 100}) {
    const auto first = std::make_shared<int>(1), second = std::make_shared<int>(2);
    query::detail::grown_list<std::shared_ptr<int>> a;
    for (int i = 0; i < n; ++i) a.push_back(first);
    auto b = a;
    for (int i = 0; i < n; ++i) b.push_back(second);
    EXPECT_EQ(b.size(), 2u * static_cast<unsigned>(n));
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
    int at = 0;
    for (const auto& x : b) EXPECT_EQ(x, at++ < n ? first : second);
    auto last = b;
    b = {};
    int own = 0, shared = 0;
    last.take_apart([&](std::shared_ptr<int>&) { ++own; }, [&](const std::shared_ptr<const void>&) { ++shared; });
    EXPECT_TRUE(last.empty());
    EXPECT_EQ(own + shared > 0, n > 0);
    EXPECT_EQ(second.use_count(), 1) << n;
    a.clear();
    EXPECT_EQ(first.use_count(), 1) << n;
  }
}

TEST(grown_list, a_list_that_was_moved_from_is_empty) {
  list a{"x", "y"};
  const list b = std::move(a);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(a.begin(), a.end());
  EXPECT_EQ(all_of(b), (strings{"x", "y"}));
}

}  // namespace
