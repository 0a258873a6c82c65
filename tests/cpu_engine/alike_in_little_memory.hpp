// The same query in enough memory and in little: the rows, their order and the last bits of their numbers are the same.
//
//   expect_alike("sums", 8u << 20, [](const Session& s) { return from(rows).in(s); }, [](auto q) { return q.group_by(...); });
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include <query/query.hpp>

#include "sanitized.hpp"
#include "temp_folder.hpp"

namespace query::tests {

// written: one thread takes files for it; for several it depends on their pace.
template <class Source, class Make>
void expect_alike(const std::string& what, std::size_t memory, Source source, Make make, bool written = true) {
  const temp_folder at("alike_in_little_memory");
  for (const bool interpret : {false, true}) {
    if (interpret && sanitized) continue;
    SCOPED_TRACE(what + (interpret ? ", interpreted" : ""));
    const auto wanted = make(source(Session({.threads = 2, .interpret = interpret}))).to_vector();
    for (const int threads : {1, 3}) {
      if ((interpret || sanitized) && threads != 3) continue;
      SCOPED_TRACE(std::to_string(threads) + " threads");
      Session little({.threads = threads, .memory_limit = memory, .temp_folder = at.name(), .interpret = interpret});
      const auto q = make(source(little));
      std::size_t n = 0, differing = 0;
      q.for_each([&](const auto& row) { differing += n >= wanted.size() || !(row == wanted[n]), ++n; });
      EXPECT_EQ(n, wanted.size());
      EXPECT_EQ(differing, 0u);
      EXPECT_LE(little.memory_peak(), memory);
      EXPECT_EQ(little.memory_used(), 0u);
      EXPECT_TRUE(!written || threads > 1 || sanitized || q.explain().find(" temporary file") != std::string::npos) << q.explain();
      EXPECT_TRUE(at.empty());
    }
  }
}

}  // namespace query::tests
