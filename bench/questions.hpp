// Questions that a program answers beside other engines: each a few times, a JSON line a question.
//
//   {"engine": "query", "question": "j2", "ms": [...], "answer": [...]}
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/query.hpp>

namespace bench {

// Rows, then the sums of columns of the answer, to compare answers by.
template <std::size_t... Field, class T> std::vector<double> check(const query::column_chunks<T>& c) {
  std::vector<double> answer{static_cast<double>(c.size())};
  [[maybe_unused]] const auto sum = [&]<std::size_t F>(std::integral_constant<std::size_t, F>) {
    double total = 0;
    for (const auto& chunk : c)
      for (const auto& v : chunk.template get<F>()) {
        if constexpr (std::is_convertible_v<decltype(v), double>) total += static_cast<double>(v);
        else total += v ? static_cast<double>(*v) : 0;
      }
    answer.push_back(total);
  };
  (sum(std::integral_constant<std::size_t, Field>{}), ...);
  return answer;
}

// A question keeps its last answer, as the peers do; only the asking is timed.
struct question {
  std::string name;
  std::function<std::function<std::vector<double>()>()> ask;  // gives how its answer is checked
};
template <std::size_t... Field, class Q> question make(std::string name, Q q) {
  return {std::move(name), [q] {
            auto answer = q.to_columns();
            return std::function<std::vector<double>()>([answer] { return check<Field...>(answer); });
          }};
}

// Four rounds, of which the first warms up. only: names of questions, with commas between them; empty: all.
inline void answer(const std::vector<question>& all, std::string_view only, const char* engine = "query") {
  for (const question& q : all) {
    if (!only.empty() && ("," + std::string(only) + ",").find("," + q.name + ",") == std::string::npos) continue;
    std::function<std::vector<double>()> last;
    std::printf("{\"engine\": \"%s\", \"question\": \"%s\", \"ms\": [", engine, q.name.c_str());
    for (int round = 0; round < 4; ++round) {
      last = nullptr;
      const auto begin = std::chrono::steady_clock::now();
      last = q.ask();
      const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin;
      std::printf("%s%.2f", round ? ", " : "", passed.count());
    }
    std::printf("], \"answer\": [");
    const std::vector<double> answer = last();
    for (std::size_t i = 0; i < answer.size(); ++i) std::printf("%s%.17g", i ? ", " : "", answer[i]);
    std::printf("]}\n");
    std::fflush(stdout);
  }
}

}  // namespace bench
