// Rows of a query against rows of a fixture: field by field, floating point with a tolerance.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <query/query.hpp>
#include "source_folder.hpp"

namespace examples {

// The examples' data are unpacked by the target query_example_data; without them these tests are skipped.
#ifdef QUERY_EXAMPLE_DATA_DIR
#define EXAMPLES_NEED_DATA()
#else
#define QUERY_EXAMPLE_DATA_DIR ""
#define EXAMPLES_NEED_DATA() GTEST_SKIP() << "the example data are not unpacked in this configuration"
#endif

// From the source tree, or where QUERY_TEST_FIXTURES says, for a program that was carried elsewhere.
template <class T> std::vector<T> fixture(const std::string& name) {
  const char* carried = std::getenv("QUERY_TEST_FIXTURES");
  const std::string folder = carried ? carried : std::string(QUERY_TEST_SOURCE_DIR) + "/examples/fixtures";
  return query::read_csv<T>(folder + "/" + name + ".csv").to_vector();
}

template <class V> void expect_value(const V& got, const V& expected, double relative, const std::string& where) {
  if constexpr (query::ir::is_optional_v<V>) {
    ASSERT_EQ(got.has_value(), expected.has_value()) << where;
    if (got) expect_value(*got, *expected, relative, where);
  } else if constexpr (std::is_floating_point_v<V>) {
    EXPECT_NEAR(got, expected, relative * std::abs(expected)) << where;
  } else {
    EXPECT_EQ(got, expected) << where;
  }
}

template <class T> void expect_rows(const std::vector<T>& got, const std::vector<T>& expected, double relative = 1e-9) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto x = query::meta<T>::fields(got[i]);
    const auto y = query::meta<T>::fields(expected[i]);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (expect_value(std::get<I>(x), std::get<I>(y), relative, "row " + std::to_string(i) + ", " + std::string(query::meta<T>::names[I])),
       ...);
    }(query::field_indices<T>{});
  }
}

}  // namespace examples
