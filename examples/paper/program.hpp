// What the seven programs share: arguments, the ways in which a query runs, and the lines of JSON that they print.
//
//   paper_kmeans [SIZE] [WAY...] [--repeat N] [--seconds S] [--write FOLDER] [--explain]
//
// SIZE is `test`, `small`, `middle`, `large`, or a number of rows; some programs have `real` rows, too (examples/data).
// A program makes its other rows from a fixed seed, runs the loop written by hand, then the query in each way, and
// compares the answers. It prints one line for each way:
//
//   sequential     only the loop
//   cpu            the CPU engine; the way if none is given
//   gpu            as the library chooses; rows and results are in host memory
//   resident       the same, but the rows are in GPU memory before the clock starts, and the results stay there
//   gpu_all        as `gpu`, but everything that can run on the GPU runs there
//   resident_all   as `resident`, likewise
//   local:N        N processes of this machine, and ray:ADDRESS those of a Ray cluster
//
// Without a GPU, its ways are skipped: the program says so and exits with status 77. In each way, the query runs at
// least once before the clock starts, to compile kernels and to start processes. Then loop and query run up to N times
// (1) each, and are not repeated once they have taken S seconds (10).
//
// `--write` writes data and answers for bench/paper/check.py. `--explain` prints the plan of each way, and what its
// last run did.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <query/query.hpp>

namespace paper {

struct options {
  std::string program, size = "test", folder;
  std::vector<std::string> ways;
  std::int64_t rows = 0;
  int repeat = 1, seconds = 10;
  bool explain = false;

  // Writes the bytes of the rows for bench/paper/check.py, if that was asked for.
  template <class Row> void write(const std::string& name, const std::vector<Row>& rows_of_it) const {
    if (!folder.empty()) query::from(rows_of_it).write_binary(folder + "/" + name + ".bin");
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

inline bool is_cluster(std::string_view way) { return way.starts_with("local:") || way.starts_with("ray:"); }

inline options read(std::string program, std::span<const char* const> arguments, const sizes& known) {
  static constexpr std::string_view names[] = {"sequential", "cpu", "gpu", "resident", "gpu_all", "resident_all"};
  options o;
  o.program = std::move(program);
  bool understood = true;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i], next = i + 1 < arguments.size() ? arguments[i + 1] : "";
    if (is_cluster(word) || std::ranges::find(names, word) != std::ranges::end(names)) {
      o.ways.emplace_back(word);
    } else if (word == "--explain") {
      o.explain = true;
    } else if (word == "--repeat" || word == "--seconds") {
      int& n = word == "--repeat" ? o.repeat : o.seconds;
      n = static_cast<int>(number(next));
      understood = understood && n > 0;
      ++i;
    } else if (word == "--write") {
      o.folder = next;
      understood = understood && std::filesystem::is_directory(o.folder);
      ++i;
    } else {
      o.size = word;
    }
  }
  if (o.ways.empty()) o.ways.emplace_back("cpu");
  const auto size = std::ranges::find(known, o.size, [](const auto& s) { return s.first; });
  o.rows = size != known.end() ? size->second : number(o.size);
  if (understood && o.rows > 0) return o;
  std::cerr << "Usage: paper_" << o.program
            << " [SIZE] [sequential|cpu|gpu|resident|gpu_all|resident_all|local:N...] [--repeat N] [--seconds S]"
               " [--write FOLDER] [--explain]\n"
            << "SIZE is a number of rows, or a name:";
  for (const auto& [name, rows] : known) std::cerr << " " << name << " (" << rows << ")";
  std::cerr << "; the folder has to be there.\n";
  std::exit(2);
}

// Where a query runs: makes the rows of vectors into queries.
class way {
 public:
  explicit way(const std::string& name)
      : on_gpu_(name.starts_with("gpu") || name.starts_with("resident")), resident_(name.starts_with("resident")) {
    query::session_options its{.memory_limit = query::Session::standard().memory_limit()};
    if (is_cluster(name)) its.cluster = name;
    if (name.ends_with("_all")) its.gpu_min_rows = 0;
    if (is_cluster(name) || name.ends_with("_all")) session_.emplace(its);
  }
  bool on_gpu() const { return on_gpu_; }
  bool resident() const { return resident_; }

  // Resident rows are in GPU memory when this returns.
  template <class Row> query::Query<Row> rows(const std::vector<Row>& all) const {
    query::Query<Row> source = query::from(all);
    if (session_) source = source.in(*session_);
    if (on_gpu_) source = source.as_accelerated();
    if (!resident_) return source;
    const query::Query<Row> kept = source.cached().on(query::engine::gpu);
    kept.take(1).to_vector();
    return kept;
  }

 private:
  bool on_gpu_, resident_;
  std::optional<query::Session> session_;  // none: the standard one
};

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

// A JSON object on one line.
class json_line {
 public:
  void add(std::string_view name, std::string_view text) { add_raw(name, quoted(text)); }
  void add(std::string_view name, bool b) { add_raw(name, b ? "true" : "false"); }
  void add(std::string_view name, std::int64_t n) { add_raw(name, std::to_string(n)); }
  void add(std::string_view name, double x) { add_raw(name, std::to_string(x)); }
  void add(std::string_view name, const std::vector<double>& all) {
    std::string list;
    for (const double x : all) list += (list.empty() ? "" : ", ") + std::to_string(x);
    add_raw(name, "[" + list + "]");
  }
  void add(std::string_view name, const std::set<std::string>& all) {
    std::string list;
    for (const std::string& x : all) list += (list.empty() ? "" : ", ") + quoted(x);
    add_raw(name, "[" + list + "]");
  }
  void print() const { std::cout << "{" << members_ << "}" << std::endl; }

