// What the process takes while a query runs in less memory than it would like: as the kernel counts it, not as the library does. The limit
// is large beside what the system's allocator and the program's code take by themselves.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <fstream>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "sanitized.hpp"

namespace query::tests {
namespace {

struct Reading {
  std::int64_t sensor;
  double value, weight;
};
QUERY_RECORD(Reading, sensor, value, weight);

struct Letter {
  std::int32_t number;
  std::string text;
};
QUERY_RECORD(Letter, number, text);

std::size_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(field + ":", 0) == 0) return std::stoull(line.substr(field.size() + 1)) * 1024;
  return 0;
}
// From now on the kernel's peak is of what is resident later.
bool forget_peak() {
  std::ofstream refs("/proc/self/clear_refs");
  refs << "5" << std::flush;
  return refs.good() && status_bytes("VmHWM") != 0;
}

struct reading_columns {
  std::vector<std::int64_t> sensor;
  std::vector<double> value, weight;
};
const reading_columns& readings() {
  static const reading_columns all = [] {
    reading_columns c;
    for (std::uint64_t i = 0, x = 1; i < 12'000'000; ++i) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      c.sensor.push_back(static_cast<std::int64_t>((x >> 33) % 1'000'000) * 1'000'003);
      c.value.push_back(static_cast<double>(x >> 40));
      c.weight.push_back(1.0);
    }
    return c;
  }();
  return all;
}

// How many bytes above those of before the query were resident at its peak.
template <class F> std::size_t peak_above(const F& run) {
  ::malloc_trim(0);
  const std::size_t before = status_bytes("VmRSS");
  EXPECT_TRUE(forget_peak());
  run();
  const std::size_t peak = status_bytes("VmHWM");
  return peak > before ? peak - before : 0;
}

TEST(resident_memory, keeps_to_the_limit_where_rows_go_to_files) {
#ifdef QUERY_TEST_SANITIZED
  GTEST_SKIP() << "the sanitizer keeps memory of its own";
#endif
  if (!forget_peak()) GTEST_SKIP() << "the kernel does not reset the peak of resident memory here";
  constexpr std::size_t limit = 128u << 20;
  const auto& c = readings();
  const auto totals = [&](Session& session) {
    return from(columns<Reading>(c.sensor, c.value, c.weight)).in(session).group_by([](auto r) { return r.sensor; }).select([](auto g) {
      return std::pair(g.key(), g.sum([](auto r) { return r.value * r.weight; }));
    });
  };
  double total = 0;
  const auto add = [&](const std::pair<std::int64_t, double>& p) { total += p.second; };
  Session small({.threads = 2, .memory_limit = limit, .gpu = gpu_use::off});
  const auto q = totals(small);
  const std::size_t above = peak_above([&] { q.for_each(add); });
  Session large({.threads = 2, .gpu = gpu_use::off});
  const double got = std::exchange(total, 0);
  totals(large).for_each(add);
  EXPECT_EQ(got, total);
  EXPECT_NE(q.explain().find("in temporary files"), std::string::npos) << q.explain();
  EXPECT_LE(above, limit + limit * 15 / 100);
}

// ---------------------------------------------------------------- what repeats
// A million texts of 1,000 bytes, of which 100 differ: rows and keys go as they come.
TEST(resident_memory, sets_of_few_long_texts_take_no_memory_for_the_others) {
#ifdef QUERY_TEST_SANITIZED
  GTEST_SKIP() << "the sanitizer keeps memory of its own";
#endif
  if (!forget_peak()) GTEST_SKIP() << "the kernel does not reset the peak of resident memory here";
  std::vector<std::int32_t> numbers(1'000'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i % 100);
  Session session({.threads = 2, .gpu = gpu_use::off});
  const auto text = opaque([](const std::int32_t& number) { return std::string(1000, static_cast<char>(number)); });
  const auto q = from(numbers).in(session);
  const auto texts = q.select(text);
  constexpr std::size_t few = 100u << 20;
  const auto expect = [&](const char* verb, std::size_t rows, const auto& run) {
    SCOPED_TRACE(verb);
    std::size_t n = 0;
    EXPECT_LE(peak_above([&] { n = run(); }), few);
    EXPECT_EQ(n, rows);
  };
  expect("distinct", 100, [&] { return texts.distinct().to_vector().size(); });
  expect("distinct_by", 100, [&] { return q.distinct_by(text).to_vector().size(); });
  expect("union_with", 100, [&] { return texts.union_with(texts).to_vector().size(); });
  expect("intersect", 100, [&] { return texts.intersect(texts).to_vector().size(); });
  expect("except", 50, [&] { return texts.except(q.where([](auto x) { return x < 50; }).select(text)).to_vector().size(); });
  expect("to_set", 100, [&] { return texts.to_set().size(); });
}

// ---------------------------------------------------------------- what rows own
constexpr std::size_t letter_bytes = 1000;

