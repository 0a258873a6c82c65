// Function objects as bytes, and made of these again.
#include "cluster/closure_image.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include <query/query.hpp>

namespace closure_image_test {
namespace {

using namespace query::cluster;

// As the plan holds it, sent and made again in this process.
template <class F> std::shared_ptr<const F> sent(const F& f) {
  const query::detail::user_function held = query::detail::hold("test", f);
  const program here;
  const closure_image image = image_of(held.f.get(), *held.form, held.captures, here, mapped_memory());
  return std::static_pointer_cast<const F>(std::static_pointer_cast<const void>(object_of(image, *held.form, held.captures, here)));
}

int tripled(int x) { return 3 * x; }

TEST(closure_image, keeps_numbers_and_what_lies_between_them) {
  const auto f = sent([a = 1, b = 2.5, c = 'x', d = true](int x) { return a * x + b + c + d; });
  EXPECT_EQ((*f)(10), 10 + 2.5 + 'x' + 1);
  const auto empty = sent([](int x) { return x + 1; });
  EXPECT_EQ((*empty)(1), 2);
}

// clang++ 14 cannot clear what lies between captures.
#ifndef __clang__
TEST(closure_image, binds_collections_again) {
  const auto rates = query::broadcast(std::vector<double>{1, 2, 4});
  const auto inner = [](double x) { return 2 * x; };
  for (int i = 0; i < 50; ++i) {  // whatever was in that memory before
    const auto f = sent([rates, inner, i](double x) { return rates.sum([&](double r) { return r * x; }) + inner(x) + i; });
    EXPECT_EQ((*f)(10), 70 + 20 + i);
  }
}
#endif

TEST(closure_image, keeps_addresses_of_code_and_constants) {
  const auto f = sent([g = &tripled, text = "constant"](int x) { return std::string(text) + std::to_string(g(x)); });
  EXPECT_EQ((*f)(2), "constant6");
}

TEST(closure_image, refuses_what_means_nothing_elsewhere) {
  int n = 3;
  static int counter = 0;
  const std::vector<int> list{1, 2, 3};
  const std::string text = "a text that is too long to lie within the string itself";
  EXPECT_THROW(sent([&](int x) { return x + n; }), cannot_travel);
  EXPECT_THROW(sent([p = &n](int x) { return x + *p; }), cannot_travel);
  EXPECT_THROW(sent([p = &counter](int x) { return x + *p; }), cannot_travel);
  EXPECT_THROW(sent([list](int x) { return x + list[0]; }), cannot_travel);
  EXPECT_THROW(sent([text](int x) { return x + static_cast<int>(text.size()); }), cannot_travel);
  EXPECT_THROW(sent([s = std::string("short")](int x) { return x + static_cast<int>(s.size()); }), cannot_travel);
}

TEST(closure_image, finds_damage) {
  const auto rates = query::broadcast(std::vector<double>{1});
  const auto f = [rates](double x) { return rates.sum([&](double r) { return r * x; }); };
  const query::detail::user_function held = query::detail::hold("test", f);
  const program here;
  const closure_image image = image_of(held.f.get(), *held.form, held.captures, here, mapped_memory());
  ASSERT_EQ(image.captures.size(), 1u);
  closure_image outside = image;
  outside.captures[0].offset = 1 << 20;
  EXPECT_THROW(object_of(outside, *held.form, held.captures, here), query::cluster_error);
  closure_image unknown = image;
  unknown.captures[0].capture = 5;
  EXPECT_THROW(object_of(unknown, *held.form, held.captures, here), query::cluster_error);
}

}  // namespace
}  // namespace closure_image_test
