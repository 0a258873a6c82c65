// Rows compared by their description, so that a comparison costs no templates: EXPECT_ROWS (order matters),
// EXPECT_SAME_ROWS (as multisets). NaNs are equal; zeros of different sign differ, except as multisets (either may be the
// first of equal keys).
//
//   EXPECT_ROWS(query.to_vector(), expected);
//   EXPECT_ROWS_NEAR(query.to_vector(), expected, 1e-9);   // relative error of floats
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <query/detail/type.hpp>

namespace conformance {

// A value in full, equal for equal values.
std::string text_of(const void* value, const query::ir::type* t);
template <class T> std::string text(const T& v) {
  static_assert(query::ir::described_v<T>);
  return text_of(&v, query::ir::describe<T>());
}

struct some_rows {
  const void* data;
  std::size_t n;
  const query::ir::type* type;
};
// A std::vector<bool> has no data().
template <class T> struct listed {
  explicit listed(const std::vector<T>& v) : rows{v.data(), v.size(), query::ir::describe<T>()} {}
  some_rows rows;
};
template <> struct listed<bool> {
  explicit listed(const std::vector<bool>& v) : copy(v.begin(), v.end()), rows{copy.data(), copy.size(), query::ir::describe<char>()} {}
  std::vector<char> copy;
  some_rows rows;
};

testing::AssertionResult same_in_order(some_rows got, some_rows wanted, double tolerance);
testing::AssertionResult same_multiset(some_rows got, some_rows wanted);

template <class T> testing::AssertionResult rows_equal(const std::vector<T>& got, const std::vector<T>& wanted, double tolerance = 0) {
  return same_in_order(listed<T>(got).rows, listed<T>(wanted).rows, tolerance);
}
template <class T> testing::AssertionResult multisets_equal(const std::vector<T>& got, const std::vector<T>& wanted) {
  return same_multiset(listed<T>(got).rows, listed<T>(wanted).rows);
}

}  // namespace conformance

#define EXPECT_ROWS(...) EXPECT_TRUE(conformance::rows_equal(__VA_ARGS__))
#define EXPECT_SAME_ROWS(...) EXPECT_TRUE(conformance::multisets_equal(__VA_ARGS__))
#define EXPECT_ROWS_NEAR(...) EXPECT_TRUE(conformance::rows_equal(__VA_ARGS__))