std::string text_of(std::int32_t number) {
  std::string text = std::to_string(number % 100'000);
  text.resize(letter_bytes, '.');
  return text;
}
struct letter_columns {
  std::vector<std::int32_t> number;
  std::vector<std::string> text;
};
const letter_columns& letters() {
  static const letter_columns all = [] {
    letter_columns c;
    for (std::uint64_t i = 0, x = 1; i < 120'000; ++i) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      c.number.push_back(static_cast<std::int32_t>((x >> 33) % 1'000'000));
      c.text.push_back(text_of(c.number.back()));
    }
    return c;
  }();
  return all;
}
auto stored_letters() { return from(columns<Letter>(letters().number, letters().text)); }
auto made_letters() {
  return from(letters().number).select(opaque([](const std::int32_t& number) { return Letter{number, text_of(number)}; }));
}

// Of rows in the order in which they come.
std::uint64_t digest_of(const Letter& l) {
  std::uint64_t digest = static_cast<std::uint64_t>(l.number);
  for (std::size_t i = 0; i < 8; ++i) digest = digest * 31 + static_cast<unsigned char>(l.text[i]);
  return digest * 31 + l.text.size();
}
std::uint64_t digest_of(const std::pair<std::int32_t, std::vector<std::string>>& of) {
  std::uint64_t digest = 0;
  for (const std::string& text : of.second) digest = digest * 31 + digest_of({of.first, text});
  return digest;
}
template <class Rows> std::uint64_t digest(const Rows& rows) {
  std::uint64_t digest = 0;
  for (const auto& row : rows) digest = digest * 1099511628211u + digest_of(row);
  return digest;
}

struct verb_of_letters {
  const char* name;
  std::uint64_t (*run)(const Session&);
};
void PrintTo(const verb_of_letters& v, std::ostream* out) { *out << v.name; }

constexpr auto number = [](auto l) { return l.number; };
constexpr auto text = [](auto l) { return l.text; };
constexpr auto right_letter = [](auto, auto l) { return l; };
constexpr auto same = [](auto n) { return n; };
constexpr auto many = [](auto l) { return l.number % 60'000; };
const auto digest_of_list = opaque([](const std::int32_t& n, const std::vector<Letter>& own) {
  std::uint64_t digest = static_cast<std::uint64_t>(n);
  for (const Letter& l : own) digest = digest * 31 + digest_of(l);
  return Letter{static_cast<std::int32_t>(digest % 1'000'000'007), "a list with letters"};
});
constexpr auto group_of_text = [](auto g) { return make<Letter>(g.count(), g.key()); };

constexpr verb_of_letters verbs_of_letters[] = {
    {"order_by_of_columns", [](const Session& s) { return digest(stored_letters().in(s).order_by(text)); }},
    {"distinct_of_columns", [](const Session& s) { return digest(stored_letters().in(s).distinct()); }},
    {"build_side_of_columns",
     [](const Session& s) { return digest(from(letters().number).in(s).join(stored_letters(), same, number, right_letter)); }},
    {"group_by_of_columns", [](const Session& s) { return digest(stored_letters().in(s).group_by(text).select(group_of_text)); }},
    {"union_of_columns", [](const Session& s) { return digest(stored_letters().in(s).union_with(stored_letters())); }},
    {"cached_columns", [](const Session& s) { return digest(stored_letters().in(s).cached()); }},
    {"order_by_of_made", [](const Session& s) { return digest(made_letters().in(s).order_by(text).then_by(number)); }},
    {"distinct_of_made", [](const Session& s) { return digest(made_letters().in(s).distinct()); }},
    {"build_side_of_made",
     [](const Session& s) { return digest(from(letters().number).in(s).join(made_letters(), same, number, right_letter)); }},
    {"except_of_made", [](const Session& s) { return digest(made_letters().in(s).except(made_letters().take(1000))); }},
    {"union_of_made", [](const Session& s) { return digest(made_letters().in(s).union_with(made_letters())); }},
    {"cached_made", [](const Session& s) { return digest(made_letters().in(s).cached()); }},
    {"group_by_of_made", [](const Session& s) { return digest(made_letters().in(s).group_by(text).select(group_of_text)); }},
    {"max_of_made",
     [](const Session& s) {
       return digest(made_letters().in(s).group_by(many).select([](auto g) { return make<Letter>(g.key(), g.max(text)); }));
     }},
    {"collect_of_made",
     [](const Session& s) {
       return digest(made_letters().in(s).group_by(many).select([](auto g) { return std::pair(g.key(), g.collect(text)); }));
     }},
    {"count_distinct_of_made",
     [](const Session& s) {
       return static_cast<std::uint64_t>(made_letters().in(s).aggregate([](auto g) { return g.count_distinct(text); }).to_vector().at(0));
     }},
    {"group_join_of_made",
     [](const Session& s) { return digest(from(letters().number).in(s).group_join(made_letters(), same, number, digest_of_list)); }},
    {"window_of_columns", [](const Session& s) {
       return static_cast<std::uint64_t>(stored_letters().in(s).window(4, [](const auto& w) { return std::size(w); }).sum());
     }},
};

class resident_strings : public testing::TestWithParam<verb_of_letters> {};

TEST_P(resident_strings, count_towards_the_limit) {
#ifdef QUERY_TEST_SANITIZED
  GTEST_SKIP() << "the sanitizer keeps memory of its own";
#endif
  if (!forget_peak()) GTEST_SKIP() << "the kernel does not reset the peak of resident memory here";
  constexpr std::size_t limit = 64u << 20, code_and_holes_of_the_heap = 32u << 20;
  letters();
  std::uint64_t got = 0;
  const std::size_t above = peak_above([&] {
    const Session small({.threads = 2, .memory_limit = limit, .gpu = gpu_use::off});
    got = GetParam().run(small);
    EXPECT_EQ(small.memory_used(), 0u);
    EXPECT_LE(small.memory_peak(), limit);
  });
  EXPECT_LE(above, limit + limit * 15 / 100 + code_and_holes_of_the_heap);
  EXPECT_EQ(got, GetParam().run(Session({.threads = 2, .gpu = gpu_use::off})));
}
INSTANTIATE_TEST_SUITE_P(verbs, resident_strings, testing::ValuesIn(verbs_of_letters), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace query::tests
