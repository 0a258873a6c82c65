// Queries with all, a quarter and a sixteenth of the memory that they take where they may: how much longer they run, and which fail.
//
//   memory_limit ROWS FOLDER     writes the tables of the H2O benchmark to FOLDER, for bench/memory_limit/peer.py
//   memory_limit ROWS - [LIMIT]  asks each question; prints a JSON line for each question and share of memory. LIMIT: bytes that stand for
//                                all of the memory, instead of a question's own peak
//
// Answers are read row by row as they come, in order, and never kept; limits count what the library holds, not the tables, which are the
// user's. bench/memory_limit/run does the same with DuckDB under the same limits, compares the answers and prints the ratios.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "h2o/tables.hpp"

namespace {

using namespace h2o;

struct total { std::int32_t key; double sum; };
QUERY_RECORD(total, key, sum);
struct named_total { std::string key; double sum; std::int64_t count; };
QUERY_RECORD(named_total, key, sum, count);
struct middle { std::int32_t key; double median; };
QUERY_RECORD(middle, key, median);
struct pair { std::int32_t id; double left, right; };
QUERY_RECORD(pair, id, left, right);

// Rows, their sum, and, where the order counts, a sum that depends on it.
class checksum {
 public:
  explicit checksum(bool ordered) : ordered_(ordered) {}
  void add(double v) {
    total_ += v;
    if (ordered_) places_ += v * static_cast<double>(n_ % 1009);
    ++n_;
  }
  std::vector<double> answer() const { return {static_cast<double>(n_), total_, places_}; }

 private:
  bool ordered_;
  std::uint64_t n_ = 0;
  double total_ = 0, places_ = 0;
};

struct question {
  std::string_view name;
  std::function<std::vector<double>(query::Session&, std::string& plan)> ask;
};
template <class Q, class F> question make(std::string_view name, bool ordered, Q q, F value) {
  return {name, [=](query::Session& session, std::string& plan) {
            const auto here = q.in(session);
            checksum sum(ordered);
            here.for_each([&](const auto& row) { sum.add(value(row)); });
            plan = here.explain();
            return sum.answer();
          }};
}

std::vector<question> questions(const tables& t) {
  const auto g = query::from(query::columns(t.g));
  const auto x = query::from(query::columns(t.x));
  const auto big = query::from(query::columns(t.big));
  const auto v1 = [](auto r) { return r.v1; };
  const auto v3 = [](auto r) { return r.v3; };
  const auto id3 = [](auto r) { return r.id3; };
  const auto totals = [=](auto s) { return query::make<total>(s.key(), s.sum(v1)); };
  std::vector<question> all;
  all.push_back(make("groups of a key a row", false, x.group_by(id3).select(totals), [](const total& r) { return r.sum; }));
  all.push_back(make("groups of 100,000 strings", false, g.group_by(id3).select([=](auto s) {
    return query::make<named_total>(s.key(), s.sum(v3), s.count());
  }), [](const named_total& r) { return r.sum; }));
  all.push_back(make("medians of 100,000 groups", false, g.group_by([](auto r) { return r.id6; }).select([=](auto s) {
    return query::make<middle>(s.key(), s.median(v3));
  }), [](const middle& r) { return r.median; }));
  all.push_back(make("sort by an integer", true, x.order_by(id3), [](const X& r) { return r.v1; }));
  all.push_back(make("sort by a double", true, x.order_by(v1), [](const X& r) { return r.v1; }));
  all.push_back(make("sort by strings", true, x.order_by([](auto r) { return r.id5; }).then_by(id3), [](const X& r) { return r.v1; }));
  all.push_back(make("join with a table as large", false, x.join(big, id3, id3, [](auto l, auto r) {
    return query::make<pair>(l.id3, l.v1, r.v2);
  }), [](const pair& r) { return r.left + r.right; }));
  all.push_back(make("distinct integers", false, x.select(id3).distinct(), [](std::int32_t v) { return static_cast<double>(v); }));
  return all;
}

// "120 MiB of rows in temporary files" of a plan; 0: none.
double mebibytes_in_files(const std::string& plan) {
  const std::size_t end = plan.find(" MiB of rows in temporary files");
  if (end == std::string::npos) return 0;
  return std::strtod(plan.c_str() + plan.rfind(' ', end - 1), nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: memory_limit ROWS FOLDER | memory_limit ROWS - [LIMIT]\n", stderr);
    return 2;
  }
  const tables t(std::strtoull(argv[1], nullptr, 10));
  if (std::string_view(argv[2]) != "-") {
    t.write(argv[2]);
    return 0;
  }
  constexpr int rounds = 3;
  for (const question& q : questions(t)) {
    std::size_t wanted = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
    for (const std::size_t share : {std::size_t{1}, std::size_t{4}, std::size_t{16}}) {
      query::Session session({.memory_limit = share == 1 && !wanted ? 0 : wanted / share, .gpu = query::gpu_use::off});
      std::vector<double> answer;
      std::string plan, error;
      std::string ms;
      try {
        for (int round = 0; round < rounds; ++round) {
          const auto begin = std::chrono::steady_clock::now();
          answer = q.ask(session, plan);
          const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin;
          ms += (round ? ", " : "") + std::to_string(passed.count());
        }
      } catch (const query::resource_error&) {
        ms.clear();
        answer.clear();
        error = "resource_error";
      }
      if (share == 1 && !wanted) wanted = session.memory_peak();
      std::printf("{\"engine\": \"query\", \"question\": \"%s\", \"share\": %zu, \"limit\": %zu, \"peak\": %zu, \"in_files\": %.0f, "
                  "\"error\": \"%s\", \"ms\": [%s], \"answer\": [",
                  std::string(q.name).c_str(), share, wanted / share, session.memory_peak(), mebibytes_in_files(plan), error.c_str(),
                  ms.c_str());
      for (std::size_t i = 0; i < answer.size(); ++i) std::printf("%s%.17g", i ? ", " : "", answer[i]);
      std::printf("]}\n");
      std::fflush(stdout);
    }
  }
}
