// What a vertex received, as text: "begin_stream 1", "rows 1 2 3"...
#pragma once

#include <string>
#include <vector>

#include <query/dataflow.hpp>

namespace query::dataflow {

template <class T> std::string text_of(const received<T>& got) {
  if (got.has_rows()) {
    std::string rows = "rows";
    for (const T& r : got.rows) rows += " " + std::to_string(r);
    return rows;
  }
  constexpr const char* names[] = {"begin_stream", "end_stream", "begin_iteration", "end_iteration"};
  return names[static_cast<std::size_t>(got.what())] + (" " + std::to_string(got.depth()));
}

// A vertex that writes all it receives to a list.
template <class T> auto listed(std::vector<std::string>& list) {
  return [&list](input<T>& in) {
    while (const auto got = in.receive()) list.push_back(text_of(got));
  };
}

using texts = std::vector<std::string>;

}  // namespace query::dataflow
