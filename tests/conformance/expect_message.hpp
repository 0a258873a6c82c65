// EXPECT_MESSAGE("take: a number of rows", q.take(-1)): the call throws a user_error that begins with the text and ends with the
// file and line of the macro.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <query/errors.hpp>

namespace conformance {

template <class F> void expect_message(const std::string& text, std::string_view file, int line, F f) {
  SCOPED_TRACE(text);
  const std::string place = " (" + std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(line) + ")";
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const query::user_error& e) {
    const std::string what = e.what();
    EXPECT_TRUE(what.starts_with(text)) << what;
    EXPECT_TRUE(what.ends_with(place)) << what;
  }
}

}  // namespace conformance

#define EXPECT_MESSAGE(text, ...) conformance::expect_message(text, __FILE__, __LINE__, [&] { (void)(__VA_ARGS__); })
