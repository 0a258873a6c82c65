// Texts that are kept in files beside the tests: plans, generated kernels.
//
//   expect_golden_text("planner/golden/top_k.txt", plan);  // QUERY_UPDATE_GOLDEN=1 writes the file anew
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include "source_folder.hpp"

// Fails with the first line that differs. `file` is named from tests/ on.
inline void expect_golden_text(const std::string& file, const std::string& text) {
  const std::string path = std::string(QUERY_TEST_SOURCE_DIR) + "/" + file;
  if (std::getenv("QUERY_UPDATE_GOLDEN")) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream golden(path);
  std::istringstream here(text);
  for (int line = 1;; ++line) {
    std::string kept, made;
    const bool more_kept = static_cast<bool>(std::getline(golden, kept)), more_made = static_cast<bool>(std::getline(here, made));
    if (!more_kept && !more_made) {
      golden.clear();
      golden.seekg(0, std::ios::end);
      EXPECT_EQ(static_cast<std::size_t>(golden.tellg()), text.size()) << "line ends of tests/" << file;
      return;
    }
    if (more_kept && more_made && kept == made) continue;
    ADD_FAILURE() << "line " << line << " differs from tests/" << file << "\n  golden: " << (more_kept ? kept : "(the end)")
                  << "\n  made:   " << (more_made ? made : "(the end)")
                  << "\nQUERY_UPDATE_GOLDEN=1 in this test's environment writes the files anew; `git diff` then shows what changed";
    return;
  }
}
