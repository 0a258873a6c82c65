// Skipped row groups never change an answer: each filter over a file gives what it gives over the same rows in memory, whatever the row
// groups are, and whoever wrote the file.
#include <array>
#include <chrono>
#include <filesystem>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "columnar_fixture.hpp"

namespace arrow_files_test {

namespace chr = std::chrono;
using micros = chr::sys_time<chr::microseconds>;

enum class level : std::uint8_t { low = 1, high = 250 };
struct inner {
  std::optional<std::int32_t> n;
  std::string word;
  bool operator==(const inner&) const = default;
};
QUERY_RECORD(inner, n, word);
struct mixed {
  std::int64_t id = 0;
  bool flag = false;
  std::int8_t i8 = 0;
  std::uint8_t u8 = 0;
  std::uint16_t u16 = 0;
  std::int32_t i32 = 0;
  std::uint32_t u32 = 0;
  std::int64_t i64 = 0;
  std::uint64_t u64 = 0;
  float f32 = 0;
  double f64 = 0;
  level grade = level::low;
  std::string text;
  std::optional<std::int32_t> maybe_i32;
  std::optional<std::uint64_t> maybe_u64;
  std::optional<double> maybe_f64;
  std::optional<bool> maybe_flag;
  std::optional<std::string> maybe_text;
  micros moment;
  std::optional<micros> maybe_moment;
  chr::sys_days day;
  chr::year_month_day date{chr::year(1970) / 1 / 1};
  chr::milliseconds pause{};
  inner in;
};
QUERY_RECORD(mixed, id, flag, i8, u8, u16, i32, u32, i64, u64, f32, f64, grade, text, maybe_i32, maybe_u64, maybe_f64, maybe_flag,
             maybe_text, moment, maybe_moment, day, date, pause, in);

const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();

// Near the limits of their types, where comparisons by the wrong sign or width go wrong. Rows near each other are similar, so that there
// are groups of one value, of nulls alone, of NaNs alone.
std::vector<mixed> mixed_rows(int n) {
  std::mt19937 random(11);
  const auto one_of = [&]<class T, std::size_t N>(const std::array<T, N>& values, int i) {
    return values[(static_cast<std::size_t>(i / 8) * 7 + (random() % 4 ? 0 : random())) % N];
  };
  using wide = std::numeric_limits<std::int64_t>;
  const std::array<std::int64_t, 7> numbers{wide::min(), -5, -1, 0, 1, 1'000, wide::max()};
  const std::array<double, 8> fractions{nan, -0.0, 0.0, 1.5, -infinite, infinite, nan, -1e300};
  const std::array<std::string, 8> texts{"",   "a", std::string("a\0b", 3), "b", "\xc3\xa9t\xc3\xa9",
                                         "zz", std::string(300, 'q'), "\xf0\x9f\x98\x80"};
  std::vector<mixed> all;
  for (int i = 0; i < n; ++i) {
    const auto number = [&] { return one_of(numbers, i); };
    mixed m;
    m.id = i;
    m.flag = one_of(std::array{true, false, true}, i);
    m.i8 = static_cast<std::int8_t>(number());
    m.u8 = static_cast<std::uint8_t>(number());
    m.u16 = static_cast<std::uint16_t>(number());
    m.i32 = static_cast<std::int32_t>(number() >> 32);
    m.u32 = static_cast<std::uint32_t>(number());
    m.i64 = number();
    m.u64 = static_cast<std::uint64_t>(number());
    m.f32 = static_cast<float>(one_of(fractions, i));
    m.f64 = one_of(fractions, i);
    m.grade = one_of(std::array{level::low, level::high}, i);
    m.text = one_of(texts, i);
    const bool null = one_of(std::array{true, false, false}, i);
    if (!null) {
      m.maybe_i32 = static_cast<std::int32_t>(number());
      m.maybe_u64 = static_cast<std::uint64_t>(number());
      m.maybe_f64 = one_of(fractions, i);
      m.maybe_flag = one_of(std::array{true, false}, i);
      m.maybe_text = one_of(texts, i);
      m.maybe_moment = micros(chr::microseconds(number() / 4));
      m.in.n = static_cast<std::int32_t>(number());
    }
    m.moment = micros(chr::microseconds(number() / 4));
    m.day = chr::sys_days(chr::days(number() % 10'000));
    m.date = chr::year_month_day(chr::sys_days(chr::days(number() % 10'000)));
    m.pause = chr::milliseconds(number() / 4);
    m.in.word = one_of(texts, i);
    all.push_back(m);
  }
  return all;
}

class pruned_answers : public columnar_test {
 protected:
  template <class Row, class F> void expect_same(const char* name, F passes) {
    const auto ids = [&](const auto& q) { return q.where(passes).select([](auto m) { return m.id; }).to_vector(); };
    const std::vector<std::int64_t> wanted = ids(query::from(in_memory_));
    const cost c = cost_of([&] { EXPECT_EQ(ids(query::read_parquet<Row>(file_)), wanted) << name << " of " << file_; });
    if (c.skipped) ++filters_that_skip_;
    // As those of a filter that is true where this one is not.
    const auto others = [&](const auto& q) {
      return q.where([passes](auto m) { return !passes(m); }).select([](auto m) { return m.id; }).to_vector();
    };
    EXPECT_EQ(others(query::read_parquet<Row>(file_)), others(query::from(in_memory_))) << "not " << name << " of " << file_;
  }
  void expect_all_same(const std::string& file, int least_that_skip);

  std::vector<mixed> in_memory_ = mixed_rows(500);
  std::string file_;
  int filters_that_skip_ = 0;
};

#define QUERY_SAME(...) expect_same<mixed>(#__VA_ARGS__, [=](auto m) { return __VA_ARGS__; })

void pruned_answers::expect_all_same(const std::string& file, int least_that_skip) {
  file_ = file;
  filters_that_skip_ = 0;
  const std::int32_t five = 5;
  const std::uint64_t great = std::numeric_limits<std::uint64_t>::max();
  const std::optional<std::int32_t> none, some = 1;
  const micros now{chr::microseconds(10)};
  const double not_a_number = nan;
  QUERY_SAME(m.flag);
  QUERY_SAME(m.flag == false);
  QUERY_SAME(m.i8 < 0);
  QUERY_SAME(m.i8 >= -1 && m.i8 < 1);
  QUERY_SAME(m.u8 > 200);
  QUERY_SAME(m.u8 < 2);
  QUERY_SAME(m.u16 > 40'000);
  QUERY_SAME(m.i32 == 0);
  QUERY_SAME(m.i32 != 0);
  QUERY_SAME(m.i32 * 1.0 > 0.5);
  QUERY_SAME(static_cast<double>(m.i32) < 0.5);
  QUERY_SAME(m.u32 > 4'000'000'000u);
  QUERY_SAME(m.u32 == 0u);
  QUERY_SAME(m.i64 == std::numeric_limits<std::int64_t>::min());
  QUERY_SAME(m.i64 > 999);
  QUERY_SAME(static_cast<double>(m.i64) >= 9.2e18);
  QUERY_SAME(m.u64 == great);
  QUERY_SAME(m.u64 > (great >> 1));
  QUERY_SAME(m.u64 < 2u);
  QUERY_SAME(static_cast<std::int64_t>(m.u64) < 0);
  QUERY_SAME(m.f32 > 0.0f);
  QUERY_SAME(m.f32 == 0.0f);
  QUERY_SAME(m.f64 < 0.0);
  QUERY_SAME(m.f64 <= -0.0);
  QUERY_SAME(m.f64 == 0.0);
  QUERY_SAME(m.f64 == -0.0);
  QUERY_SAME(m.f64 != 0.0);
  QUERY_SAME(m.f64 > 1e10);
  QUERY_SAME(m.f64 == infinite);
  QUERY_SAME(m.f64 < not_a_number);
  QUERY_SAME(m.f64 != not_a_number);
  QUERY_SAME(!(m.f64 > 1.0));
  QUERY_SAME(m.f64 != m.f64);
  QUERY_SAME(m.grade == level::high);
  QUERY_SAME(m.text == "");
  QUERY_SAME(m.text < "b");
  QUERY_SAME(m.text > "r");
  QUERY_SAME(m.text >= "zz");
  QUERY_SAME(m.text != "zz");
  QUERY_SAME(m.maybe_i32.has_value());
  QUERY_SAME(!m.maybe_i32);
  QUERY_SAME(m.maybe_i32 && *m.maybe_i32 > five);
  QUERY_SAME(m.maybe_i32 == 1);
  QUERY_SAME(m.maybe_i32 < 1);
  QUERY_SAME(m.maybe_i32 != 1);
  QUERY_SAME(m.maybe_i32 > 1);
  QUERY_SAME(m.maybe_i32 == none);
  QUERY_SAME(m.maybe_i32 == some);
  QUERY_SAME(m.maybe_i32 <= some);
  QUERY_SAME(m.maybe_i32.value_or(0) == 0);
  QUERY_SAME(!m.maybe_i32 || *m.maybe_i32 == 1);
  QUERY_SAME(m.maybe_u64 && *m.maybe_u64 > (great >> 1));
  QUERY_SAME(m.maybe_f64 && *m.maybe_f64 == 0.0);
  QUERY_SAME(m.maybe_f64 < 0.0);
  QUERY_SAME(m.maybe_flag && *m.maybe_flag);
  QUERY_SAME(m.maybe_flag == false);
  QUERY_SAME(m.maybe_text && *m.maybe_text > "b");
  QUERY_SAME(m.moment > now);
  QUERY_SAME(m.moment <= now && m.id > 100);
  QUERY_SAME(m.maybe_moment && *m.maybe_moment < now);
  QUERY_SAME(m.day > chr::sys_days(chr::days(20)));
  QUERY_SAME(m.date > chr::year_month_day(chr::sys_days(chr::days(20))));
  QUERY_SAME(m.pause > chr::milliseconds(3));
  QUERY_SAME(m.in.n.has_value());
  QUERY_SAME(m.in.n && *m.in.n < 0);
  QUERY_SAME(m.in.word == "b");
  QUERY_SAME(m.id < 30 || (m.flag && m.i64 > 5) || m.text == "a");
  QUERY_SAME(m.flag ? m.id > 450 : m.i32 < 0);
  QUERY_SAME(m.id > 10 && 100 / (m.id + 1) < 3);
  EXPECT_GE(filters_that_skip_, least_that_skip) << file;
}

TEST_F(pruned_answers, are_the_same_whatever_the_groups) {
  for (const std::uint64_t rows : {1, 8, 100}) {
    query::write_parquet(query::from(in_memory_), at("m.parquet"), {.row_group_rows = rows});
    expect_all_same(at("m.parquet"), rows <= 8 ? 45 : rows == 100 ? 1 : 0);
  }
}

// An older or another writer: dictionaries, no statistics, of other versions, from Polars too.
TEST_F(pruned_answers, are_the_same_whoever_wrote_the_file) {
  query::write_parquet(query::from(in_memory_), at("m.parquet"));
  QUERY_MADE_BY_PYARROW("rewrite");
  for (const char* name : {"old.parquet", "coded.parquet", "silent.parquet", "unsigned.parquet"})
    expect_all_same(at(name), std::string(name) == "silent.parquet" ? 0 : 40);
  if (std::filesystem::exists(at("polars.parquet"))) expect_all_same(at("polars.parquet"), 0);
}

TEST_F(pruned_answers, follow_the_values_of_each_run) {
  query::write_parquet(query::from(in_memory_), at("m.parquet"), {.row_group_rows = 10});
  const auto all = query::read_parquet<mixed>(at("m.parquet"));
  std::int64_t least = 0;
  const auto some = [&] { return all.where([least](auto m) { return m.id >= least; }).count(); };
  for (least = 0; least <= 500; least += 50) EXPECT_EQ(some(), 500 - least);
  std::int64_t now = 480;
  const auto by_reference = all.where([&now](auto m) { return m.id >= now; });
  EXPECT_EQ(by_reference.count(), 20);
  now = 10;
  EXPECT_EQ(by_reference.count(), 490);
}

TEST_F(pruned_answers, keep_failures) {
  query::write_parquet(query::from(in_memory_), at("m.parquet"), {.row_group_rows = 10});
  const auto all = query::read_parquet<mixed>(at("m.parquet"));
  // A division by zero that the test ahead of it keeps away.
  EXPECT_EQ(all.where([](auto m) { return m.id > 400 && 100 / m.id == 0; }).count(), 99);
  // What fails for a row ahead of the test that would have excluded it.
  int calls = 0;
  EXPECT_THROW((void)all.where([&calls](const mixed& m) {
    if (++calls > 5) throw std::runtime_error("six");
    return m.id >= 0;
  }).where([](auto m) { return m.id > 400; }).count(), std::runtime_error);
}

}  // namespace arrow_files_test
