// What is written reads back as itself, whatever the values, the options and the size of the chunks.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>

#include "data/csv_fixture.hpp"

namespace query::data {

struct inner_row { std::optional<std::string> text; float f; };
QUERY_RECORD(inner_row, text, f);
struct any_row {
  std::int8_t i8; std::uint16_t u16; std::optional<std::int64_t> i64; std::uint64_t u64; std::optional<double> f64; bool b;
  std::string s; inner_row in; std::array<std::int32_t, 3> a; std::optional<bool> ob;
};
QUERY_RECORD(any_row, i8, u16, i64, u64, f64, b, s, in, a, ob);

class csv_round_trip_test : public csv_test {
 protected:
  std::mt19937_64 random_;

  bool chance(int one_in) { return random_() % static_cast<unsigned>(one_in) == 0; }
  template <class T> T bits() {
    const std::uint64_t wide = chance(3) ? random_() % 200 : random_();
    T value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  template <class F> F floating() {
    const F x = chance(3) ? static_cast<F>(static_cast<int>(random_() % 2000) - 1000) / 8 : bits<F>();
    return std::isnan(x) ? F{-0.0} : x;
  }
  std::string text() {
    static constexpr const char* pieces[] = {
        "a", "\"", ",", ";", "\n", "\r", "\r\n", " ", "\t", "NA", "-1", "'", "\xC3\xA9", "\xEF\xBB\xBF", "long long text ", ""};
    std::string s;
    for (std::uint64_t n = random_() % 5; n > 0; --n) s += pieces[random_() % std::size(pieces)];
    return s;
  }
  template <class T, class F> std::optional<T> maybe(F f) { return chance(4) ? std::nullopt : std::optional<T>(f()); }

  any_row row() {
    return {bits<std::int8_t>(),
            bits<std::uint16_t>(),
            maybe<std::int64_t>([&] { return bits<std::int64_t>(); }),
            bits<std::uint64_t>(),
            maybe<double>([&] { return floating<double>(); }),
            chance(2),
            text(),
            {maybe<std::string>([&] { return text(); }), floating<float>()},
            {bits<std::int32_t>(), -1, 0},
            maybe<bool>([&] { return chance(2); })};
  }
  csv_options options() {
    csv_options o;
    o.delimiter = ",;\t|"[random_() % 4];
    o.quote = "\"'"[random_() % 2];
    o.header = chance(2);
    o.trim = o.delimiter != '\t' && chance(2);
    o.null_text = std::array{"", "NA", "-1", "nan", "null"}[random_() % 5];
    return o;
  }
};

bool same(const any_row& a, const any_row& b) {
  const auto bits_of = [](const std::optional<double>& x) { return x ? std::optional(std::bit_cast<std::uint64_t>(*x)) : std::nullopt; };
  return a.i8 == b.i8 && a.u16 == b.u16 && a.i64 == b.i64 && a.u64 == b.u64 && bits_of(a.f64) == bits_of(b.f64) && a.b == b.b &&
         a.s == b.s && a.in.text == b.in.text && std::bit_cast<std::uint32_t>(a.in.f) == std::bit_cast<std::uint32_t>(b.in.f) &&
         a.a == b.a && a.ob == b.ob;
}

TEST_F(csv_round_trip_test, rows_of_every_type_read_back_as_they_were_written) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_.seed(seed);
    const csv_options o = options();
    std::vector<any_row> rows(random_() % 200);
    for (any_row& r : rows) r = row();
    write(rows, o);
    csv_file f(path(), o, ir::describe<any_row>(), 1 + random_() % 3000);
    const auto back = rows_of<any_row>(f);
    ASSERT_EQ(back.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_TRUE(same(rows[i], back[i])) << "row " << i << "\n" << text_of();
  }
}

TEST_F(csv_round_trip_test, single_columns_read_back_as_they_were_written) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_.seed(seed);
    const csv_options o = options();
    std::vector<std::string> strings(random_() % 50);
    for (std::string& s : strings) s = text();
    write(strings, o);
    csv_file f(path(), o, ir::describe<std::string>(), 1 + random_() % 100);
    ASSERT_EQ(rows_of<std::string>(f), strings) << text_of();

    std::vector<std::optional<std::string>> nullable(random_() % 50);
    for (auto& s : nullable) s = maybe<std::string>([&] { return text(); });
    write(nullable, o);
    csv_file g(path(), o, ir::describe<std::optional<std::string>>(), 1 + random_() % 100);
    ASSERT_EQ(rows_of<std::optional<std::string>>(g), nullable) << text_of();
  }
}

// Any bytes at all: rows or a user_error, and always the same ones, whatever the chunks.
TEST_F(csv_round_trip_test, arbitrary_text_reads_the_same_in_chunks_of_any_size) {
  static constexpr const char* pieces[] = {"1", "x", "\"", "\"\"", ",", "\n", "\r\n", "\r", "\n\n", " ", "\"a\nb\"", "5,y\n", ""};
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    random_.seed(seed);
    std::string text = "i8,s\n";
    for (std::uint64_t n = random_() % 30; n > 0; --n) text += pieces[random_() % std::size(pieces)];
    using row_type = std::pair<std::optional<int>, std::string>;
    const csv_options o{.trim = chance(2), .columns = {{"first", "i8"}, {"second", "s"}}};
    std::vector<row_type> whole, parts;
    const std::string whole_error = error_of([&] { whole = read<row_type>(text, o); });
    const std::string parts_error = error_of([&] { parts = read<row_type>(text, o, 1 + random_() % 20); });
    ASSERT_EQ(whole_error, parts_error) << "seed " << seed << "\n" << text;
    ASSERT_EQ(whole, parts) << "seed " << seed << "\n" << text;
  }
}

}  // namespace query::data