 private:
  static std::string quoted(std::string_view text) {
    std::string q = "\"";
    for (const char c : text) q += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c < ' ' ? ' ' : c};
    return q + "\"";
  }
  void add_raw(std::string_view name, const std::string& value) {
    members_ += (members_.empty() ? "\"" : ", \"") + std::string(name) + "\": " + value;
  }
  std::string members_;
};

// Seconds of up to `repeat` calls of `f`, and of no more than fit into o.seconds.
template <class Before, class F> std::vector<double> repeated(const options& o, const Before& before, const F& f) {
  std::vector<double> all;
  for (double sum = 0; all.empty() || (std::ssize(all) < o.repeat && sum < o.seconds); sum += all.back()) {
    before();  // frees what an earlier run made while no clock runs
    all.push_back(seconds(f));
  }
  return all;
}

// The steps of a plan that ran on the GPU, and what it says of those that did not.
struct placement {
  std::int64_t on_gpu = 0;
  std::set<std::string> refused;
};

inline placement placement_of(const std::string& plan) {
  placement p;
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);) {
    const auto has = [&](std::string_view what) { return line.find(what) != std::string::npos; };
    const bool left = has("not on gpu: ") || has("went to the cpu");
    if (left && !has("nothing to compute")) {
      const std::size_t name = line.find_first_not_of(' '), gap = line.find("  ", name);
      const std::size_t why = std::min(line.find_first_not_of(' ', gap), line.size());
      p.refused.insert(line.substr(name, gap - name) + ": " + line.substr(why));
    } else if (has("  gpu: ") || has("split: about")) {
      ++p.on_gpu;
    }
  }
  return p;
}

// The time and the answer of one way.
template <class Rows> struct measured {
  Rows answer;
  double first = 0;  // seconds, with kernels to compile and processes to start
  std::vector<double> seconds;
  std::string plan;
};

template <class Rows, class Ask> measured<Rows> measure(const options& o, const std::string& name, const Ask& ask) {
  const way w(name);
  const auto asked = ask(w);
  using Asked = std::decay_t<decltype(asked)>;
  measured<Rows> m;
  Asked kept = asked;
  const auto run = [&] {
    if (!w.resident()) {
      m.answer = asked.to_vector();
      return;
    }
    kept = asked.cached().on(query::engine::gpu);  // anew each time, as a program keeps rows for its next query
    kept.take(1).to_vector();
  };
  const auto forget = [&] {
    m.answer = Rows();
    kept = asked;
  };
  m.first = seconds(run);
  // The library may begin on the CPU, until its kernels are worth compiling.
  double warm = w.on_gpu() ? 0 : 1;
  for (int i = 0; i < 5 && warm < 1; ++i) {
    forget();
    warm += seconds(run);
  }
  m.seconds = repeated(o, forget, run);
  m.plan = kept.explain();
  if (w.resident()) m.answer = kept.to_vector();
  return m;
}

// Runs `by_hand()`, which returns rows, and `ask(way)`, which returns a query for such rows over `way.rows(vector)`.
// `same(hand, asked)` compares the two. Returns the exit status for main.
template <class Hand, class Ask, class Same>
int run(const options& o, const Hand& by_hand, const Ask& ask, const Same& same) {
  using rows = decltype(by_hand());
  rows hand;
  const std::vector<double> loop = repeated(o, [&] { hand = rows(); }, [&] { hand = by_hand(); });
  bool failed = false, skipped = false;
  for (const std::string& name : o.ways) {
    json_line line;
    line.add("program", std::string_view(o.program));
    line.add("size", std::string_view(o.size));
    line.add("rows", o.rows);
    line.add("way", std::string_view(name));
    line.add("loop_seconds", loop);
    const bool wants_gpu = name.starts_with("gpu") || name.starts_with("resident");
    if (wants_gpu && !gpu_is_there()) {
      std::cerr << o.program << ": " << name << " SKIPPED, as there is no GPU\n";
      skipped = true;
      continue;
    }
    if (name != "sequential") {
      try {
        const measured<rows> m = measure<rows>(o, name, ask);
        const bool agree = same(hand, m.answer);
        if (o.explain) std::cerr << o.program << " " << name << "\n" << m.plan << "\n";
        std::cerr << o.program << ": the answers of the loop and of " << name << (agree ? " agree" : " DIFFER")
                  << std::endl;
        line.add("first_seconds", m.first);
        line.add("query_seconds", m.seconds);
        const placement placed = placement_of(m.plan);
        line.add("steps_on_gpu", placed.on_gpu);
        line.add("not_on_gpu", placed.refused);
        line.add("agree", agree);
        failed = failed || !agree;
        o.write("answer", m.answer);
      } catch (const query::error& e) {
        std::cerr << o.program << ": " << name << " FAILED: " << e.what() << std::endl;
        line.add("agree", false);
        failed = true;
      }
    } else {
      o.write("answer", hand);
    }
    line.print();
  }
  return failed ? 1 : skipped ? 77 : 0;
}

}  // namespace paper
