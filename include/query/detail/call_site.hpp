// Where a verb was written: what errors and plans name.
#pragma once

namespace query::detail {

// (clang 14 with libstdc++ 12 has no std::source_location.)
struct call_site {
  const char* file = "";
  int line = 0;
  static constexpr call_site here(const char* f = __builtin_FILE(), int l = __builtin_LINE()) { return {f, l}; }
};

}  // namespace query::detail
