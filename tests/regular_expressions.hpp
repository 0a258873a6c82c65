// Has this build of the library regular expressions? Without RE2, functions of them say so.
#pragma once

#include <query/query.hpp>

namespace query::tests {

inline bool has_regular_expressions() {
  try {
    return query::matches("", "");
  } catch (const query::user_error&) {
    return false;
  }
}

}  // namespace query::tests

#define QUERY_SKIP_WITHOUT_REGULAR_EXPRESSIONS() \
  if (!query::tests::has_regular_expressions()) GTEST_SKIP() << "this build of the library has no regular expressions"
