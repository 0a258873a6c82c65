#include <query/detail/growing_list.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace query::detail {
namespace {

template <class E, class Make> void expect_in_order(const std::vector<std::size_t>& lengths, const Make& make) {
  growing_list<E> all;
  std::vector<E> expected;
  for (const std::size_t n : lengths) {
    growing_list<E> more;
    for (std::size_t i = 0; i < n; ++i) {
      more.emplace_back(make(expected.size()));
      expected.push_back(make(expected.size()));
    }
    all.append(more);
    EXPECT_TRUE(more.take().empty());
  }
  growing_list<E> moved = std::move(all);
  EXPECT_EQ(moved.take(), expected);
  EXPECT_TRUE(moved.take().empty());
}

// A block of strings has 2,048.
TEST(growing_list, keeps_the_order_of_what_is_added_and_appended) {
  const std::vector<std::vector<std::size_t>> cases = {
      {}, {0}, {1}, {0, 0, 3}, {2048}, {2049}, {1, 2048}, {2048, 1}, {10'000, 1, 10'000}, {1, 1, 1, 5000, 0, 3, 2047, 9000}};
  for (const auto& lengths : cases) {
    expect_in_order<std::string>(lengths, [](std::size_t i) { return "the string of number " + std::to_string(i); });
    expect_in_order<int>(lengths, [](std::size_t i) { return static_cast<int>(i); });
    expect_in_order<bool>(lengths, [](std::size_t i) { return i % 3 == 0; });
  }
}

TEST(growing_list, moves_what_cannot_be_copied) {
  growing_list<std::unique_ptr<int>> all;
  for (int i = 0; i < 20'000; ++i) all.emplace_back(std::make_unique<int>(i));
  const std::vector<std::unique_ptr<int>> taken = all.take();
  ASSERT_EQ(taken.size(), 20'000u);
  for (int i = 0; i < 20'000; ++i) EXPECT_EQ(*taken[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace query::detail
