// What the seven programs share: arguments, where the query runs, times, and the line of JSON that they print.
//
//   paper_kmeans [SIZE] [sequential|cpu|gpu|resident] [--repeat N] [--write FOLDER] [--explain]
//
// SIZE is `test`, `small`, `large`, or a number of rows. A program makes its data from a fixed seed, runs the loop
// written by hand and then the query, compares the two answers, and prints one line.
//
// With `sequential`, only the loop runs. With `gpu`, the rows are in host memory before the clock starts, and with
// `resident`, they are in GPU memory. Without a GPU, both exit with status 77. With `cpu` and QUERY_CLUSTER=local:4 in
// the environment, the query runs in four processes.
//
// `--write` writes data and answers for bench/paper/check.py. `--explain` prints the plan, and what the last run did.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <query/query.hpp>

namespace paper {

enum class engine { sequential, cpu, gpu, resident };
inline constexpr std::string_view engine_names[] = {"sequential", "cpu", "gpu", "resident"};

struct options {
  std::string program, size = "test", folder;
  engine on = engine::cpu;
  std::int64_t rows = 0;
  int repeat = 1;
  bool explain = false;

  // Writes the bytes of the rows for bench/paper/check.py, if that was asked for.
  template <class Row> void write(const std::string& name, const std::vector<Row>& data) const {
    if (!folder.empty()) query::from(data).write_binary(folder + "/" + name + ".bin");
  }
};

// Sizes that have a name, and their numbers of rows.
using sizes = std::vector<std::pair<std::string_view, std::int64_t>>;

// The positive number that `text` is, or 0.
inline std::int64_t number(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc{} && end == text.data() + text.size() && n > 0 ? n : 0;
}

inline options read(std::string program, std::span<const char* const> arguments, const sizes& known) {
  options o;
  o.program = std::move(program);
  bool understood = true;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i], next = i + 1 < arguments.size() ? arguments[i + 1] : "";
    const auto named = std::ranges::find(engine_names, word);
    if (named != std::ranges::end(engine_names)) {
      o.on = static_cast<engine>(named - std::ranges::begin(engine_names));
    } else if (word == "--explain") {
      o.explain = true;
    } else if (word == "--repeat") {
      o.repeat = static_cast<int>(number(next));
      understood = understood && o.repeat > 0;
      ++i;
    } else if (word == "--write") {
      o.folder = next;
      understood = understood && std::filesystem::is_directory(o.folder);
      ++i;
    } else {
      o.size = word;
    }
  }
  const auto size = std::ranges::find(known, o.size, [](const auto& s) { return s.first; });
  o.rows = size != known.end() ? size->second : number(o.size);
  if (understood && o.rows > 0) return o;
  std::cerr << "Usage: paper_" << o.program
            << " [SIZE] [sequential|cpu|gpu|resident] [--repeat N] [--write FOLDER] [--explain]\n"
            << "SIZE is a number of rows, or a name:";
  for (const auto& [name, rows] : known) std::cerr << " " << name << " (" << rows << ")";
  std::cerr << "; the folder has to be there.\n";
  std::exit(2);
}

// Rows as a query that may use what the options ask for. `resident` rows are in GPU memory when this returns.
template <class Row> query::Query<Row> source(const std::vector<Row>& rows, const options& o) {
  const auto all = query::from(rows);
  if (o.on == engine::gpu) return all.as_accelerated();
  if (o.on != engine::resident) return all;
  const auto kept = all.as_accelerated().cached();
  kept.count();
  return kept;
}

// A random number generator that gives the same numbers everywhere (splitmix64).
class random {
 public:
  explicit random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // in [0, 1)
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(uniform() * static_cast<double>(n)); }
  double normal() {  // Box and Muller
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

 private:
  std::uint64_t state_;
};

inline bool near(double a, double b, double relative) {
  return std::abs(a - b) <= relative * std::max({1.0, std::abs(a), std::abs(b)});
}

template <class F> double seconds(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline bool gpu_is_there() {
  try {
    query::from(std::vector<int>{1}).require_gpu().select([](auto x) { return x + 1; }).to_vector();
    return true;
  } catch (const query::error& e) {
    std::cerr << e.what() << "\n";
    return false;
  }
}

inline void print_list(const char* name, const std::vector<double>& values) {
  std::cout << ", \"" << name << "\": [";
  for (std::size_t i = 0; i < values.size(); ++i) std::cout << (i ? ", " : "") << values[i];
  std::cout << "]";
}

// Runs `by_hand()`, which returns rows, and `query()`, which returns a query for such rows. `same(hand, asked)`
// compares the two. Returns the exit status for main.
template <class Hand, class Ask, class Same>
int run(const options& o, const Hand& by_hand, const Ask& query, const Same& same) {
  using rows = decltype(by_hand());
  if ((o.on == engine::gpu || o.on == engine::resident) && !gpu_is_there()) {
    std::cerr << o.program << ": SKIPPED, as there is no GPU\n";
    return 77;
  }
  rows hand, asked;
  std::vector<double> hand_seconds, query_seconds;
  bool on_gpu = false, agree = true;
  const auto asked_query = o.on == engine::sequential ? decltype(query()){} : query();
  for (int i = 0; i < o.repeat; ++i) {
    hand = rows();  // so that nothing of an earlier run is freed while the clock runs
    asked = rows();
    hand_seconds.push_back(seconds([&] { hand = by_hand(); }));
    if (o.on == engine::sequential) continue;
    query_seconds.push_back(seconds([&] { asked = asked_query.to_vector(); }));
    agree = agree && same(hand, asked);
  }
  if (o.on != engine::sequential) {
    on_gpu = asked_query.explain_json().find("\"engine\": \"gpu\"") != std::string::npos;
    if (o.explain) std::cerr << asked_query.explain();
    std::cerr << o.program << ": the answers of the loop and of the query " << (agree ? "agree" : "DIFFER") << "\n";
  }
  const char* const cluster = std::getenv("QUERY_CLUSTER");
  std::cout << "{\"program\": \"" << o.program << "\", \"size\": \"" << o.size << "\", \"rows\": " << o.rows
            << ", \"engine\": \"" << engine_names[static_cast<std::size_t>(o.on)] << "\", \"cluster\": \""
            << (cluster ? cluster : "") << "\"";
  print_list("loop_seconds", hand_seconds);
  print_list("query_seconds", query_seconds);
  std::cout << ", \"on_gpu\": " << (on_gpu ? "true" : "false") << ", \"agree\": " << (agree ? "true" : "false")
            << "}\n";
  o.write("answer", o.on == engine::sequential ? hand : asked);
  return agree ? 0 : 1;
}

}  // namespace paper
